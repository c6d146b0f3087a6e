"""A connection to a SQLite file, by the standard library's driver.

SQLite accepts values whose type is not that of their column, and a flipped bit creates some. A flipped bit can turn a
text into bytes, so every row that is read is checked for bytes. Other types are checked only after an error, when the
cost does not matter.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import ConstraintError, StoreDamagedError, StoreError, StoreUnavailableError
from oneclaw_core.sessions.backend import (
    NO_PARAMETERS,
    ColumnType,
    Connection,
    Dialect,
    damaged_value,
    foreign_table,
    invalid_statement,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from oneclaw_core.sessions.backend import SearchIndex

# How long to wait for other connections that write, by default.
BUSY_SECONDS = 10.0
# The one column of all tables that holds bytes.
_OF_BYTES = "data"

# The driver may also fail to decode SQLite's message about a damaged name of a table.
DRIVER_ERRORS: tuple[type[Exception], ...] = (sqlite3.Error, UnicodeDecodeError)

# The smallest file that SQLite creates beside a database.
_SHARED_MEMORY_BYTES = 32 * 1024


def _actions(names: str) -> frozenset[int]:
    return frozenset(getattr(sqlite3, f"SQLITE_{name}") for name in names.split())


# Actions whose first argument is the name of what they are about.
_OF_A_TABLE = _actions("CREATE_TABLE CREATE_VIEW DELETE DROP_TABLE DROP_VIEW INSERT READ REINDEX UPDATE")
# Actions with two names: of an index or a trigger, and of its table.
_OF_TWO = _actions("CREATE_INDEX CREATE_TRIGGER DROP_INDEX DROP_TRIGGER")
# The transactions are those of the store itself; a StorageConnection refuses a plugin's.
_HARMLESS = _actions("FUNCTION RECURSIVE SELECT TRANSACTION")
# What the store sets for a transaction, and what SQLite itself runs to add a column.
_CACHE_KILOBYTES = 512
_PRAGMAS = frozenset({"query_only", "quick_check"})
# SQLite's own tables, which it writes to itself, and the one of the versions of plugins' tables. A StorageConnection
# refuses statements that name them.
_SHARED = frozenset({"sqlite_master", "sqlite_sequence", "sqlite_temp_master", "pragma_quick_check", "plugin_schemas"})

SQLITE = Dialect(
    {
        ColumnType.TEXT: "TEXT",
        ColumnType.INTEGER: "INTEGER",
        ColumnType.BIG_INTEGER: "BIGINT",
        # Rows are numbered only where the type is exactly this, which holds 64 bits.
        ColumnType.ROW_NUMBER: "INTEGER",
        ColumnType.FLOAT: "FLOAT",
        ColumnType.BOOLEAN: "BOOLEAN",
        ColumnType.BYTES: "BLOB",
    },
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

    def __init__(
        self, path: Path, busy_seconds: float, *, is_read_only: bool = False, is_immutable: bool = False
    ) -> None:
        """Connect to a file.

        Args:
            path: an existing file; SQLite would make an empty one in its place.
            busy_seconds: how long to wait for another connection that writes.
            is_read_only: True if nothing may be written.
            is_immutable: True if the file does not change either, so that no files are needed beside it.
        """
        self._path = path
        # Transactions are begun by begin() alone. A connection is used by one thread, and closed by another.
        self.driver = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={'ro' if is_read_only else 'rw'}{'&immutable=1' if is_immutable else ''}",
            uri=True,
            timeout=busy_seconds,
            isolation_level=None,
            check_same_thread=False,
        )
        if self._are_values_checked:
            self.driver.row_factory = _checked_row
        try:
            self.driver.execute("PRAGMA foreign_keys = ON")
            # With a write-ahead log a killed process loses nothing, a machine without power its last transactions.
            self.driver.execute("PRAGMA synchronous = NORMAL")
            # Each thread of a server has a connection, and the system caches the file for all of them.
            self.driver.execute(f"PRAGMA cache_size = -{_CACHE_KILOBYTES}")
        except DRIVER_ERRORS:
            self.driver.close()
            raise

    def execute(self, sql: str, parameters: Mapping[str, Any] = NO_PARAMETERS) -> sqlite3.Cursor:
        """See :class:`~oneclaw_core.sessions.backend.Connection`."""
        return self._run(self.driver.execute, sql, parameters)

    def execute_many(self, sql: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """See :class:`~oneclaw_core.sessions.backend.Connection`."""
        self._run(self.driver.executemany, sql, rows)

    def insert_numbered(self, sql: str, parameters: Mapping[str, Any], column: str) -> int:
        """See :class:`~oneclaw_core.sessions.backend.Connection`."""
        number = self.execute(sql, parameters).lastrowid
        assert number is not None, sql
        return number

    def _run(self, method: Callable[..., sqlite3.Cursor], sql: str, parameters: object) -> sqlite3.Cursor:
        try:
            return method(sql, parameters)
        except sqlite3.DatabaseError as error:
            self._raise_explained(error)
            raise

    @property
    def search_index(self) -> SearchIndex:
        """See :class:`~oneclaw_core.sessions.backend.Connection`."""
        from oneclaw_core.sessions.sqlite_search import SqliteSearchIndex

        return SqliteSearchIndex(self)

    def begin(self, *, writes: bool) -> None:
        """Begin a transaction; one that writes locks at once, because a reader cannot always become a writer."""
        self.driver.execute("BEGIN IMMEDIATE" if writes else "BEGIN")

    def commit(self) -> None:
        """See :class:`~oneclaw_core.sessions.backend.Connection`."""
        self.driver.execute("COMMIT")

    def rollback(self) -> None:
        """See :class:`~oneclaw_core.sessions.backend.Connection`."""
        # SQLite may have rolled back already, as when the disk is full.
        if self.driver.in_transaction:
            self.driver.execute("ROLLBACK")

    def close(self) -> None:
        """See :class:`~oneclaw_core.sessions.backend.Connection`."""
        self.driver.close()

    def copy_to(self, file: Path) -> None:
        """Copy the database into an empty file, while it may be used."""
        with closing(SqliteConnection(file, BUSY_SECONDS)) as copy:
            self.driver.backup(copy.driver)
            # One file, which can be moved and read anywhere.
            copy.execute("PRAGMA journal_mode = DELETE")

    def _raise_explained(self, error: sqlite3.DatabaseError) -> None:
        """Raise an error of ours instead of the driver's, if there is one for it."""
        if isinstance(error, sqlite3.IntegrityError):
            lacks_parent = error.sqlite_errorname == "SQLITE_CONSTRAINT_FOREIGNKEY"
            raise ConstraintError(str(explain(error, self._path)), lacks_parent=lacks_parent) from error


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
        """See :class:`~oneclaw_core.sessions.backend.Connection`; what only reads cannot write by mistake."""
        self.driver.execute(f"PRAGMA query_only = {'OFF' if writes else 'ON'}")
        super().begin(writes=writes)

    def _authorize(self, action: int, first: str | None, second: str | None, database: str | None, _: object) -> int:
        if action in _HARMLESS or (action == sqlite3.SQLITE_PRAGMA and first in _PRAGMAS):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ and not second and self._is_of_the_statement(first or ""):
            return sqlite3.SQLITE_OK
        names = [first] if action in _OF_A_TABLE else [first, second] if action in _OF_TWO else []
        if action == sqlite3.SQLITE_ALTER_TABLE:
            names = [second]
        foreign = [name for name in names if not self._is_own(name)]
        if names and not foreign:
            return sqlite3.SQLITE_OK
        self._refused = next(filter(None, foreign), first or "this")
        return sqlite3.SQLITE_DENY

    def _is_of_the_statement(self, name: str) -> bool:
        """Return True for the name of a WITH clause, which SQLite also reports if no column of it is read."""
        return name.lower() not in self._tables and "__" not in name

    def _is_own(self, name: str | None) -> bool:
        # SQLite names the index of a constraint sqlite_autoindex_TABLE_N.
        name = (name or "").removeprefix("sqlite_autoindex_").lower()
        return name.startswith(self._prefix) or name in _SHARED

    def _raise_explained(self, error: sqlite3.DatabaseError) -> None:
        super()._raise_explained(error)
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)  # the driver's own errors have none
        if code & 0xFF == sqlite3.SQLITE_READONLY and self.driver.execute("PRAGMA query_only").fetchone()[0]:
            raise StoreError("a function that reads cannot write: call PluginTables.write with it") from error
        if self._refused:
            refused, self._refused = self._refused, ""
            raise foreign_table(refused, self._prefix) from error
        if code == sqlite3.SQLITE_ERROR:
            # A missing table is no sign of damage here, unlike in the store's own statements.
            raise invalid_statement(str(error)) from error


def explain(error: BaseException | None, path: Path) -> StoreError:
    """Describe an error of SQLite in one line that says what to do.

    Args:
        error: as the driver raised it.
        path: the file.
    """
    text = " ".join(str(error).split())
    # The upper bits of a code are details; the driver's own errors have no code.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    is_undecodable = isinstance(error, UnicodeDecodeError)
    if (
        is_undecodable
        or code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
        or text.startswith(("no such table", "no such column", "Could not decode"))
    ):
        return damaged(path)
    if text.startswith("no such module"):
        return StoreError(
            f"the SQLite of this Python lacks full-text search ({text}): use a Python whose SQLite has FTS5, such as "
            "those of python.org and of Linux distributions"
        )
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return StoreError(f"the database {path} cannot be written: let this user write to the file and its directory")
    if code == sqlite3.SQLITE_CANTOPEN:
        return StoreError(
            f"the database {path} cannot be opened: check the path and that this user may read and write there"
        )
    # Without room for the files beside the database, SQLite reports an I/O error.
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _is_disk_full(path)):
        return StoreUnavailableError(
            f"the disk is full, nothing was stored: free some space where the database {path} is"
        )
    if code == sqlite3.SQLITE_IOERR:
        return StoreError(f"reading or writing the database {path} failed ({text}): check the disk and its free space")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreUnavailableError(
            f"the database {path} is locked by another process: try again, or end the process that holds it"
        )
    return StoreError(f"the database {path} refused the operation ({text}); nothing was stored")


def _is_disk_full(path: Path) -> bool:
    try:
        disk = os.statvfs(path.parent)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < _SHARED_MEMORY_BYTES


def damaged(path: Path) -> StoreDamagedError:
    """Return the error for a file that is damaged."""
    return StoreDamagedError(
        f"{path} is damaged or not a database: move it away, with its -wal and -shm files if there are any, "
        "to start afresh, or put a backup copy in its place, or rescue what can be read with oneclaw db salvage FILE"
    )


def _checked_row(cursor: sqlite3.Cursor, row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a row unchanged if it holds no bytes outside the column for bytes.

    Raises:
        StoreDamagedError: it holds some.
    """
    if bytes in map(type, row) and any(
        type(value) is bytes and column[0] != _OF_BYTES for value, column in zip(row, cursor.description, strict=True)
    ):
        raise damaged_value()
    return row
