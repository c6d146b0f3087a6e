"""Factories of providers, by provider type."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from oneclaw_core.providers.base import Provider, ProviderConfig

ProviderFactory = Callable[["ProviderConfig"], "Provider"]


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
