"""The conversations of a home: begin, branch and delete them, and notify plugins; and all that plugins do with them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from oneclaw_core.errors import NotFoundError, OneClawError, SessionBusyError, UsageError
from oneclaw_core.search.ranking import Findings, Passage, rank
from oneclaw_core.search.words import parse_query
from oneclaw_core.sessions.backend import to_stored
from oneclaw_core.sessions.search import Found, SearchRange
from oneclaw_core.system.threads import run_in_thread
from oneclaw_core.types.kept_results import is_handle
from oneclaw_core.types.messages import Message, MessageType
from oneclaw_core.types.tool_groups import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence

    from oneclaw_core.contract.arguments import SessionInfo
    from oneclaw_core.sessions.sessions import Session
    from oneclaw_core.sessions.store import Store

MAX_RESULTS = 50
TITLE_CHARACTERS = 50
# Half of all that is searched: the passages of a plugin have no share of the messages.
_UNKNOWN_SHARE = 0.5
_STOP_SECONDS = 10.0
_STOP_PAUSE_SECONDS = 0.1


class Observers(Protocol):
    """Plugins, as far as sessions notify them."""

    @property
    def hooks(self) -> Container[str]:
        """The hooks that a plugin implements."""

    def observe(self, hook: str, **arguments: Any) -> None:
        """Notify the plugins that implement a hook."""


def no_session(name: str) -> NotFoundError:
    """Return the error for a session that does not exist."""
    return NotFoundError(f"there is no session {name!r}; list them with: oneclaw sessions list")


@dataclass(frozen=True, slots=True)
class StoppedTurn:
    """A turn that was stopped.

    Attributes:
        message: of the user, which it was to answer.
        interrupted: the tools whose calls were answered as interrupted.
    """

    message: str
    interrupted: tuple[str, ...]


async def stop_turn(store: Store, session: Session) -> StoppedTurn:
    """Stop the turn of a session in whatever process it runs, and wait for its end.

    Raises:
        OneClawError: no turn runs, or it does not end.
    """
    shown = repr(session.name or session.id)
    start = await store.load_turn(session.id, 0)
    if await _is_idle(store, session.id):
        raise OneClawError(f"no turn of session {shown} is running: there is nothing to stop")
    await store.request_stop(session.id)
    try:
        async with asyncio.timeout(_STOP_SECONDS):
            # The process that stops the turn withdraws the request before another turn can begin.
            while not await _is_idle(store, session.id) and session.id in await store.stop_requests():  # noqa: ASYNC110
                await asyncio.sleep(_STOP_PAUSE_SECONDS)
    except TimeoutError:
        raise OneClawError(
            f"the turn of session {shown} did not end within {_STOP_SECONDS:g} seconds: its process may hang; end that "
            "process, and the next message answers the open calls as interrupted"
        ) from None
    finally:
        await store.withdraw_stop(session.id)
    history = (await store.load_turn(session.id, 0)).history
    message = next((each.content for each in reversed(start.history) if each.type is MessageType.USER), "")
    interrupted = [each.tool_name or "" for each in history if each.error_type == "interrupted"]
    return StoppedTurn(message, tuple(interrupted))


async def _found(store: Store, name: str) -> Session:
    found = await store.find_session(name)
    if found is None:
        raise no_session(name)
    return found


async def _is_idle(store: Store, session_id: str) -> bool:
    try:
        async with store.session_lock(session_id, 0):
            return True
    except SessionBusyError:
        return False


class Conversations:
    """The sessions of an open home.

    Args:
        store: keeps them.
        plugins: observe them.
        directory: the start directory, which is noted with new ones.
    """

    def __init__(self, store: Store, plugins: Observers, directory: str | None = None) -> None:
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
        elif found := await self._store.find_session(name):
            return found
        else:
            session = await self._store.find_or_create_session(name, **about)
        self.observe("session_created", session)
        return session

    async def branch(self, name: str, new_name: str | None, before: int | None) -> Session:
        """Begin a session with a copy of another one's history; see :meth:`oneclaw_core.OneClaw.branch_session`."""
        found = await _found(self._store, name)
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
        found = await _found(self._store, name)
        # Not during a turn of another process, which would then have nowhere to store its outcome.
        async with self._store.session_lock(found.id, 0):
            await self._store.delete_session(found.id)
        self.observe("session_deleted", found)
        return found

    def observe(self, hook: str, session: Session) -> None:
        """Notify plugins of a session."""
        if hook in self._plugins.hooks:
            self._plugins.observe(hook, session=session)


def shortened(title: str) -> str:
    """Shorten a title to a line."""
    return one_line(title, TITLE_CHARACTERS)


class Sessions:
    """The conversations of the home."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def list(self, limit: int | None = None) -> list[SessionInfo]:
        """Return the sessions, the one used last first.

        Args:
            limit: how many at most.
        """
        return list(await self._store.list_sessions(limit))

    async def find(self, name: str) -> SessionInfo | None:
        """Find a session by its name or id; ``None`` if there is none."""
        return await self._store.find_session(name)

    async def last_used(self, directory: str | None = None) -> SessionInfo | None:
        """Find the session that was used last and is no part of another; ``None`` if there is none.

        Args:
            directory: one that was begun with this start directory goes before others.
        """
        return await self._store.last_used_session(directory)

    async def messages(self, session_id: str, after: int = 0, limit: int | None = None) -> Sequence[Message]:
        """Read entries of a history in their order.

        Args:
            session_id: the session's id.
            after: the ``sequence`` of the entry to begin behind.
            limit: how many at most.
        """
        return await self._store.messages(session_id, after, limit)

    async def kept_result(self, session_id: str, handle: str) -> Message | None:
        """Find a result that a model was shown a part of; ``None`` if the session has none of that handle.

        Args:
            session_id: the session's id.
            handle: such as ``r12``.
        """
        return await self._store.kept_result(session_id, handle) if is_handle(handle) else None

    async def end_history(
        self, session_id: str, first: int, part_id: str, work: Callable[[], object] | None = None
    ) -> None:
        """End a history before a message: take that message and all that follows it off.

        The session goes on from what is left, with the groups loaded and the summary made by then. The part is kept,
        and deleted with the session. Done already, nothing happens, so that it can be repeated after a crash.

        Args:
            session_id: the session's id.
            first: the ``sequence`` of the message.
            part_id: 32 hexadecimal digits of a new UUID, by which the part can be restored.
            work: called in a thread afterwards, while no turn of the session can run yet.

        Raises:
            SessionBusyError: a turn of the session is under way.
            UsageError: the session has no such message.
        """
        async with self._store.session_lock(session_id, 0):
            await self._store.end_history(session_id, first, part_id)
            if work is not None:
                await run_in_thread(work)

    async def restore_history(self, session_id: str, part_id: str, work: Callable[[], object] | None = None) -> None:
        """Put a part back that :meth:`end_history` took off.

        Args:
            session_id: the session's id.
            part_id: as given to :meth:`end_history`.
            work: as for :meth:`end_history`.

        Raises:
            SessionBusyError: a turn of the session is under way.
            UsageError: the session went on since.
        """
        async with self._store.session_lock(session_id, 0):
            await self._store.restore_history(session_id, part_id)
            if work is not None:
                await run_in_thread(work)

    async def stop(self, session_id: str) -> bool:
        """Stop the turn of a session, in whatever process it runs, and wait for its end.

        Calls that are not finished are answered as interrupted.

        Args:
            session_id: the session's id.

        Returns:
            False if no turn was running.

        Raises:
            OneClawError: there is no such session, or the turn does not end.
        """
        session = await _found(self._store, session_id)
        if await _is_idle(self._store, session.id):
            return False
        await stop_turn(self._store, session)
        return True

    async def ended_parts(self, session_id: str) -> Sequence[str]:
        """Return the ids of the parts that are taken off a history now, the last one first."""
        return await self._store.ended_parts(session_id)

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
        if not 1 <= max_results <= MAX_RESULTS:
            raise UsageError(f"max_results must be from 1 to {MAX_RESULTS}, not {max_results}")
        if since is not None and until is not None and since > until:
            raise UsageError(f"the first day, {since}, is after the last, {until}")
        words = parse_query(query)
        if not words:
            raise UsageError("the query has no word to search for: write words, such as a name or a topic")
        where = SearchRange(_beginning(since), _end(until), frozenset(asking_sessions))
        given = tuple(passages)
        for wanted, wants_all in ((words, True), (words.loosened(), False)):
            found = Found((), (_UNKNOWN_SHARE,) * len(wanted.units))
            if in_sessions:
                found = await self._store.search(wanted, where, wants_all=wants_all)
            texts, now = (*given, *found.passages), datetime.now(UTC)
            ranking = partial(rank, wanted, texts, found.frequencies, now, max_results, wants_all=wants_all)
            hits = await run_in_thread(ranking)
            if hits:
                break
        found_in = [each.passage.session_id for each in hits if each.passage.session_id is not None]
        return Findings(tuple(hits), wants_all, await self._store.session_marks(found_in) if found_in else ())


def _beginning(day: date | None) -> int | None:
    """When a day of the user's begins, as it is stored."""
    if day is None:
        return None
    try:
        return to_stored(datetime.combine(day, time.min).astimezone())
    except (OverflowError, ValueError, OSError):
        # Some zone's first or last day of the calendar.
        return to_stored(datetime.combine(day, time.min, UTC))


def _end(day: date | None) -> int | None:
    """When a day of the user's ends."""
    return None if day is None or day == date.max else _beginning(day + timedelta(days=1))
