"""Begin, branch and delete the sessions of a home, and notify plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_core.sessions.for_plugins import no_session, session_info
from oneclaw_core.types.tool_groups import one_line

if TYPE_CHECKING:
    from oneclaw_core.plugins.running.runtime import Plugins
    from oneclaw_core.sessions.sessions import Session
    from oneclaw_core.sessions.store import Store

TITLE_CHARACTERS = 50


class Conversations:
    """The sessions of an open home.

    Args:
        store: keeps them.
        plugins: observe them.
        directory: the start directory, which is noted with new ones.
    """

    def __init__(self, store: Store, plugins: Plugins, directory: str | None = None) -> None:
        self._store = store
        self._plugins = plugins
        self.directory = directory

    async def begin(
        self, name: str | None, agent: str, model: str | None, title: str | None, parent_id: str | None = None
    ) -> Session:
        """Begin a session; return the one of that name if there is one.

        Args:
            name: ``None`` for a session without a name.
            agent: name of its agent.
            model: ``PROVIDER/MODEL``.
            title: shortened to a line.
            parent_id: the session that it is a part of.
        """
        title = shortened(title) if title is not None else None
        about: dict[str, Any] = {"agent": agent, "model": model, "title": title, "parent_id": parent_id}
        about["directory"] = self.directory
        if name is None:
            session = await self._store.create_session(**about)
        else:
            is_there = "session_created" in self._plugins.hooks and await self._store.find_session(name) is not None
            session = await self._store.find_or_create_session(name, **about)
            if is_there:
                return session
        self.observe("session_created", session)
        return session

    async def branch(self, name: str, new_name: str | None, before: int | None) -> Session:
        """Begin a session with a copy of another one's history; see :meth:`oneclaw_core.OneClaw.branch_session`."""
        found = await self._store.find_session(name)
        if found is None:
            raise no_session(name)
        made = await self._store.branch_session(found.id, new_name, before)
        self.observe("session_created", made)
        return made

    async def delete(self, name: str) -> Session:
        """Delete a session with its history.

        Returns:
            The session that is gone.

        Raises:
            NotFoundError: there is no such session.
            SessionBusyError: a turn of it is under way.
        """
        found = await self._store.find_session(name)
        if found is None:
            raise no_session(name)
        # Not during a turn of another process, which would then have nowhere to store its outcome.
        async with self._store.session_lock(found.id, 0):
            await self._store.delete_session(found.id)
        self.observe("session_deleted", found)
        return found

    def observe(self, hook: str, session: Session) -> None:
        """Notify plugins of a session."""
        if hook in self._plugins.hooks:
            self._plugins.observe(hook, session=session_info(session))


def shortened(title: str) -> str:
    """Shorten a title to a line."""
    return one_line(title, TITLE_CHARACTERS)
