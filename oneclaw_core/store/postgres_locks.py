"""Locks of sessions between machines: PostgreSQL's advisory locks, which it frees when their process is gone.

All of a process are held on one connection of their own, however many turns run. They live as long as that connection.
When it was lost, which is noticed when the next lock is taken, what was held on it is asked for anew.
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import psycopg

from oneclaw_core.errors import StoreError
from oneclaw_core.store.postgres_address import connect, lock_key
from oneclaw_core.store.postgres_errors import explained

if TYPE_CHECKING:
    from collections.abc import Callable

    from oneclaw_core.store.postgres_address import PostgresAddress

_FIRST_PAUSE_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 0.25
_BUSY_SECONDS = 10.0

_log = logging.getLogger("oneclaw.store")


class PostgresLocks:
    """The locks of sessions that this process holds; see :class:`oneclaw_core.store.session_locks.SessionLocks`."""

    def __init__(self, address: PostgresAddress) -> None:
        self._address = address
        # One thread, so that the connection is used by one at a time.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="oneclaw-locks")
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None
        self._held: set[str] = set()

    async def acquire(self, session_id: str, wait_seconds: float) -> Callable[[], None] | None:
        """See :class:`~oneclaw_core.store.session_locks.SessionLocks`."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait_seconds
        pause = _FIRST_PAUSE_SECONDS
        while not await self._try(session_id):
            remaining = deadline - loop.time()
            if not remaining > 0:
                return None
            await asyncio.sleep(min(pause, remaining))
            pause = min(pause * 1.5, _LONGEST_PAUSE_SECONDS)
        return lambda: self._give_back(session_id)

    async def close(self) -> None:
        """Close the connection, and with it give back whatever is held; more than once does no harm."""
        await asyncio.to_thread(self._shut_down)

    async def _try(self, session_id: str) -> bool:
        try:
            taking = self._thread.submit(self._take, session_id)
        except RuntimeError:
            raise StoreError(f"the database {self._address.name} is closed: open it again") from None
        try:
            return await asyncio.wrap_future(taking)
        except asyncio.CancelledError:
            # It may be taken all the same, and nobody would give it back.
            with suppress(RuntimeError):
                self._thread.submit(self._release_unwanted, taking, session_id)
            raise

    def _give_back(self, session_id: str) -> None:
        """Give a lock back, soon and without waiting for it."""
        with suppress(RuntimeError):  # closed, which gave all back
            self._thread.submit(self._release, session_id)

    # What follows runs in the thread.

    def _take(self, session_id: str) -> bool:
        if session_id in self._held:  # by another task: to the server, one connection is one holder
            return False
        try:
            taken = self._ask(session_id)
        except psycopg.Error as error:
            raise explained(error, self._address.name) from error
        if taken:
            self._held.add(session_id)
        return taken

    def _ask(self, session_id: str) -> bool:
        if self._connection is not None:
            try:
                return _lock(self._connection, session_id)
            except psycopg.OperationalError:
                if not self._connection.closed:
                    raise
        # The first time, or the server was restarted; if it is away, this says so.
        self._connection = connect(self._address, _BUSY_SECONDS)
        for held in self._held:
            if not _lock(self._connection, held):
                _log.error("the connection was lost, and another process took session %s in the middle of a turn", held)
        return _lock(self._connection, session_id)

    def _release(self, session_id: str) -> None:
        self._held.discard(session_id)
        if self._connection is None or self._connection.closed:
            return
        try:
            self._connection.execute("SELECT pg_advisory_unlock(%s::bigint)", (_key(session_id),))
        except psycopg.Error:
            # Closed, it is free in any case; whoever locks next connects anew.
            _log.debug("the connection that held the lock of a session was lost", exc_info=True)
            self._connection.close()

    def _release_unwanted(self, taking: Future[bool], session_id: str) -> None:
        if not taking.cancelled() and taking.exception() is None and taking.result():
            self._release(session_id)

    def _shut_down(self) -> None:
        self._thread.shutdown()
        if self._connection is not None:
            self._connection.close()


def _key(session_id: str) -> int:
    return lock_key(f"session {session_id}")


def _lock(connection: psycopg.Connection[tuple[Any, ...]], session_id: str) -> bool:
    row = connection.execute("SELECT pg_try_advisory_lock(%s::bigint)", (_key(session_id),)).fetchone()
    return row is not None and row[0] is True
