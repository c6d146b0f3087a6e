"""A connection to a SQLite file, by the standard library's driver."""

from __future__ import annotations

import sqlite3
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import ConstraintError
from oneclaw_core.sessions.connection import NO_PARAMETERS, ColumnType, Connection, Cursor, Dialect
from oneclaw_core.sessions.sqlite_file import DRIVER_ERRORS, explain
from oneclaw_core.sessions.sqlite_values import checked_row

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence
    from pathlib import Path

    from oneclaw_core.sessions.search_index import SearchIndex

SQLITE = Dialect(
    "sqlite",
    MappingProxyType(
        {
            ColumnType.TEXT: "TEXT",
            ColumnType.INTEGER: "INTEGER",
            ColumnType.BIG_INTEGER: "BIGINT",
            # Rows are numbered only where the type is exactly this, which holds 64 bits.
            ColumnType.ROW_NUMBER: "INTEGER",
            ColumnType.FLOAT: "FLOAT",
            ColumnType.BOOLEAN: "BOOLEAN",
            ColumnType.BYTES: "BLOB",
        }
    ),
    numbered_key="INTEGER PRIMARY KEY AUTOINCREMENT",
    number_once="PRIMARY KEY AUTOINCREMENT",
)


class SqliteConnection(Connection):
    """A connection to a SQLite file.

    Attributes:
        driver: the driver's connection.
    """

    dialect = SQLITE
    # True where one column alone holds bytes.
    _are_values_checked = True

    def __init__(self, path: Path, busy_seconds: float, *, is_read_only: bool = False) -> None:
        """Connect to a file.

        Args:
            path: a missing file is made, unless the connection only reads.
            busy_seconds: how long to wait for another connection that writes.
            is_read_only: True if nothing may be written.
        """
        self._path = path
        # Transactions are begun by begin() alone. A connection is used by one thread, and closed by another.
        self.driver = sqlite3.connect(
            path.absolute().as_uri() + "?mode=ro" if is_read_only else path,
            uri=is_read_only,
            timeout=busy_seconds,
            isolation_level=None,
            check_same_thread=False,
        )
        if self._are_values_checked:
            self.driver.row_factory = checked_row
        try:
            self.driver.execute("PRAGMA foreign_keys = ON")
            # With a write-ahead log a killed process loses nothing, a machine without power its last transactions.
            self.driver.execute("PRAGMA synchronous = NORMAL")
        except DRIVER_ERRORS:
            self.driver.close()
            raise

    def execute(self, sql: str, parameters: Mapping[str, Any] = NO_PARAMETERS) -> Cursor:
        """See :class:`~oneclaw_core.sessions.connection.Connection`."""
        try:
            return self.driver.execute(sql, parameters)
        except sqlite3.IntegrityError as error:
            raise self._refusal(error) from error

    def execute_many(self, sql: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """See :class:`~oneclaw_core.sessions.connection.Connection`."""
        try:
            self.driver.executemany(sql, rows)
        except sqlite3.IntegrityError as error:
            raise self._refusal(error) from error

    def insert_numbered(self, sql: str, parameters: Mapping[str, Any], column: str) -> int:
        """See :class:`~oneclaw_core.sessions.connection.Connection`."""
        try:
            number = self.driver.execute(sql, parameters).lastrowid
        except sqlite3.IntegrityError as error:
            raise self._refusal(error) from error
        assert number is not None, sql
        return number

    def stream(self, sql: str, size: int) -> Generator[list[Any]]:
        """See :class:`~oneclaw_core.sessions.connection.Connection`."""
        cursor = self.driver.execute(sql)
        try:
            while rows := cursor.fetchmany(size):
                yield rows
        finally:
            cursor.close()

    def read_locked(self, sql: str, parameters: Mapping[str, Any]) -> Cursor:
        """Run a query: a transaction that writes is the only one."""
        return self.driver.execute(sql, parameters)

    def lock(self, topic: str) -> None:
        """Do nothing: a transaction that writes is the only one."""

    def try_lock(self, topic: str) -> bool:
        """Return True: a transaction that writes is the only one."""
        return True

    @property
    def search_index(self) -> SearchIndex:
        """See :class:`~oneclaw_core.sessions.connection.Connection`."""
        from oneclaw_core.sessions.sqlite_search import SqliteSearchIndex

        return SqliteSearchIndex(self)

    def begin(self, *, writes: bool) -> None:
        """Begin a transaction; one that writes locks at once, because a reader cannot always become a writer."""
        self.driver.execute("BEGIN IMMEDIATE" if writes else "BEGIN")

    def commit(self) -> None:
        """See :class:`~oneclaw_core.sessions.connection.Connection`."""
        self.driver.execute("COMMIT")

    def rollback(self) -> None:
        """See :class:`~oneclaw_core.sessions.connection.Connection`."""
        # SQLite may have rolled back already, as when the disk is full.
        if self.driver.in_transaction:
            self.driver.execute("ROLLBACK")

    def close(self) -> None:
        """See :class:`~oneclaw_core.sessions.connection.Connection`."""
        self.driver.close()

    def _refusal(self, error: sqlite3.IntegrityError) -> ConstraintError:
        lacks_parent = error.sqlite_errorname == "SQLITE_CONSTRAINT_FOREIGNKEY"
        return ConstraintError(str(explain(error, self._path)), lacks_parent=lacks_parent)
