"""The core tools, a plugin like any other."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

from oneclaw_core.hookspecs import hookimpl

if TYPE_CHECKING:
    from oneclaw_core.providers.base import Provider, ProviderConfig
    from oneclaw_core.registrars import ProviderRegistrar, ToolRegistrar

MANIFESTS = ("get_current_time", "read_file", "write_file", "http_request")


@hookimpl
def register_tools(register: ToolRegistrar) -> None:
    """Register the core tools, the way to load all others among them."""
    from oneclaw_core.tools.groups import LoadToolGroupTool

    register(LoadToolGroupTool(register.registry))
    for name in MANIFESTS:
        register.manifest(resources.files(__name__) / "manifests" / f"{name}.json")


@hookimpl
def register_providers(register: ProviderRegistrar) -> None:
    """Register the wire formats that OneClaw speaks itself."""
    register("offline", _offline)
    register("openai_compatible", _openai_compatible)


def _offline(config: ProviderConfig) -> Provider:
    from oneclaw_core.providers.offline import OfflineProvider

    return OfflineProvider(config)


def _openai_compatible(config: ProviderConfig) -> Provider:
    from oneclaw_core.providers.openai_chat import OpenAIChatProvider

    return OpenAIChatProvider(config)
