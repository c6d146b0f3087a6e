"""Public names for plugins that implement a store for another kind of database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:
    from oneclaw_core.errors import StoreDamagedError as StoreDamagedError
    from oneclaw_core.errors import StoreUnavailableError as StoreUnavailableError
    from oneclaw_core.errors import StoreVersionError as StoreVersionError
    from oneclaw_core.sessions.plugin_storage import PluginStorage as PluginStorage
    from oneclaw_core.sessions.plugin_storage import PluginTables as PluginTables
    from oneclaw_core.sessions.plugin_storage import StorageConnection as StorageConnection

if TYPE_CHECKING:  # for OneClaw's own plugins: nothing is promised
    from oneclaw_core.errors import ConstraintError as ConstraintError
    from oneclaw_core.sessions.backend import NO_SNAPSHOT as NO_SNAPSHOT
    from oneclaw_core.sessions.backend import SCHEMA_VERSION as SCHEMA_VERSION
    from oneclaw_core.sessions.backend import SQL_PART as SQL_PART
    from oneclaw_core.sessions.backend import Backend as Backend
    from oneclaw_core.sessions.backend import ColumnType as ColumnType
    from oneclaw_core.sessions.backend import Connection as Connection
    from oneclaw_core.sessions.backend import Cursor as Cursor
    from oneclaw_core.sessions.backend import Dialect as Dialect
    from oneclaw_core.sessions.backend import Inspection as Inspection
    from oneclaw_core.sessions.backend import SearchIndex as SearchIndex
    from oneclaw_core.sessions.backend import explaining as explaining
    from oneclaw_core.sessions.backend import foreign_table as foreign_table
    from oneclaw_core.sessions.backend import invalid_statement as invalid_statement
    from oneclaw_core.sessions.background import Background as Background
    from oneclaw_core.sessions.background import BackgroundWork as BackgroundWork
    from oneclaw_core.sessions.conversations import Sessions as Sessions
    from oneclaw_core.sessions.locks import HeldSession as HeldSession
    from oneclaw_core.sessions.locks import SessionLocks as SessionLocks
    from oneclaw_core.sessions.schema import TABLES as TABLES
    from oneclaw_core.sessions.schema import Column as Column
    from oneclaw_core.sessions.schema import Table as Table
    from oneclaw_core.sessions.sessions import Session as Session
    from oneclaw_core.sessions.sessions import SessionSummary as SessionSummary
    from oneclaw_core.sessions.sqlite_backend import APPLICATION_ID as APPLICATION_ID
    from oneclaw_core.sessions.sqlite_backend import SqliteBackend as SqliteBackend
    from oneclaw_core.sessions.sqlite_connection import SqliteConnection as SqliteConnection
    from oneclaw_core.sessions.sqlite_files import SNAPSHOT as SNAPSHOT
    from oneclaw_core.sessions.sqlite_files import SNAPSHOT_MOMENT as SNAPSHOT_MOMENT
    from oneclaw_core.sessions.sqlite_files import exclusive as exclusive
    from oneclaw_core.sessions.sqlite_files import new_file as new_file
    from oneclaw_core.sessions.sqlite_files import new_snapshot as new_snapshot
    from oneclaw_core.sessions.sqlite_files import not_in_use as not_in_use
    from oneclaw_core.sessions.sqlite_files import remove_old_snapshots as remove_old_snapshots
    from oneclaw_core.sessions.sqlite_files import snapshot_before_migration as snapshot_before_migration
    from oneclaw_core.sessions.sqlite_files import snapshot_directory as snapshot_directory
    from oneclaw_core.sessions.sqlite_files import take_snapshot as take_snapshot
    from oneclaw_core.sessions.store import Store as Store
    from oneclaw_core.sessions.usage import UsageGrouping as UsageGrouping
    from oneclaw_core.sessions.usage import UsageRow as UsageRow
    from oneclaw_core.sessions.usage import UsageTotals as UsageTotals

__getattr__, __dir__, __all__ = lazy_names(__name__)
