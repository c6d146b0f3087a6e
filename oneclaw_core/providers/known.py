"""Provider types and services of plugins, known without importing them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from oneclaw_core.providers.base import Provider, ProviderConfig


ProviderFactory = Callable[["ProviderConfig"], "Provider"]


class PreconfiguredProvider(NamedTuple):
    """A provider that is there without being added.

    Attributes:
        name: the first part of ``PROVIDER/MODEL``.
        type: its provider type.
        key_variable: the environment variable with its key; by default ``<NAME>_API_KEY``.
        base_url: its address, ``None`` for the type's own.
        base_url_variable: the environment variable that replaces the address.
    """

    name: str
    type: str
    key_variable: str | None = None
    base_url: str | None = None
    base_url_variable: str | None = None


@dataclass(slots=True)
class KnownProviders:
    """Everything that plugins say about providers.

    Attributes:
        preconfigured: the providers that are there without being added, by name.
        price_vendors: what the package ``genai-prices`` calls the vendor of a provider type, by type.
        absent_plugins: installed plugins that are not loaded, and why, by name.
        local_types: the provider types without a service.
    """

    preconfigured: dict[str, PreconfiguredProvider] = field(default_factory=dict)
    price_vendors: dict[str, str] = field(default_factory=dict)
    absent_plugins: dict[str, str] = field(default_factory=dict)
    local_types: set[str] = field(default_factory=set)

    def key_variable_of(self, provider: str) -> str:
        """Return the environment variable that holds a provider's key."""
        known = self.preconfigured.get(provider)
        return (known and known.key_variable) or key_variable_of(provider)


def key_variable_of(provider: str) -> str:
    """Return the environment variable that holds the key of a provider, by its name."""
    return re.sub(r"[^A-Z0-9]", "_", provider.upper()) + "_API_KEY"


class LazyProviderFactory:
    """Factory of a provider type whose plugin is imported for the first provider.

    Args:
        load: imports the plugin's factory without blocking the event loop.
        load_now: does the same in a program without an event loop.
    """

    def __init__(self, load: Callable[[], Awaitable[ProviderFactory]], load_now: Callable[[], ProviderFactory]) -> None:
        self._load = load
        self._load_now = load_now

    def __call__(self, config: ProviderConfig) -> Provider:
        """Make a provider.

        Raises:
            PluginError: the plugin cannot be imported.
        """
        return self._load_now()(config)

    async def prepare(self) -> None:
        """Import the plugin without blocking the event loop.

        Raises:
            PluginError: it cannot be imported.
        """
        await self._load()
