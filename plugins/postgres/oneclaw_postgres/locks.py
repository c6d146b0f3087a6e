"""Locks of sessions between machines: advisory locks, which PostgreSQL releases when their process is gone.

One connection holds all locks of a process, and they live as long as that connection. So acquiring a lock stores a new
token in the row of the session, and a turn whose lock went to another one can no longer write, see
:attr:`oneclaw_core.sessions.HeldSession.token`. A lost connection is noticed when the next lock is acquired. Then the
locks that no other process acquired in the meantime are acquired again.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import psycopg

from oneclaw_core import StoreError
from oneclaw_core.sessions import HeldSession
from oneclaw_postgres.connecting import connect, lock_key
from oneclaw_postgres.errors import explain

if TYPE_CHECKING:
    from oneclaw_postgres.address import PostgresAddress

    _Connection = psycopg.Connection[tuple[Any, ...]]

_FIRST_PAUSE_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 0.25
# How long a transaction in one session may delay the locks of all others.
_BUSY_SECONDS = 0.25
_TOKEN_BITS = 63

# If a crash of the server loses a token, the turn that holds it can no longer write.
_SETTINGS = "SELECT set_config('synchronous_commit', 'off', false), set_config('lock_timeout', %s, false)"
# Waits for a transaction of a turn that lost the lock.
_SIGN = "UPDATE sessions SET lock_token = %s WHERE id = %s"
_LOCK = "SELECT pg_try_advisory_lock(%s::bigint)"
_LOCK_IF_SIGNED = f"{_LOCK} FROM sessions WHERE id = %s AND lock_token = %s"
_UNLOCK = "SELECT pg_advisory_unlock(%s::bigint)"

_log = logging.getLogger("oneclaw.store")


class PostgresLocks:
    """The locks of sessions that this process holds; see :class:`oneclaw_core.sessions.SessionLocks`."""

    def __init__(self, address: PostgresAddress) -> None:
        self._address = address
        # One thread, so that the connection is used by one at a time.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="oneclaw-locks")
        self._connection: _Connection | None = None
        # The tokens of the sessions whose turns run here.
        self._tokens: dict[str, int] = {}
        # The sessions whose locks this connection holds.
        self._locked: set[str] = set()

    async def acquire(self, session_id: str, wait_seconds: float) -> HeldSession | None:
        """See :class:`~oneclaw_core.sessions.SessionLocks`."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait_seconds
        pause = _FIRST_PAUSE_SECONDS
        while (token := await self._try(session_id)) is None:
            remaining = deadline - loop.time()
            if not remaining > 0:
                return None
            await asyncio.sleep(min(pause, remaining))
            pause = min(pause * 1.5, _LONGEST_PAUSE_SECONDS)
        return HeldSession(lambda: self._release_soon(session_id), token)

    async def close(self) -> None:
        """Close the connection, which releases all locks; closing it again does nothing."""
        await asyncio.to_thread(self._shut_down)

    async def _try(self, session_id: str) -> int | None:
        try:
            taking = self._thread.submit(self._take, session_id)
        except RuntimeError:
            raise StoreError(f"the database {self._address.name} is closed: open it again") from None
        try:
            return await asyncio.wrap_future(taking)
        except asyncio.CancelledError:
            # The lock may be acquired all the same, and must be released.
            with suppress(RuntimeError):
                self._thread.submit(self._release_unwanted, taking, session_id)
            raise

    def _release_soon(self, session_id: str) -> None:
        """Release a lock without waiting for it."""
        with suppress(RuntimeError):  # closed, which released all locks
            self._thread.submit(self._release, session_id)

    # The following methods run in the thread.

    def _take(self, session_id: str) -> int | None:
        if session_id in self._tokens:  # by another task: the server knows only the connection
            return None
        try:
            return self._ask(session_id)
        except psycopg.Error as error:
            raise explain(error, self._address.name) from error

    def _ask(self, session_id: str) -> int | None:
        if self._connection is not None:
            try:
                return self._lock_and_sign(self._connection, session_id)
            except psycopg.OperationalError:
                if not self._connection.closed:
                    raise
        # The first time, or the server was restarted.
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
        """Acquire the locks that were lost with an earlier connection, except those of sessions with a later turn."""
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
            # Closing the connection releases the lock; the next lock connects again.
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
