"""The store of sessions, their summaries and their locks."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from oneclaw_core.errors import NotFoundError, SessionBusyError
from oneclaw_core.sessions import memory_snapshots, sessions, summaries
from oneclaw_core.sessions.store_part import StorePart
from oneclaw_core.sessions.summaries import Summary

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from oneclaw_core.sessions.sessions import Session, SessionSummary


class StoredSessions(StorePart):
    """Sessions, their summaries and their locks."""

    async def create_session(
        self,
        name: str | None = None,
        *,
        agent: str,
        model: str | None = None,
        title: str | None = None,
        parent_id: str | None = None,
    ) -> Session:
        """Create a session; the title describes it in a few words.

        Raises:
            UsageError: the name is taken or empty.
            NotFoundError: there is no session ``parent_id``, whose tool call creates this one.
        """
        return await self._database.write(sessions.create, name, agent, model, title, parent_id)

    async def find_or_create_session(
        self,
        name: str,
        *,
        agent: str,
        model: str | None = None,
        title: str | None = None,
        parent_id: str | None = None,
    ) -> Session:
        """Find a session by name or id, else create one of that name; concurrent processes get the same one.

        Raises:
            UsageError: the name is empty.
        """
        return await self._database.write(sessions.find_or_create, name, agent, model, title, parent_id)

    async def find_session(self, name_or_id: str) -> Session | None:
        """Find a session by its name, its id, or the first 6 or more digits of its id if no other begins so."""
        return await self._database.read(sessions.find, name_or_id)

    async def list_sessions(self, limit: int | None = None) -> list[SessionSummary]:
        """List sessions, the last used first."""
        return await self._database.read(sessions.summaries, limit)

    async def delete_session(self, session_id: str) -> bool:
        """Delete a session with its messages; return True if it existed. Its usage stays counted."""
        return await self._write_own(sessions.remove, session_id)

    async def set_title(self, session_id: str, title: str | None) -> None:
        """Set the title of a session.

        Raises:
            NotFoundError: there is no session of that id.
        """
        await self._database.write(sessions.set_title, session_id, title)

    async def set_summary(self, session_id: str, summary: str, until: int) -> None:
        """Replace the oldest part of a history by a summary in later turns; the stored history stays complete.

        Args:
            session_id: the session.
            summary: of that part, including the part of an earlier summary.
            until: the ``sequence`` of the part's last message.

        Raises:
            NotFoundError: there is no session of that id.
            StoreError: the session has no such message, or the part would separate a call from its result.
        """
        await self._write_own(summaries.write, session_id, Summary(summary, until))

    async def summary(self, session_id: str) -> Summary | None:
        """Return the summary of the oldest part of a history, ``None`` if there is none."""
        return await self._database.read(summaries.read, session_id)

    async def touch(self, session_id: str) -> None:
        """Mark a session as the last used.

        Raises:
            NotFoundError: there is no session of that id.
        """
        await self._database.write(sessions.touch, session_id)

    @asynccontextmanager
    async def session_lock(self, session_id: str, wait_seconds: float) -> AsyncIterator[None]:
        """Hold the lock of a session, which other processes and other tasks of this one cannot acquire.

        Args:
            session_id: the session.
            wait_seconds: how long to wait for another turn of the session.

        Raises:
            SessionBusyError: the other turn did not end in that time.
            NotFoundError: that is no session's id.
            StoreError: the lock cannot be used.
        """
        if not sessions.is_session_id(session_id):
            raise NotFoundError(f"{session_id!r} is no session's id: find the session first")
        held = await self._locks.acquire(session_id, wait_seconds)
        if held is None:
            session = await self.find_session(session_id)
            shown = repr(session.name) if session is not None and session.name else session_id
            raise SessionBusyError(
                f"session {shown} is busy: another oneclaw process, or another task of this one, is in the middle of "
                "a turn of it; wait until that turn has ended, or use another session"
            )
        if held.token is not None:
            self._tokens[session_id] = held.token
        try:
            yield
        finally:
            self._tokens.pop(session_id, None)
            # Transactions of a cancelled turn end before another turn begins.
            self._database.when_settled(held.release)

    async def shown_memory(self, session_id: str) -> str | None:
        """Return what a session's models are shown beside the agent's prompt, ``None`` if that is to be renewed."""
        return await self._database.read(memory_snapshots.kept, session_id)

    async def set_shown_memory(self, session_id: str, memory: str) -> None:
        """Set what a session's models are shown of the user's memory from now on."""
        await self._write_own(memory_snapshots.write, session_id, memory)
