"""Anthropic's wire format, the Messages API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import ProviderRegistrar


@hookimpl
def register_providers(register: ProviderRegistrar) -> None:
    """Register Anthropic's wire format, and the environment variables that its own SDK reads."""
    register("anthropic", "oneclaw_anthropic.provider:AnthropicProvider", price_vendor="anthropic")
    register.preconfigured("anthropic", base_url_variable="ANTHROPIC_BASE_URL")
