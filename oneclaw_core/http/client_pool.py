"""HTTP clients of one service, for many requests at once.

For every request, the client library looks at each connection of its client. So a client gets few requests at a time,
and there are as many clients as it takes.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    import httpx

REQUESTS_PER_CLIENT = 8
_IDLE_SECONDS = 5.0


@dataclass(slots=True, eq=False)
class _Client:
    client: httpx.AsyncClient
    requests: int = 0
    idle_since: float = 0.0


class ClientPool:
    """Clients of one service. No request waits for a connection, only for its turn where ``concurrency`` is limited.

    Args:
        make: makes a client.
        concurrency: how many requests may run at the same time, ``None`` for no limit. The others wait, and are served
            in the order in which they came.
    """

    def __init__(self, make: Callable[[], httpx.AsyncClient], concurrency: int | None = None) -> None:
        self._make = make
        self._turns = asyncio.Semaphore(concurrency) if concurrency else None
        self._clients: list[_Client] = []

    @asynccontextmanager
    async def acquired(self) -> AsyncIterator[httpx.AsyncClient]:
        """Give a client for one request, until that is done.

        Raises:
            SettingsError: as for ``create_client``.
        """
        async with self._turns or nullcontext():
            chosen = self._choose()
            chosen.requests += 1
            try:
                await self._close_unused()
                yield chosen.client
            finally:
                chosen.requests -= 1
                chosen.idle_since = time.monotonic()

    async def aclose(self) -> None:
        """Close the connections."""
        clients, self._clients = self._clients, []
        for each in clients:
            await each.client.aclose()

    def _choose(self) -> _Client:
        # The first that has room: the last ones become idle, and their connections can be closed.
        for each in self._clients:
            if each.requests < REQUESTS_PER_CLIENT:
                return each
        self._clients.append(_Client(self._make()))
        return self._clients[-1]

    async def _close_unused(self) -> None:
        oldest = time.monotonic() - _IDLE_SECONDS
        while self._clients and not self._clients[-1].requests and self._clients[-1].idle_since < oldest:
            await self._clients.pop().client.aclose()
