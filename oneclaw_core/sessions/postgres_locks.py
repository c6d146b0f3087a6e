"""Locks of sessions between machines: PostgreSQL's advisory locks, which it frees when their process is gone.

All of a process are held on one connection of their own, however many turns run. They live as long as that connection.
So whoever takes a lock signs the row of its session, and a turn that lost its lock to another one is refused when it
writes, see :mod:`oneclaw_core.sessions.fences`. That the connection was lost is noticed when the next lock is taken;
then those locks are taken again that nobody else has taken meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import psycopg

from oneclaw_core.errors import StoreError
from oneclaw_core.sessions.postgres_address import connect, lock_key
from oneclaw_core.sessions.postgres_errors import explained
from oneclaw_core.sessions.session_locks import HeldSession

if TYPE_CHECKING:
    from oneclaw_core.sessions.postgres_address import PostgresAddress

    _Connection = psycopg.Connection[tuple[Any, ...]]

_FIRST_PAUSE_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 0.25
# How long what is still being stored in a session may keep all others from getting their locks.
_BUSY_SECONDS = 0.25
_TOKEN_BITS = 63

# A signature that a crash of the server undoes is missed by nobody else: then its turn is refused.
_SETTINGS = "SELECT set_config('synchronous_commit', 'off', false), set_config('lock_timeout', %s, false)"
# Waits for what a turn that lost the lock is still storing.
_SIGN = "UPDATE sessions SET lock_token = %s WHERE id = %s"
_LOCK = "SELECT pg_try_advisory_lock(%s::bigint)"
_LOCK_IF_SIGNED = f"{_LOCK} FROM sessions WHERE id = %s AND lock_token = %s"
_UNLOCK = "SELECT pg_advisory_unlock(%s::bigint)"

_log = logging.getLogger("oneclaw.store")


class PostgresLocks:
    """The locks of sessions that this process holds; see :class:`oneclaw_core.sessions.session_locks.SessionLocks`."""

    def __init__(self, address: PostgresAddress) -> None:
        self._address = address
        # One thread, so that the connection is used by one at a time.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="oneclaw-locks")
        self._connection: _Connection | None = None
        # Of the sessions whose turns run here.
        self._tokens: dict[str, int] = {}
        # Those of them whose locks this connection has.
        self._locked: set[str] = set()

    async def acquire(self, session_id: str, wait_seconds: float) -> HeldSession | None:
        """See :class:`~oneclaw_core.sessions.session_locks.SessionLocks`."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait_seconds
        pause = _FIRST_PAUSE_SECONDS
        while (token := await self._try(session_id)) is None:
            remaining = deadline - loop.time()
            if not remaining > 0:
                return None
            await asyncio.sleep(min(pause, remaining))
            pause = min(pause * 1.5, _LONGEST_PAUSE_SECONDS)
        return HeldSession(lambda: self._give_back(session_id), token)

    async def close(self) -> None:
        """Close the connection, and with it give back whatever is held; more than once does no harm."""
        await asyncio.to_thread(self._shut_down)

    async def _try(self, session_id: str) -> int | None:
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

    def _take(self, session_id: str) -> int | None:
        if session_id in self._tokens:  # by another task: to the server, one connection is one holder
            return None
        try:
            return self._ask(session_id)
        except psycopg.Error as error:
            raise explained(error, self._address.name) from error

    def _ask(self, session_id: str) -> int | None:
        if self._connection is not None:
            try:
                return self._lock_and_sign(self._connection, session_id)
            except psycopg.OperationalError:
                if not self._connection.closed:
                    raise
        # The first time, or the server was restarted; if it is away, this says so.
        self._connection = connect(self._address, _BUSY_SECONDS)
        self._locked.clear()
        self._connection.execute(_SETTINGS, (f"{round(_BUSY_SECONDS * 1000)}ms",))
        return self._lock_and_sign(self._connection, session_id)

    def _lock_and_sign(self, connection: _Connection, session_id: str) -> int | None:
        if len(self._locked) < len(self._tokens):
            self._lock_again(connection)
        if not _is_true(connection.execute(_LOCK, (_key(session_id),))):
            return None
        token = secrets.randbits(_TOKEN_BITS)
        try:
            connection.execute(_SIGN, (token, session_id))
        except psycopg.Error as error:
            if not connection.closed:
                connection.execute(_UNLOCK, (_key(session_id),))
            if isinstance(error, psycopg.errors.LockNotAvailable):
                return None
            raise
        self._locked.add(session_id)
        self._tokens[session_id] = token
        return token

    def _lock_again(self, connection: _Connection) -> None:
        """Take the locks that were lost with an earlier connection, unless another turn has begun, or even ended."""
        for session_id in self._tokens.keys() - self._locked:
            if _is_true(connection.execute(_LOCK_IF_SIGNED, (_key(session_id), session_id, self._tokens[session_id]))):
                self._locked.add(session_id)

    def _release(self, session_id: str) -> None:
        self._tokens.pop(session_id, None)
        if session_id not in self._locked:
            return
        self._locked.discard(session_id)
        if self._connection is None or self._connection.closed:
            return
        try:
            self._connection.execute(_UNLOCK, (_key(session_id),))
        except psycopg.Error:
            # Closed, it is free in any case; whoever locks next connects anew.
            _log.debug("the connection that held the lock of a session was lost", exc_info=True)
            self._connection.close()

    def _release_unwanted(self, taking: Future[int | None], session_id: str) -> None:
        if not taking.cancelled() and taking.exception() is None and taking.result() is not None:
            self._release(session_id)

    def _shut_down(self) -> None:
        self._thread.shutdown()
        if self._connection is not None:
            self._connection.close()


def _key(session_id: str) -> int:
    return lock_key(f"session {session_id}")


def _is_true(cursor: psycopg.Cursor[tuple[Any, ...]]) -> bool:
    row = cursor.fetchone()
    return row is not None and row[0] is True
