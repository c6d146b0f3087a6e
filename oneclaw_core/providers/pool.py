"""The model services that an open home is connected to."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oneclaw_core.errors import NotFoundError
from oneclaw_core.providers.factory import LazyProviderFactory

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from oneclaw_core.providers.base import Provider, ProviderConfig

CLOSE_SECONDS = 5.0

_log = logging.getLogger("oneclaw.app")


@dataclass(slots=True, eq=False)
class _OpenProvider:
    config: ProviderConfig
    provider: Provider
    users: int = 0
    is_lent: bool = False


class ProviderPool:
    """Connects to a service when it is first needed, and again when its configuration has changed.

    Args:
        types: how to make a provider, by provider type.
    """

    def __init__(self, types: Mapping[str, Callable[[ProviderConfig], Provider]]) -> None:
        self._types = types
        self._by_name: dict[str, _OpenProvider] = {}
        # Another session's turn may be in the middle of an answer from one of these.
        self._replaced: list[_OpenProvider] = []

    async def prepare(self, config: ProviderConfig) -> None:
        """Import the plugin that brings the type of a configuration, without blocking the event loop.

        Raises:
            PluginError: it cannot be imported.
        """
        factory = self._types.get(config.type)
        if isinstance(factory, LazyProviderFactory):
            await factory.prepare()

    def get(self, config: ProviderConfig) -> Provider:
        """Find or make the provider of a configuration; for :meth:`used`, before anything is awaited.

        Raises:
            NotFoundError: no plugin brings its type.
        """
        return self._find(config).provider

    def lend(self, config: ProviderConfig) -> Provider:
        """The same for a caller who does not say when it is used: it is closed with all the others, not before.

        Raises:
            NotFoundError: no plugin brings its type.
        """
        found = self._find(config)
        found.is_lent = True
        return found.provider

    @asynccontextmanager
    async def used(self, provider: Provider) -> AsyncIterator[None]:
        """Keep a provider open as long as it is used, whatever becomes of its configuration.

        Args:
            provider: from :meth:`get`.
        """
        found = next(each for each in (*self._by_name.values(), *self._replaced) if each.provider is provider)
        found.users += 1
        try:
            yield
        finally:
            found.users -= 1
            unused = [each for each in self._replaced if not each.users and not each.is_lent]
            self._replaced = [each for each in self._replaced if each not in unused]
            await _close(unused)

    async def aclose(self) -> None:
        """Close them all; one that cannot be closed keeps none of the others open."""
        everything = [*self._replaced, *self._by_name.values()]
        self._replaced.clear()
        self._by_name.clear()
        await _close(everything)

    def _find(self, config: ProviderConfig) -> _OpenProvider:
        known = self._by_name.get(config.name)
        if known is not None and known.config == config:
            return known
        make = self._types.get(config.type)
        if make is None:
            raise NotFoundError(
                f"no plugin brings the provider type {config.type!r}; there are: {', '.join(self._types)}"
            )
        made = self._by_name[config.name] = _OpenProvider(config, make(config))
        if known is not None:
            self._replaced.append(known)
        return made


async def _close(providers: list[_OpenProvider]) -> None:
    """Close providers at the same time; those of plugins may fail in any way, or never come to an end."""
    if not providers:
        return

    async def close(it: _OpenProvider) -> None:
        async with asyncio.timeout(CLOSE_SECONDS):
            await it.provider.aclose()

    for it, fault in zip(providers, await asyncio.gather(*map(close, providers), return_exceptions=True), strict=True):
        if fault is not None:
            _log.warning("the provider %s cannot be closed", it.config.name, exc_info=fault)
