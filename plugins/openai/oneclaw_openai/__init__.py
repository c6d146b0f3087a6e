"""OpenAI's wire formats: the Responses API, and Chat Completions, which many other services speak."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import ProviderRegistrar


@hookimpl
def register_providers(register: ProviderRegistrar) -> None:
    """Register OpenAI's wire formats."""
    register("openai", "oneclaw_openai.responses:OpenAIResponsesProvider")
    register("openai_compatible", "oneclaw_openai.chat:OpenAIChatProvider")
