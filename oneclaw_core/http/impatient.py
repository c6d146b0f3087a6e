"""Connections that are closed when they send no request: a part of the protocol class of an HTTP server."""

from __future__ import annotations

import asyncio
import time
from typing import Any

HEAD_SECONDS = 10.0
MAX_CONNECTIONS = 500


class ImpatientConnection(asyncio.Protocol):
    """Waits for the head of a request for a few seconds only, and not in any number of connections at once.

    Stands before the protocol class of uvicorn: ``class Protocol(ImpatientConnection, H11Protocol)``. A head that comes
    byte by byte has the same time as one that does not come. When there are too many connections, the one that has
    waited longest for a head is closed, so that a flood of them does not keep out a client that sends its request. A
    connection whose request is being answered is never closed.
    """

    head_seconds = HEAD_SECONDS
    max_connections = MAX_CONNECTIONS
    connections: Any
    cycle: Any
    loop: Any
    transport: Any
    _head_timer: asyncio.TimerHandle | None = None
    _waits_since = 0.0

    def connection_made(self, transport: Any) -> None:
        """Begin to wait."""
        super().connection_made(transport)
        self._look()
        if len(self.connections) > self.max_connections:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        """Take a piece of a request."""
        super().data_received(data)
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        super().connection_lost(exc)
        self._stop_timer()

    @property
    def _is_waiting(self) -> bool:
        return self.cycle is None or bool(self.cycle.response_complete)

    def _look(self) -> None:
        if not self._is_waiting:
            self._stop_timer()
        elif self._head_timer is None:
            self._waits_since = time.monotonic()
            self._head_timer = self.loop.call_later(self.head_seconds, self.transport.close)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _make_room(self) -> None:
        waiting = [each for each in self.connections if each._is_waiting]
        # One whose head has not come in time to be read gets no answer: there is nothing to answer.
        oldest = min(waiting, key=lambda each: each._waits_since, default=self)
        self.connections.discard(oldest)
        oldest.transport.abort()
