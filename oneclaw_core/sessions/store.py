"""The store: its parts, and the transactions with which turns begin."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from oneclaw_core.sessions import agents, memory_snapshots, messages, sessions, settings, summaries, usage
from oneclaw_core.sessions.database import Database
from oneclaw_core.sessions.stored_agents import StoredAgents
from oneclaw_core.sessions.stored_messages import StoredMessages
from oneclaw_core.sessions.stored_plugins import StoredPlugins
from oneclaw_core.sessions.stored_sessions import StoredSessions
from oneclaw_core.sessions.stored_settings import StoredSettings
from oneclaw_core.sessions.stored_usage import StoredUsage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from oneclaw_core.sessions.backend import Backend
    from oneclaw_core.sessions.connection import Connection
    from oneclaw_core.sessions.sessions import Session
    from oneclaw_core.sessions.settings import ToolStates
    from oneclaw_core.types.agents import Agent
    from oneclaw_core.types.messages import Message


@dataclass(frozen=True, slots=True)
class TurnOutset:
    """Stored data that decides how a turn runs, read before its session is locked or begun.

    Attributes:
        settings: all settings.
        session: the session, ``None`` if there is none of that name.
        agent: the agent asked for, else the session's, else the General Assistant; ``None`` if there is none of that
            name.
    """

    settings: dict[str, Any]
    session: Session | None
    agent: Agent | None


@dataclass(frozen=True, slots=True)
class TurnStart:
    """All that a turn needs to know at its start, read at one moment.

    Attributes:
        history: the newest turns of what follows on the summary, as in :meth:`Store.history`; with a summary it may
            begin within a turn.
        group_loads: the successful calls of ``load_tool_group`` of the whole history.
        pending_calls: the calls without an outcome, left by a turn that was killed.
        permissions: the user's decisions, ``grant`` or ``deny`` by name.
        tool_states: the disabled tools and groups.
        summary: stands for what precedes ``history``, ``None`` for nothing.
        summary_until: the ``sequence`` of the last message that it stands for.
        last_input_tokens: what the service counted for the session's last request, ``None`` if it is not known.
        memory: what the session's models are shown of the user's memory.
    """

    history: tuple[Message, ...]
    group_loads: tuple[Message, ...]
    pending_calls: tuple[Message, ...]
    permissions: dict[str, str]
    tool_states: ToolStates
    summary: str | None = None
    summary_until: int | None = None
    last_input_tokens: int | None = None
    memory: str = ""


class Store(StoredSessions, StoredMessages, StoredAgents, StoredUsage, StoredSettings, StoredPlugins):
    """Everything that OneClaw stores, opened by :meth:`open`.

    Each method is one transaction, and raises a kind of ``StoreError`` if the database fails; then nothing is stored.
    Cancelling a task that waits for a method does not undo the transaction.

    Writing to a history under the session's lock raises ``SessionBusyError`` after the lock was lost with its
    connection and another turn acquired it.
    """

    @classmethod
    async def open(cls, backend: Backend, *, lock_directory: Path) -> Self:
        """Open a database; create a missing one, migrate an older one.

        Args:
            backend: the kind and the address of the database.
            lock_directory: for the lock files of sessions, the same for all processes that use a SQLite file.

        Raises:
            StoreVersionError: a newer OneClaw wrote it.
            StoreDamagedError: it is damaged, or another program's.
            StoreError: it cannot be opened.
        """
        return cls(await Database.open(backend), lock_directory)

    @property
    def name(self) -> str:
        """The database as messages show it: the file, or the server and its database."""
        return self._database.backend.name

    async def close(self) -> None:
        """Wait for open transactions, then close the database; closing it again does nothing."""
        await self._database.close()
        if self._plugin_databases is not None:
            await self._plugin_databases.close()
        await self._locks.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def turn_outset(self, session: str | None, agent: str | None) -> TurnOutset:
        """Read what decides how a turn is to be run.

        Args:
            session: the session's name or id, as for :meth:`find_session`; ``None`` for one that is yet to begin.
            agent: the agent's name or id; ``None`` for the session's.
        """
        return await self._database.read(_turn_outset, session, agent)

    async def load_turn(self, session_id: str, max_characters: int | None, memory: str = "") -> TurnStart:
        """Read all that a turn needs at its start; how long the history is does not matter.

        Args:
            session_id: the session.
            max_characters: the limit of the history, see :meth:`history`.
            memory: as in :meth:`begin_turn`.
        """
        return await self._database.read(_load_turn, session_id, max_characters, memory)

    async def begin_turn(
        self, session_id: str, message: Message, interrupted: Message, max_characters: int | None, memory: str = ""
    ) -> TurnStart:
        """Begin a turn: answer the calls that a killed turn left open, store the user's message, and read the rest.

        All of it or nothing is done.

        Args:
            session_id: the session.
            message: the user's.
            interrupted: the result for each open call, without its id and name.
            max_characters: the limit of the history, see :meth:`history`.
            memory: what models are shown of the user's memory now; the turn gets what the session was shown before,
                unless that is to be renewed, see :mod:`oneclaw_core.sessions.memory_snapshots`.

        Raises:
            NotFoundError: the session is gone.
        """
        return await self._write_own(_begin_turn, session_id, message, interrupted, max_characters, memory)

    async def begin_session_with_turn(
        self,
        session_id: str,
        message: Message,
        *,
        agent: str,
        model: str | None = None,
        title: str | None = None,
        parent_id: str | None = None,
        memory: str = "",
    ) -> tuple[Session, TurnStart]:
        """Begin a session without a name together with its first turn: both or neither is done.

        Args:
            session_id: from :func:`oneclaw_core.sessions.sessions.new_id`, so that it can be locked before.
            message: the user's.
            agent: as for :meth:`create_session`.
            model: as for :meth:`create_session`.
            title: as for :meth:`create_session`.
            parent_id: as for :meth:`create_session`.
            memory: as for :meth:`begin_turn`.

        Raises:
            NotFoundError: there is no session of the id ``parent_id``.
        """
        return await self._write_own(
            _begin_session_with_turn, session_id, message, agent, model, title, parent_id, memory
        )


def _begin_turn(
    connection: Connection,
    session_id: str,
    message: Message,
    interrupted: Message,
    max_characters: int | None,
    memory: str,
) -> TurnStart:
    # First, for a message ends the session's rest.
    shown_memory = memory_snapshots.take(connection, session_id, memory)
    answers = [
        replace(interrupted, tool_call_id=call.tool_call_id, tool_name=call.tool_name)
        for call in messages.pending_calls(connection, session_id)
    ]
    messages.append(connection, session_id, [*answers, message])
    return _turn_start(connection, session_id, (), max_characters, shown_memory)


def _begin_session_with_turn(
    connection: Connection,
    session_id: str,
    message: Message,
    agent: str,
    model: str | None,
    title: str | None,
    parent_id: str | None,
    memory: str,
) -> tuple[Session, TurnStart]:
    session = sessions.create(connection, None, agent, model, title, parent_id, session_id, memory)
    return session, TurnStart(
        history=tuple(messages.append(connection, session_id, [message], is_touched=True)),
        group_loads=(),
        pending_calls=(),
        permissions=settings.read_permissions(connection),
        tool_states=settings.read_tool_states(connection),
        memory=memory,
    )


def _turn_outset(connection: Connection, session: str | None, agent: str | None) -> TurnOutset:
    found = sessions.find(connection, session) if session is not None else None
    wanted = agent if agent is not None or found is None else found.agent
    return TurnOutset(settings.read_settings(connection), found, agents.find_any(connection, wanted))


def _load_turn(connection: Connection, session_id: str, max_characters: int | None, memory: str) -> TurnStart:
    pending = messages.pending_calls(connection, session_id)
    return _turn_start(
        connection, session_id, pending, max_characters, memory_snapshots.due(connection, session_id, memory)
    )


def _turn_start(
    connection: Connection, session_id: str, pending: Sequence[Message], max_characters: int | None, memory: str
) -> TurnStart:
    summary = summaries.read(connection, session_id)
    until = summary.until if summary is not None else None
    return TurnStart(
        history=messages.newest_turns(connection, session_id, pending, max_characters, until),
        group_loads=tuple(messages.group_loads(connection, session_id)),
        pending_calls=tuple(pending),
        permissions=settings.read_permissions(connection),
        tool_states=settings.read_tool_states(connection),
        summary=summary.text if summary is not None else None,
        summary_until=until,
        last_input_tokens=usage.last_input_tokens(connection, session_id),
        memory=memory,
    )
