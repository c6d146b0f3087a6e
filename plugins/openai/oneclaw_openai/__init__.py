"""OpenAI's wire formats: the Responses API, and Chat Completions, which many other services speak."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import ProviderRegistrar


@hookimpl
def register_providers(register: ProviderRegistrar) -> None:
    """Register OpenAI's wire formats, and the environment variables that its own SDK reads."""
    register("openai", "oneclaw_openai.responses:OpenAIResponsesProvider", price_vendor="openai")
    register("openai_compatible", "oneclaw_openai.ollama:chat_provider", price_vendor="openai")
    register("ollama", "oneclaw_openai.ollama:OllamaProvider")
    register.preconfigured("openai", base_url_variable="OPENAI_BASE_URL")
    register.preconfigured("openai_compatible", key_variable="OPENAI_API_KEY", base_url_variable="OPENAI_BASE_URL")
    register.preconfigured("ollama", type_name="openai_compatible", base_url="http://localhost:11434/v1")
