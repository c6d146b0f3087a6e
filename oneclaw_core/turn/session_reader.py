"""The conversations of a home as plugins see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.plugins.contract.arguments import SessionInfo
from oneclaw_core.turn.session_search import SessionQuery, search_sessions

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    from oneclaw_core.search.ranking import Findings, Passage
    from oneclaw_core.sessions.sessions import Session
    from oneclaw_core.sessions.store import Store


class SessionReader:
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

    async def search(
        self,
        query: str,
        *,
        since: date | None = None,
        until: date | None = None,
        max_results: int = 10,
        asking_sessions: Iterable[str] = (),
        passages: Iterable[Passage] = (),
        in_sessions: bool = True,
    ) -> Findings:
        """Search everything said in all sessions, and their titles.

        Args:
            query: words in any script; texts with all of them, or if there is none, with some.
            since: the first day, of the user's days.
            until: the last day.
            max_results: how many hits at most, from 1 to 50.
            asking_sessions: sessions with a turn under way on whose behalf this is done: that turn, and the session's
                title, are not found.
            passages: further texts to search and rank with them, whatever the dates.
            in_sessions: False to search these passages only.

        Raises:
            UsageError: the query has no word to search for, or another argument is invalid.
            StoreError: the database cannot be searched.
        """
        wanted = SessionQuery(
            query, since, until, max_results, frozenset(asking_sessions), tuple(passages), in_sessions
        )
        return await search_sessions(self._store, wanted)


def session_info(session: Session) -> SessionInfo:
    """Describe a stored session for plugins."""
    return SessionInfo(id=session.id, name=session.name, agent=session.agent, parent_id=session.parent_id)
