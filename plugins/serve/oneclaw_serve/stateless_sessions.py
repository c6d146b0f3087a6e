"""Sessions of requests to ``/v1`` that name no session, which are deleted some time after their last use.

A client that sends the whole conversation each time leaves a session behind whenever it begins a conversation.
"""

from __future__ import annotations

import asyncio
import re
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from oneclaw_core import NotFoundError, OneClawError, SessionBusyError
from oneclaw_serve.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable
    from logging import Logger

    from oneclaw_core import OneClaw
    from oneclaw_core.sessions import PluginTables, StorageConnection

LOOK_SECONDS = 3_600.0
_DAY_SECONDS = 86_400
_PAGE = 100
_ID = re.compile(r"[0-9a-f]{32}")


class StatelessSessions:
    """Knows the sessions that clients did not name, and deletes those that are no longer used.

    Args:
        claw: the open home.
        tables: of the plugin.
        days: returns the setting, 0 to delete none.
        logger: of the plugin.
    """

    def __init__(self, claw: OneClaw, tables: PluginTables, days: Callable[[], float], logger: Logger) -> None:
        self._claw = claw
        self._tables = tables
        self._days = days
        self._logger = logger

    async def note_use(self, session: str, client: str) -> None:
        """Note that a client has begun or continued a session that it did not name."""
        await self._tables.write(_note, session, client, time.time())

    async def session_of(self, client: str, named: str) -> str | None:
        """Return the session whose id a client names, if it was begun for this client without a name.

        Raises:
            Refusal: the session was deleted.
        """
        if not _ID.fullmatch(named) or not await self._tables.read(_is_of, named, client):
            return None
        if await self._claw.store.find_session(named) is None:
            raise Refusal(
                404,
                "session_not_found",
                f"session {named} was deleted, because it had no name and was not used for a while "
                "(serve.stateless_session_days): leave X-OneClaw-Session out, or choose a name for it",
            )
        return named

    async def keep_deleting(self) -> None:
        """Delete sessions that are no longer used, until cancelled."""
        while True:
            try:
                await self.delete_unused()
            except OneClawError as error:
                self._logger.warning("sessions that are no longer used were not deleted: %s", error)
            await asyncio.sleep(LOOK_SECONDS)

    async def delete_unused(self) -> None:
        """Delete the sessions whose last use is longer ago than the setting says."""
        await self._claw.plugins.refresh_settings()
        days = self._days()
        if not days:
            return
        limit = time.time() - days * _DAY_SECONDS
        while old := await self._tables.read(_unused, limit):
            for session in old:
                await self._delete(session, limit)
            await asyncio.sleep(0)
        # Until then, a client that names one is told that it was deleted.
        await self._tables.write(_forget, limit - days * _DAY_SECONDS)

    async def _delete(self, session: str, limit: float) -> None:
        found = await self._claw.store.find_session(session)
        if found is not None and found.name:
            await self._tables.write(_keep, session)  # a person has named it
            return
        if found is not None and found.updated_at >= datetime.fromtimestamp(limit, UTC):
            await self._tables.write(_set_used, session, found.updated_at.timestamp())  # such as on the web page
            return
        try:
            if found is not None:
                await self._claw.delete_session(session)
        except NotFoundError:
            pass  # by another process
        except SessionBusyError:
            await self._tables.write(_set_used, session, time.time())
            return
        await self._tables.write(_set_deleted, session)


def create(connection: StorageConnection) -> None:
    """Create the table."""
    table = connection.table("stateless_sessions")
    connection.execute(
        f"CREATE TABLE {table} (session TEXT PRIMARY KEY, client TEXT NOT NULL, used_at BIGINT NOT NULL, "
        "is_deleted BIGINT NOT NULL)"
    )
    connection.execute(f"CREATE INDEX {connection.table('stateless_used_at')} ON {table} (used_at)")


def _note(connection: StorageConnection, session: str, client: str, now: float) -> None:
    connection.execute(
        f"INSERT INTO {connection.table('stateless_sessions')} (session, client, used_at, is_deleted) "
        "VALUES (:session, :client, :at, 0) ON CONFLICT (session) DO UPDATE SET used_at = excluded.used_at",
        {"session": session, "client": client, "at": int(now)},
    )


def _is_of(connection: StorageConnection, session: str, client: str) -> bool:
    row = connection.execute(
        f"SELECT 1 FROM {connection.table('stateless_sessions')} WHERE session = :session AND client = :client",
        {"session": session, "client": client},
    ).fetchone()
    return row is not None


def _unused(connection: StorageConnection, limit: float) -> list[str]:
    rows = connection.execute(
        f"SELECT session FROM {connection.table('stateless_sessions')} WHERE used_at < :at AND is_deleted = 0 "
        f"ORDER BY used_at LIMIT {_PAGE}",
        {"at": int(limit)},
    )
    return [row[0] for row in rows]


def _set_used(connection: StorageConnection, session: str, used_at: float) -> None:
    connection.execute(
        f"UPDATE {connection.table('stateless_sessions')} SET used_at = :at WHERE session = :session",
        {"session": session, "at": int(used_at) + 1},
    )


def _set_deleted(connection: StorageConnection, session: str) -> None:
    connection.execute(
        f"UPDATE {connection.table('stateless_sessions')} SET is_deleted = 1 WHERE session = :session",
        {"session": session},
    )


def _keep(connection: StorageConnection, session: str) -> None:
    connection.execute(
        f"DELETE FROM {connection.table('stateless_sessions')} WHERE session = :session", {"session": session}
    )


def _forget(connection: StorageConnection, limit: float) -> None:
    connection.execute(
        f"DELETE FROM {connection.table('stateless_sessions')} WHERE used_at < :at AND is_deleted = 1",
        {"at": int(limit)},
    )
