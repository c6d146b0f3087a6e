"""The store: all operations on what OneClaw stores, each one transaction."""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from oneclaw_core.errors import SessionBusyError, StoreError
from oneclaw_core.sessions import agents, branches, plugin_storage, provenance, scripts, search, sessions, turns, usage
from oneclaw_core.sessions import messages as stored_messages
from oneclaw_core.sessions import settings as stored_settings
from oneclaw_core.sessions.database import Database
from oneclaw_core.sessions.locks import fenced
from oneclaw_core.sessions.plugin_storage import PluginContent, PluginDatabases, PluginStorage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
    from pathlib import Path
    from typing import Self

    from oneclaw_core.search.words import Query
    from oneclaw_core.sessions.backend import Backend, Connection
    from oneclaw_core.sessions.search import Found, SearchRange
    from oneclaw_core.sessions.settings import UserStates
    from oneclaw_core.sessions.usage import UsageRecord
    from oneclaw_core.types.messages import Message

_log = logging.getLogger("oneclaw.store")

Arguments = ParamSpec("Arguments")
Value = TypeVar("Value")


def _reads(
    work: Callable[Concatenate[Connection, Arguments], Value],
) -> Callable[Concatenate[Store, Arguments], Coroutine[Any, Any, Value]]:
    """Make a method of the store from a function that reads in a transaction."""

    @wraps(work)
    def method(self: Store, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Coroutine[Any, Any, Value]:
        return self._database.read(work, *args, **kwargs)

    return method


def _writes(
    work: Callable[Concatenate[Connection, Arguments], Value],
) -> Callable[Concatenate[Store, Arguments], Coroutine[Any, Any, Value]]:
    """Make a method of the store from a function that writes in a transaction."""

    @wraps(work)
    def method(self: Store, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Coroutine[Any, Any, Value]:
        return self._database.write(work, *args, **kwargs)

    return method


def _writes_own(
    work: Callable[Concatenate[Connection, str, Arguments], Value],
) -> Callable[Concatenate[Store, str, Arguments], Coroutine[Any, Any, Value]]:
    """Make a method of the store from a function that writes to a session.

    It is refused if the session's lock was acquired here and another process has acquired it since.
    """

    @wraps(work)
    def method(
        self: Store, session_id: str, /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Coroutine[Any, Any, Value]:
        own = fenced(work, self._tokens.get(session_id))
        return self._database.write(own, session_id, *args, **kwargs)

    return method


class Store:
    """Everything that OneClaw stores, opened by :meth:`open`.

    Each method is one transaction, and raises a kind of ``StoreError`` if the database fails; then nothing is stored.
    Cancelling a task that waits for a method does not undo the transaction. The functions that the methods are made
    from take the transaction first; they may run in another thread, and again when another transaction stood in the
    way.

    Writing to a history under the session's lock raises ``SessionBusyError`` after the lock was lost with its
    connection and another turn acquired it.
    """

    def __init__(self, database: Database, lock_directory: Path) -> None:
        self._database = database
        self._locks = database.backend.session_locks(lock_directory)
        self._plugin_databases = PluginDatabases(database.backend)
        # By session, the tokens of the locks that this process holds.
        self._tokens: dict[str, int] = {}

    @classmethod
    async def open(cls, backend: Backend, *, lock_directory: Path, is_read_only: bool = False) -> Self:
        """Open a database; create a missing one, migrate an older one.

        Args:
            backend: the kind and the address of the database.
            lock_directory: for lock files, the same for all processes that use a SQLite file.
            is_read_only: True to change nothing in an existing database.

        Raises:
            StoreVersionError: a newer OneClaw wrote it, or an older one and it is not to be changed.
            StoreDamagedError: it is damaged, or another program's.
            StoreError: it cannot be opened.
        """
        database = await Database.open(backend, lock_directory=lock_directory, is_read_only=is_read_only)
        return cls(database, lock_directory)

    @property
    def name(self) -> str:
        """The database as messages show it: the file, or the server and its database."""
        return self._database.backend.name

    async def close(self) -> None:
        """Wait for open transactions, then close the database; closing it again does nothing."""
        await self._database.close()
        await self._plugin_databases.close()
        await self._locks.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # Turns

    turn_setup = _reads(turns.read_setup)
    load_turn = _reads(turns.load)
    resume_turn = _writes_own(turns.resume)
    begin_turn = _writes_own(turns.begin)
    begin_session_with_turn = _writes_own(turns.begin_session)
    request_stop = _writes(turns.request_stop)
    stop_requests = _reads(turns.stop_requests)
    withdraw_stop = _writes(turns.withdraw_stop)

    # Sessions

    create_session = _writes(sessions.create)
    find_or_create_session = _writes(sessions.find_or_create)
    find_session = _reads(sessions.find)
    last_used_session = _reads(sessions.last_used)
    list_sessions = _reads(sessions.summaries)
    rename_session = _writes(sessions.rename)
    branch_session = _writes(branches.branch)
    delete_session = _writes_own(sessions.remove)
    set_summary = _writes_own(sessions.set_summary)
    kept_sections = _reads(sessions.kept_sections)
    keep_sections = _writes_own(sessions.keep_sections)
    end_history = _writes_own(branches.end_history)
    restore_history = _writes_own(branches.restore_history)
    ended_parts = _reads(branches.ended_parts)

    @asynccontextmanager
    async def session_lock(self, session_id: str, wait_seconds: float) -> AsyncIterator[None]:
        """Hold the lock of a session, which other processes and other tasks of this one cannot acquire.

        Args:
            wait_seconds: how long to wait for another turn of the session.

        Raises:
            SessionBusyError: the other turn did not end in that time.
            NotFoundError: that is not a session's id.
            StoreError: the lock cannot be used.
        """
        sessions.check_id(session_id)
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

    # Messages

    messages = _reads(stored_messages.page)
    newest_messages = _reads(stored_messages.newest)
    count_messages = _reads(stored_messages.count)
    kept_result = _reads(stored_messages.kept_result)
    finish_calls = _writes_own(stored_messages.finish_calls)
    mark_not_sent = _writes_own(stored_messages.mark_not_sent)
    _store_answer = _writes_own(turns.store_answer)

    # Scripts

    begin_script = _writes_own(scripts.begin_script)
    note_script_calls = _writes_own(scripts.note_script_calls)
    end_script = _writes_own(scripts.end_script)
    script_calls = _reads(scripts.script_calls)
    calls_of_scripts = _reads(scripts.calls_of_scripts)
    is_script_open = _reads(scripts.is_open)
    cut_off = _reads(scripts.cut_off)

    async def append(
        self, session_id: str, new: Sequence[Message], *, usage: UsageRecord | None = None
    ) -> list[Message]:
        """Append entries to a history, see :func:`oneclaw_core.sessions.messages.append`."""
        return (await self.store_answer(session_id, new, usage))[0]

    async def store_answer(
        self, session_id: str, new: Sequence[Message], usage: UsageRecord | None
    ) -> tuple[list[Message], UserStates | None]:
        """Append an answer to a history, see :func:`oneclaw_core.sessions.turns.store_answer`."""
        try:
            return await self._store_answer(session_id, new, usage)
        except SessionBusyError:
            if usage is not None:
                # The tokens are spent, although the history does not continue from this request.
                await self.record_usage(session_id, replace(usage, prefix=None))
            raise

    async def search(self, query: Query, where: SearchRange, *, wants_all: bool) -> Found:
        """Find messages and titles that may match a query, see :func:`oneclaw_core.sessions.search.find`."""
        if not await self._database.read(lambda it: it.search_index.is_current()):
            await self._index_new()
        return await self._database.read(search.find, query, where, wants_all=wants_all)

    async def _index_new(self) -> None:
        database = Database(self._database.backend)  # which may write where this one only reads
        try:
            await database.write(lambda it: it.search_index.index_new())
        except StoreError:
            if not self._database.is_read_only:
                raise
            _log.warning("the home is read-only: the newest messages are not in the index and are not searched")
        finally:
            await database.close()

    # Agents

    list_agents = _reads(agents.listed)
    find_agent = _reads(agents.find_any)
    create_agent = _writes(agents.create)
    change_agent = _writes(agents.change)
    delete_agent = _writes(agents.remove)

    # Settings, permissions and disabled tools

    user_states = _reads(stored_settings.read_user_states)
    settings = _reads(stored_settings.read_settings)
    set_setting = _writes(stored_settings.set_setting)
    change_setting = _writes(stored_settings.change_setting)
    remove_setting = _writes(stored_settings.remove_setting)
    grants = _reads(stored_settings.read_grants)
    set_grant = _writes(stored_settings.set_grant)
    remove_grants = _writes(stored_settings.remove_grants)
    remove_grant = _writes(stored_settings.remove_grant)
    remove_task_grants = _writes(stored_settings.remove_task_grants)
    reset_grants = _writes(stored_settings.reset_grants)
    record_permission_use = _writes(stored_settings.record_use)
    record_known_permission_use = _writes(stored_settings.record_known_use)
    permission_log = _reads(stored_settings.read_log)
    tool_states = _reads(stored_settings.read_tool_states)
    set_tool_enabled = _writes(stored_settings.set_tool_enabled)

    # Provenance

    link_sources = _reads(provenance.link_sources)
    session_marks = _reads(provenance.session_marks)
    file_marks = _reads(provenance.file_marks)
    record_written = _writes(provenance.record_written)

    # Usage

    record_usage = _writes(usage.record)
    spent_since = _reads(usage.spent_since)
    usage_totals = _reads(usage.totals)
    usage_by = _reads(usage.rows)

    # Plugins

    def plugin_storage(self, plugin: str) -> PluginStorage:
        """Return the storage of a plugin by its name."""
        return PluginStorage(self._database, self._plugin_databases, plugin)

    async def plugin_content(self, plugin: str) -> PluginContent:
        """Count and list what a plugin has stored."""
        return await self._database.read(plugin_storage.content, self._database.backend, plugin)

    async def forget_plugin(self, plugin: str) -> PluginContent:
        """Remove everything that a plugin has stored: values, tables and the version of its tables."""
        return await self._database.write(plugin_storage.forget, self._database.backend, plugin)
