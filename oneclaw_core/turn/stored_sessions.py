"""The conversations of a home as plugins see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.plugins.contract.arguments import SessionInfo

if TYPE_CHECKING:
    from oneclaw_core.sessions.sessions import Session
    from oneclaw_core.sessions.store import Store


class StoredSessions:
    """Read access to the sessions in the store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def list(self, limit: int | None = None) -> list[SessionInfo]:
        """Return the sessions, the one used last first.

        Args:
            limit: how many at most.
        """
        return [session_info(each) for each in await self._store.list_sessions(limit)]

    async def find(self, name: str) -> SessionInfo | None:
        """Find a session by its name or id; ``None`` if there is none."""
        found = await self._store.find_session(name)
        return session_info(found) if found is not None else None


def session_info(session: Session) -> SessionInfo:
    """Describe a stored session for plugins."""
    return SessionInfo(id=session.id, name=session.name, agent=session.agent, parent_id=session.parent_id)
