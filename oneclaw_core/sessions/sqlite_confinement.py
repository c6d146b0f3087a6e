"""Confine the statements of a plugin to its own tables, by SQLite's authorizer."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import StoreError
from oneclaw_core.sessions.confinement import foreign_table, invalid_statement
from oneclaw_core.sessions.connection import NO_PARAMETERS, Cursor
from oneclaw_core.sessions.sqlite_connection import SqliteConnection

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

# Actions whose first argument is the name of what they are about.
_OF_A_TABLE = frozenset(
    {
        sqlite3.SQLITE_CREATE_TABLE,
        sqlite3.SQLITE_CREATE_VIEW,
        sqlite3.SQLITE_DELETE,
        sqlite3.SQLITE_DROP_TABLE,
        sqlite3.SQLITE_DROP_VIEW,
        sqlite3.SQLITE_INSERT,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_REINDEX,
        sqlite3.SQLITE_UPDATE,
    }
)
# Actions with two names: of an index or a trigger, and of its table.
_OF_TWO = frozenset(
    {
        sqlite3.SQLITE_CREATE_INDEX,
        sqlite3.SQLITE_CREATE_TRIGGER,
        sqlite3.SQLITE_DROP_INDEX,
        sqlite3.SQLITE_DROP_TRIGGER,
    }
)
_HARMLESS = frozenset(
    {
        sqlite3.SQLITE_FUNCTION,
        sqlite3.SQLITE_RECURSIVE,
        sqlite3.SQLITE_SELECT,
        # Those of the store itself; a StorageConnection refuses a plugin's.
        sqlite3.SQLITE_TRANSACTION,
    }
)
# What the store sets for a transaction, and what SQLite itself runs to add a column.
_PRAGMAS = frozenset({"query_only", "quick_check"})
# SQLite's own tables, which it writes to itself, and the one of the versions of plugins' tables. A StorageConnection
# refuses statements that name them.
_SHARED = frozenset({"sqlite_master", "sqlite_sequence", "sqlite_temp_master", "pragma_quick_check", "plugin_schemas"})


class ConfinedSqliteConnection(SqliteConnection):
    """A connection that reaches only the tables whose names begin with a prefix."""

    _are_values_checked = False

    def __init__(self, path: Path, busy_seconds: float, prefix: str) -> None:
        super().__init__(path, busy_seconds)
        self._prefix = prefix
        self._refused = ""
        self._tables = {name.lower() for (name,) in self.driver.execute("SELECT name FROM sqlite_master")}
        self.driver.set_authorizer(self._authorize)

    def begin(self, *, writes: bool) -> None:
        """See :class:`~oneclaw_core.sessions.connection.Connection`; what only reads cannot write by mistake."""
        self.driver.execute(f"PRAGMA query_only = {'OFF' if writes else 'ON'}")
        super().begin(writes=writes)

    def execute(self, sql: str, parameters: Mapping[str, Any] = NO_PARAMETERS) -> Cursor:
        """See :class:`~oneclaw_core.sessions.connection.Connection`."""
        try:
            return super().execute(sql, parameters)
        except sqlite3.DatabaseError as error:
            raise self._explained(error) from error

    def execute_many(self, sql: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """See :class:`~oneclaw_core.sessions.connection.Connection`."""
        try:
            super().execute_many(sql, rows)
        except sqlite3.DatabaseError as error:
            raise self._explained(error) from error

    def insert_numbered(self, sql: str, parameters: Mapping[str, Any], column: str) -> int:
        """See :class:`~oneclaw_core.sessions.connection.Connection`."""
        try:
            return super().insert_numbered(sql, parameters, column)
        except sqlite3.DatabaseError as error:
            raise self._explained(error) from error

    def _authorize(self, action: int, first: str | None, second: str | None, database: str | None, _: object) -> int:
        if action in _HARMLESS or (action == sqlite3.SQLITE_PRAGMA and first in _PRAGMAS):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ and not second and self._is_of_the_statement(first or ""):
            return sqlite3.SQLITE_OK
        names = (
            [first]
            if action in _OF_A_TABLE
            else [first, second]
            if action in _OF_TWO
            else [second]
            if action == sqlite3.SQLITE_ALTER_TABLE
            else []
        )
        if names and all(self._is_own(name) for name in names):
            return sqlite3.SQLITE_OK
        self._refused = next((name for name in names if name and not self._is_own(name)), first or "this")
        return sqlite3.SQLITE_DENY

    def _is_reading(self) -> bool:
        return bool(self.driver.execute("PRAGMA query_only").fetchone()[0])

    def _is_of_the_statement(self, name: str) -> bool:
        """Return True for the name of a WITH clause, which SQLite also reports if no column of it is read."""
        return name.lower() not in self._tables and "__" not in name

    def _is_own(self, name: str | None) -> bool:
        # SQLite names the index of a constraint sqlite_autoindex_TABLE_N.
        name = (name or "").removeprefix("sqlite_autoindex_").lower()
        return name.startswith(self._prefix) or name in _SHARED

    def _explained(self, error: sqlite3.DatabaseError) -> Exception:
        if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_READONLY and self._is_reading():
            return StoreError("a function that reads cannot write: call PluginTables.write with it")
        if self._refused:
            refused, self._refused = self._refused, ""
            return foreign_table(refused, self._prefix)
        if error.sqlite_errorcode == sqlite3.SQLITE_ERROR:
            # A missing table is no sign of damage here, unlike in the store's own statements.
            return invalid_statement(str(error))
        return error
