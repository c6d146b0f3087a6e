"""The model services that an open home is connected to."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oneclaw_core.errors import NotFoundError
from oneclaw_core.providers.known import LazyProviderFactory

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping

    from oneclaw_core.providers.base import Provider, ProviderConfig

CLOSE_SECONDS = 5.0

_log = logging.getLogger("oneclaw.app")


@dataclass(slots=True, eq=False)
class _OpenProvider:
    config: ProviderConfig
    provider: Provider
    users: int = 0


class ProviderPool:
    """Connects to a service when it is first needed, and again when its configuration has changed.

    Args:
        types: how to make a provider, by provider type.
        missing: says what to do about a provider type that is not there, given the types there are.
    """

    def __init__(
        self, types: Mapping[str, Callable[[ProviderConfig], Provider]], missing: Callable[[str, Iterable[str]], str]
    ) -> None:
        self._types = types
        self._missing = missing
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
        """Find or make the provider of a configuration; :meth:`acquire` it before anything is awaited.

        Raises:
            NotFoundError: no plugin brings its type.
        """
        known = self._by_name.get(config.name)
        if known is not None and known.config == config:
            return known.provider
        make = self._types.get(config.type)
        if make is None:
            raise NotFoundError(self._missing(config.type, self._types))
        made = self._by_name[config.name] = _OpenProvider(config, make(config))
        if known is not None:
            self._replaced.append(known)
        return made.provider

    def acquire(self, provider: Provider) -> None:
        """Hold a reference, so that reconfiguration does not close a provider in use.

        Args:
            provider: from :meth:`get`. Without a :meth:`release` it stays open until all are closed.
        """
        self._find(provider).users += 1

    async def release(self, provider: Provider) -> None:
        """Drop a reference, and close the replaced providers that have none left."""
        self._find(provider).users -= 1
        unused = [each for each in self._replaced if not each.users]
        self._replaced = [each for each in self._replaced if each.users]
        if unused:
            await _close(unused)

    @asynccontextmanager
    async def acquired(self, provider: Provider) -> AsyncIterator[None]:
        """Hold a reference inside an ``async with`` block."""
        self.acquire(provider)
        try:
            yield
        finally:
            await self.release(provider)

    async def aclose(self) -> None:
        """Close all providers, also if closing one of them fails."""
        everything = [*self._replaced, *self._by_name.values()]
        self._replaced.clear()
        self._by_name.clear()
        await _close(everything)

    def _find(self, provider: Provider) -> _OpenProvider:
        return next(each for each in (*self._by_name.values(), *self._replaced) if each.provider is provider)


async def _close(providers: list[_OpenProvider]) -> None:
    """Close providers at the same time; those of plugins may fail in any way, or never end."""

    async def close(it: _OpenProvider) -> None:
        async with asyncio.timeout(CLOSE_SECONDS):
            await it.provider.aclose()

    for it, fault in zip(providers, await asyncio.gather(*map(close, providers), return_exceptions=True), strict=True):
        if fault is not None:
            _log.warning("the provider %s cannot be closed", it.config.name, exc_info=fault)
