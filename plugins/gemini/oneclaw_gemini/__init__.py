"""Google's wire format, Gemini's generateContent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import ProviderRegistrar


@hookimpl
def register_providers(register: ProviderRegistrar) -> None:
    """Register Gemini's wire format, and the environment variables that its own SDK reads."""
    register("gemini", "oneclaw_gemini.provider:GeminiProvider", price_vendor="google")
    register.preconfigured("gemini", base_url_variable="GOOGLE_GEMINI_BASE_URL")
