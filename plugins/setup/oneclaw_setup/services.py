"""Model services that can be set up: those of plugins, the user's own, and well-known ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core import ProviderState

COMPATIBLE = "openai_compatible"
_TITLES = {"openai": "OpenAI", "anthropic": "Anthropic", "gemini": "Google Gemini", "ollama": "Ollama"}
_HOSTED = {
    "openrouter": ("OpenRouter", "https://openrouter.ai/api/v1"),
    "deepseek": ("DeepSeek", "https://api.deepseek.com/v1"),
    "mistral": ("Mistral", "https://api.mistral.ai/v1"),
    "groq": ("Groq", "https://api.groq.com/openai/v1"),
    "xai": ("xAI", "https://api.x.ai/v1"),
    "together": ("Together", "https://api.together.xyz/v1"),
}


@dataclass(frozen=True, slots=True)
class Service:
    """A model service that can be set up.

    Attributes:
        name: of its provider.
        title: what people read.
        type_name: the wire format it speaks.
        base_url: where it is; ``None`` for the type's own place.
        key_variable: the environment variable its key is read from.
        is_configured: True if there is a provider of that name at that place.
        has_stored_key: True if a key is stored for it.
        wants_key: True if it is of no use without a key.
        models: the models it was found to have.
    """

    name: str
    title: str
    type_name: str
    base_url: str | None = None
    key_variable: str = ""
    is_configured: bool = False
    has_stored_key: bool = False
    wants_key: bool = True
    models: tuple[str, ...] = ()

    def at(self, base_url: str) -> Service:
        """Return the same service at another address, which no provider has yet."""
        if base_url == self.base_url:
            return self
        return replace(self, base_url=base_url, is_configured=False, has_stored_key=False, models=())


def hosted_service(name: str) -> Service | None:
    """Return a well-known service that speaks Chat Completions."""
    if name not in _HOSTED:
        return None
    title, base_url = _HOSTED[name]
    return Service(name, title, COMPATIBLE, base_url, f"{name.upper()}_API_KEY")


def own_service(name: str, base_url: str, type_name: str = COMPATIBLE) -> Service:
    """Describe a service that only the user knows."""
    variable = "".join(each if each.isalnum() else "_" for each in name.upper())
    return Service(name, name, type_name, base_url, f"{variable}_API_KEY", wants_key=False)


def services(states: Iterable[ProviderState]) -> dict[str, Service]:
    """List the services that can be set up, by name.

    Args:
        states: of the providers there are.
    """
    found = {}
    for state in states:
        # What has no key asks no service by itself, such as rules and chains of models.
        if state.name == COMPATIBLE or state.key_variable is None:
            continue
        found[state.name] = Service(
            name=state.name,
            title=_TITLES.get(state.name, state.display_name),
            type_name=state.type,
            base_url=state.base_url,
            key_variable=state.key_variable,
            is_configured=True,
            has_stored_key=state.key_source is not None and state.key_source != "environment",
            wants_key=state.is_preconfigured and state.base_url is None,
        )
    for name in _HOSTED:
        service = hosted_service(name)
        if service is not None and name not in found:
            found[name] = service
    return found
