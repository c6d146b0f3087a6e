"""The core tools, a plugin like any other."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

from oneclaw_core.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from oneclaw_core.plugins.registration.registrars import ProviderRegistrar, SkillRegistrar, ToolRegistrar
    from oneclaw_core.providers.base import Provider, ProviderConfig

MANIFESTS = (
    "get_current_time",
    "read_file",
    "write_file",
    "webfetch",
    "http_request",
    "exec",
    "js_eval",
    "load_skill",
    "create_agent",
    "save_memory",
    "search_history",
    "browser",
)
SKILLS = ("about-oneclaw", "create-skill", "create-tool-plugin")


@hookimpl
def register_tools(register: ToolRegistrar) -> None:
    """Register the core tools, the way to load all others among them."""
    from oneclaw_core.tools.groups import LoadToolGroupTool

    register(LoadToolGroupTool(register.registry))
    for name in MANIFESTS:
        register.manifest(resources.files(__name__) / "manifests" / f"{name}.json")


@hookimpl
def register_skills(register: SkillRegistrar) -> None:
    """Register the skills about OneClaw itself."""
    for name in SKILLS:
        register(resources.files(__name__) / "skills_data" / name)


@hookimpl
def register_providers(register: ProviderRegistrar) -> None:
    """Register the wire formats that OneClaw speaks itself."""
    register("offline", _offline)
    register("openai", _openai)
    register("openai_compatible", _openai_compatible)
    register("anthropic", _anthropic)
    register("gemini", _gemini)


def _offline(config: ProviderConfig) -> Provider:
    from oneclaw_core.providers.offline import OfflineProvider

    return OfflineProvider(config)


def _openai(config: ProviderConfig) -> Provider:
    from oneclaw_core.providers.openai_responses import OpenAIResponsesProvider

    return OpenAIResponsesProvider(config)


def _openai_compatible(config: ProviderConfig) -> Provider:
    from oneclaw_core.providers.openai_chat import OpenAIChatProvider

    return OpenAIChatProvider(config)


def _anthropic(config: ProviderConfig) -> Provider:
    from oneclaw_core.providers.anthropic_messages import AnthropicProvider

    return AnthropicProvider(config)


def _gemini(config: ProviderConfig) -> Provider:
    from oneclaw_core.providers.gemini import GeminiProvider

    return GeminiProvider(config)
