"""The store, as the rest of OneClaw uses it: every method is one transaction."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from oneclaw_core.errors import NotFoundError, SessionBusyError
from oneclaw_core.sessions import agents as agents
from oneclaw_core.sessions import (
    memory_snapshots,
    messages,
    search,
    sessions,
    settings,
    summaries,
    usage,
)
from oneclaw_core.sessions.database import Database
from oneclaw_core.sessions.fences import fenced
from oneclaw_core.sessions.summaries import Summary
from oneclaw_core.sessions.timestamps import to_stored

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
    from datetime import datetime, tzinfo
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from oneclaw_core.search.query import Query
    from oneclaw_core.sessions.backend import Backend
    from oneclaw_core.sessions.connection import Connection
    from oneclaw_core.sessions.plugin_storage import PluginStorage
    from oneclaw_core.sessions.plugin_tables import PluginContent, PluginDatabases
    from oneclaw_core.sessions.search import Found, SearchRange
    from oneclaw_core.sessions.sessions import Session, SessionSummary
    from oneclaw_core.sessions.settings import Decision, SwitchKind, ToolStates
    from oneclaw_core.sessions.usage import UsageRecord
    from oneclaw_core.sessions.usage_report import UsageGrouping, UsageRow, UsageTotals
    from oneclaw_core.types.agents import Agent
    from oneclaw_core.types.messages import Message
    from oneclaw_core.types.spending import Spending

    Arguments = ParamSpec("Arguments")

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class TurnOutset:
    """What decides how a turn is to be run, read at one moment, before its session is locked or even begun.

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


class Store:
    """Sessions, their messages, and what the user has set. Made by :meth:`open`.

    Every method raises ``StoreError``, in its finer kinds, if the database cannot do its part; then nothing was stored.
    Cancelling a task that waits for one does not undo it.

    What is written to a history under the session's lock is refused with ``SessionBusyError`` once that was lost with a
    connection, and somebody else has taken it.
    """

    def __init__(self, database: Database, lock_directory: Path) -> None:
        self._database = database
        self._locks = database.backend.session_locks(lock_directory)
        self._plugin_databases: PluginDatabases | None = None
        # Of the sessions whose locks are held here, if they have tokens.
        self._tokens: dict[str, int] = {}

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
        """Wait for what is under way, then close the database; more than once does no harm."""
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

    # Sessions

    async def create_session(
        self,
        name: str | None = None,
        *,
        agent: str,
        model: str | None = None,
        title: str | None = None,
        parent_id: str | None = None,
    ) -> Session:
        """Begin a session; the title says in a few words what it is about.

        Raises:
            UsageError: there is one of that name, or the name is empty.
            NotFoundError: there is no session of the id ``parent_id``, in which a tool call begins this one.
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
        """Find the session that a name or id means, else begin one of that name; two processes get the same one.

        Raises:
            UsageError: the name is empty.
        """
        return await self._database.write(sessions.find_or_create, name, agent, model, title, parent_id)

    async def find_session(self, name_or_id: str) -> Session | None:
        """Find a session by its name, its id, or the first 6 or more digits of its id if no other begins so."""
        return await self._database.read(sessions.find, name_or_id)

    async def list_sessions(self, limit: int | None = None) -> list[SessionSummary]:
        """List sessions, the one used last first."""
        return await self._database.read(sessions.summaries, limit)

    async def delete_session(self, session_id: str) -> bool:
        """Delete a session with its messages; say whether there was one of that id. What it used stays counted."""
        return await self._write_own(sessions.remove, session_id)

    async def set_title(self, session_id: str, title: str | None) -> None:
        """Say in a few words what a session is about.

        Raises:
            NotFoundError: there is no session of that id.
        """
        await self._database.write(sessions.set_title, session_id, title)

    async def set_summary(self, session_id: str, summary: str, until: int) -> None:
        """Let a summary stand for the oldest part of a history from the next turn on; the stored history stays whole.

        Args:
            session_id: the session.
            summary: of that part, whatever an earlier summary stood for included.
            until: the ``sequence`` of the part's last message.

        Raises:
            NotFoundError: there is no session of that id.
            StoreError: the session has no such message, or the part would end between a call and its result.
        """
        await self._write_own(summaries.write, session_id, Summary(summary, until))

    async def remove_summary(self, session_id: str) -> None:
        """Let the history stand for itself again.

        Raises:
            NotFoundError: there is no session of that id.
        """
        await self._write_own(summaries.write, session_id, None)

    async def summary(self, session_id: str) -> Summary | None:
        """Read what stands for the oldest part of a history, ``None`` for nothing."""
        return await self._database.read(summaries.read, session_id)

    async def touch(self, session_id: str) -> None:
        """Put a session in front of the list.

        Raises:
            NotFoundError: there is no session of that id.
        """
        await self._database.write(sessions.touch, session_id)

    @asynccontextmanager
    async def session_lock(self, session_id: str, wait_seconds: float) -> AsyncIterator[None]:
        """Keep other processes, and other tasks of this one, from beginning a turn of a session.

        Args:
            session_id: the session.
            wait_seconds: how long to wait for a turn under way elsewhere.

        Raises:
            SessionBusyError: it was still under way then.
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
            # What a cancelled turn was about to store is stored before another turn begins.
            self._database.when_settled(held.release)

    def _write_own(
        self,
        work: Callable[Concatenate[Connection, str, Arguments], Value],
        session_id: str,
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Coroutine[Any, Any, Value]:
        """Write to a session, unless its lock was taken here, and by somebody else since."""
        return self._database.write(fenced(work, self._tokens.get(session_id)), session_id, *args, **kwargs)

    # Messages

    async def append(
        self, session_id: str, new: Iterable[Message], *, usage: UsageRecord | None = None
    ) -> list[Message]:
        """Put entries at the end of a history, all or none.

        A call without a status is stored as pending, and one whose id is empty or used in the session already gets
        a new id: some services count theirs anew in every answer. A result closes its call, as in
        :meth:`finish_call`.

        Args:
            session_id: the session.
            new: in their order; their ``sequence`` and ``created_at`` are assigned.
            usage: what the model request used that they came from.

        Returns:
            The entries as they are stored: text that no database can hold is replaced.

        Raises:
            NotFoundError: the session is gone.
            StoreError: a result has no call.
        """
        try:
            return await self._write_own(_append, session_id, list(new), usage)
        except SessionBusyError:
            if usage is not None:
                # It was spent all the same, on a request that the history does not go on from.
                await self.record_usage(session_id, replace(usage, prefix=None))
            raise

    async def finish_call(self, session_id: str, result: Message) -> Message:
        """Store a call's outcome: its result, and its status on the call.

        Args:
            session_id: the session.
            result: a ``TOOL_RESULT`` with the call's id and the status ``SUCCESS`` or ``ERROR``.

        Returns:
            The result as it is stored. The first outcome stays: if the call had one already, that one.

        Raises:
            StoreError: the session has no such call.
        """
        return await self._write_own(messages.finish_call, session_id, result)

    async def finish_calls(self, session_id: str, results: Iterable[Message]) -> list[Message]:
        """Store the outcomes of several calls, all or none, each as :meth:`finish_call` does."""
        return await self._write_own(messages.finish_calls, session_id, list(results))

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

    async def shown_memory(self, session_id: str) -> str | None:
        """Return what a session's models are shown beside the agent's prompt, ``None`` if that is to be renewed."""
        return await self._database.read(memory_snapshots.kept, session_id)

    async def set_shown_memory(self, session_id: str, memory: str) -> None:
        """Set what a session's models are shown of the user's memory from now on."""
        await self._write_own(memory_snapshots.write, session_id, memory)

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
            model: likewise.
            title: likewise.
            parent_id: likewise.
            memory: as for :meth:`begin_turn`.

        Raises:
            NotFoundError: there is no session of the id ``parent_id``.
        """
        return await self._write_own(
            _begin_session_with_turn, session_id, message, agent, model, title, parent_id, memory
        )

    async def history(self, session_id: str, *, max_characters: int | None) -> list[Message]:
        """Read the newest turns that fit, at least the last one.

        They begin with a user's message, and no call is parted from its result.

        Args:
            session_id: the session.
            max_characters: what texts and arguments may have together, results as far as they are shown; ``None``
                for no limit.
        """
        return list(await self._database.read(_history, session_id, max_characters))

    async def messages(self, session_id: str, after: int = 0, limit: int | None = None) -> list[Message]:
        """Read a part of a history in its order.

        Args:
            session_id: the session.
            after: the ``sequence`` of the last entry that is known already.
            limit: how many entries at most.
        """
        return await self._database.read(messages.page, session_id, after, limit)

    async def group_loads(self, session_id: str) -> list[Message]:
        """Read the successful calls of ``load_tool_group`` in their order."""
        return await self._database.read(messages.group_loads, session_id)

    async def pending_calls(self, session_id: str) -> list[Message]:
        """Read the calls without an outcome in their order."""
        return await self._database.read(messages.pending_calls, session_id)

    async def used_call_ids(self, session_id: str, ids: Iterable[str]) -> set[str]:
        """Find out which of these ids a call of the session has already."""
        return await self._database.read(messages.used_call_ids, session_id, list(ids))

    async def count_messages(self, session_id: str) -> int:
        """Count the entries of a history."""
        return await self._database.read(messages.count, session_id)

    async def search(self, query: Query, where: SearchRange, *, wants_all: bool) -> Found:
        """Find messages and titles that may fit a query, and how common its words are.

        Args:
            query: not an empty one.
            where: in what part of what is stored.
            wants_all: find what has all words, else what has some.
        """
        if not await self._database.read(search.is_current):
            await self._database.write(search.index_new)
        return await self._database.read(search.find, query, where, wants_all=wants_all)

    # Agents

    async def list_agents(self) -> list[Agent]:
        """List the stored agents, by their names in alphabetical order; built-in ones are not stored."""
        return await self._database.read(agents.listed)

    async def find_agent(self, name_or_id: str) -> Agent | None:
        """Find an agent, built in or stored, by its name, in any case, or its id."""
        return await self._database.read(agents.find_any, name_or_id)

    async def create_agent(self, agent: Agent) -> Agent:
        """Store a new agent, and give it back with its id.

        Raises:
            DuplicateError: there is one of that name already.
        """
        return await self._database.write(agents.create, agent)

    async def change_agent(self, name_or_id: str, change: Callable[[Agent], Agent]) -> Agent:
        """Change a stored agent, and give it back as it is now; its sessions stay its own when its name changes.

        Args:
            name_or_id: which agent.
            change: makes the new agent of the one that is stored now, whatever other processes have made of it.

        Raises:
            NotFoundError: there is no such agent.
            ProtectedError: it is built in.
            DuplicateError: there is another one of the new name.
        """
        return await self._database.write(agents.change, name_or_id, change)

    async def delete_agent(self, name_or_id: str) -> tuple[Agent, int]:
        """Delete a stored agent; its sessions, which are counted, go on with the General Assistant.

        Raises:
            NotFoundError: there is no such agent.
            ProtectedError: it is built in.
        """
        return await self._database.write(agents.remove, name_or_id)

    # What was used

    async def record_usage(self, session_id: str, record: UsageRecord) -> None:
        """Store what a model request used that brought no entries of a history, such as that for a summary."""
        await self._database.write(usage.record, session_id, record)

    async def usage_totals(
        self, session_id: str | None = None, *, since: datetime | None = None, until: datetime | None = None
    ) -> UsageTotals:
        """Add up what model requests used.

        Args:
            session_id: those of this session only, ``None`` for all.
            since: those from this moment on only.
            until: those before this moment only.
        """
        from oneclaw_core.sessions import usage_report

        return await self._database.read(usage_report.totals, session_id, _stored(since), _stored(until))

    async def usage_by(
        self,
        grouping: UsageGrouping,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        time_zone: tzinfo | None = None,
    ) -> list[UsageRow]:
        """Add up what model requests used by day, model, session or tool group.

        A request with several loaded groups counts for each of them.

        Args:
            grouping: what to add up by.
            since: only requests from this moment on.
            until: only requests before this moment.
            time_zone: whose days; ``None`` for that of the machine.

        Returns:
            Days in their order; of all else what cost most first.
        """
        from oneclaw_core.sessions import usage_report

        return await self._database.read(usage_report.rows, grouping, _stored(since), _stored(until), time_zone)

    async def spent_since(self, since: datetime) -> Spending:
        """Add up what all sessions spent since a moment, quickly, to compare it with a limit."""
        return await self._database.read(usage.spent_since, to_stored(since))

    # What the user has set

    async def settings(self) -> dict[str, Any]:
        """Read all settings."""
        return await self._database.read(settings.read_settings)

    async def set_setting(self, key: str, value: Any) -> None:
        """Store a setting.

        Raises:
            SettingsError: JSON cannot hold the value.
        """
        await self._database.write(settings.set_setting, key, value)

    async def change_setting(self, key: str, change: Callable[[Any], Any]) -> Any:
        """Make a setting's value of the one that it has; what others do to it meanwhile is not lost.

        Args:
            key: of the setting.
            change: gets the value, ``None`` if it is not set, and gives the new one, ``None`` to take the setting back
                to its default; runs in another thread, and may be called again.

        Returns:
            The value that it had.

        Raises:
            SettingsError: JSON cannot hold the value.
        """
        return await self._database.write(settings.change_setting, key, change)

    async def remove_setting(self, key: str) -> bool:
        """Take a setting back to its default; say whether it was set."""
        return await self._database.write(settings.remove_setting, key)

    async def permissions(self) -> dict[str, str]:
        """Read the user's decisions: ``grant`` or ``deny`` by the permission's name."""
        return await self._database.read(settings.read_permissions)

    async def set_permission(self, name: str, decision: Decision) -> None:
        """Remember a decision of the user.

        Raises:
            UsageError: it is neither ``grant`` nor ``deny``.
        """
        await self._database.write(settings.set_permission, name, decision)

    async def remove_permission(self, name: str) -> bool:
        """Forget a decision; say whether there was one."""
        return await self._database.write(settings.remove_permission, name)

    async def reset_permissions(self) -> int:
        """Forget all decisions; say how many there were."""
        return await self._database.write(settings.reset_permissions)

    async def tool_states(self) -> ToolStates:
        """Read which tools and groups are disabled."""
        return await self._database.read(settings.read_tool_states)

    async def set_tool_enabled(self, kind: SwitchKind, name: str, enabled: bool) -> None:
        """Switch a tool or a group on or off; it need not be installed.

        Raises:
            UsageError: the kind is neither ``tool`` nor ``group``.
        """
        await self._database.write(settings.set_tool_enabled, kind, name, enabled)

    # Plugins

    def plugin_storage(self, plugin: str) -> PluginStorage:
        """Get the storage of a plugin, by the plugin's name."""
        from oneclaw_core.sessions.plugin_storage import PluginStorage
        from oneclaw_core.sessions.plugin_tables import PluginDatabases

        if self._plugin_databases is None:
            self._plugin_databases = PluginDatabases(self._database.backend)
        return PluginStorage(self._database, self._plugin_databases, plugin)

    async def plugin_content(self, plugin: str) -> PluginContent:
        """Find out what a plugin has stored."""
        from oneclaw_core.sessions import plugin_tables

        return await self._database.read(plugin_tables.content, self._database.backend, plugin)

    async def forget_plugin(self, plugin: str) -> PluginContent:
        """Remove all that a plugin has stored: values, tables and the version of its tables."""
        from oneclaw_core.sessions import plugin_tables

        return await self._database.write(plugin_tables.forget, self._database.backend, plugin)


def _stored(moment: datetime | None) -> int | None:
    return None if moment is None else to_stored(moment)


def _append(connection: Connection, session_id: str, new: Sequence[Message], used: UsageRecord | None) -> list[Message]:
    stored = messages.append(connection, session_id, new)
    if used is not None:
        usage.record(connection, session_id, used)
    return stored


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


def _history(connection: Connection, session_id: str, max_characters: int | None) -> tuple[Message, ...]:
    pending = messages.pending_calls(connection, session_id)
    return messages.newest_turns(connection, session_id, pending, max_characters)


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
