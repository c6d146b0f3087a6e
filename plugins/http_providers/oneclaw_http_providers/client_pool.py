"""HTTP clients of one service, for many requests at once.

For every request, the client library looks at each connection of its client. So a client gets one request at a time,
and there are as many clients as it takes.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from contextlib import asynccontextmanager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    import httpx

_IDLE_SECONDS = 5.0


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
        self._clients: set[httpx.AsyncClient] = set()
        # With the moment of the last use. The newest is used next, so that the others become idle and can be closed.
        self._idle: deque[tuple[httpx.AsyncClient, float]] = deque()

    @asynccontextmanager
    async def acquired(self) -> AsyncIterator[httpx.AsyncClient]:
        """Give a client for one request, until that is done."""
        async with self._turns or nullcontext():
            if self._idle:
                client, _ = self._idle.pop()
            else:
                client = self._make()
                self._clients.add(client)
            try:
                await self._close_unused()
                yield client
            finally:
                # It may have been closed in the meantime.
                if client in self._clients:
                    self._idle.append((client, time.monotonic()))

    async def aclose(self) -> None:
        """Close the connections."""
        clients, self._clients = self._clients, set()
        self._idle.clear()
        for each in clients:
            await each.aclose()

    async def _close_unused(self) -> None:
        oldest = time.monotonic() - _IDLE_SECONDS
        while self._idle and self._idle[0][1] < oldest:
            client, _ = self._idle.popleft()
            self._clients.discard(client)
            await client.aclose()
