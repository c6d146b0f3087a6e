"""The backend of SQLite: one file, one thread, one writer at a time."""

from __future__ import annotations

import re
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.errors import StoreDamagedError, StoreError
from oneclaw_core.sessions import sqlite_connection, sqlite_files
from oneclaw_core.sessions.backend import SCHEMA_VERSION, Backend, ColumnType, Inspection, closed_on_error, value_of
from oneclaw_core.sessions.locks import FileLocks
from oneclaw_core.sessions.schema import TABLES, Column, Table
from oneclaw_core.sessions.sqlite_connection import ConfinedSqliteConnection, SqliteConnection, damaged, explain

if TYPE_CHECKING:
    from collections.abc import Callable

    from oneclaw_core.sessions.backend import Connection

# Stands in the file's header, where file(1) and sqlite3 find it: "OClw".
APPLICATION_ID = 0x4F436C77

# Identify a file restored from an SQL dump, which loses the application id.
_TELLING_TABLES = frozenset({"schema_version", "sessions", "messages"})

_SCHEME = r"([A-Za-z][A-Za-z0-9+.-]*)://"
_SQLITE_PREFIXES = ("sqlite:///", "sqlite+pysqlite:///")

# How SQLite stores the values of a type, if not as an integer.
_STORED_AS = {ColumnType.FLOAT: "'real', 'integer'", ColumnType.BYTES: "'blob'", ColumnType.TEXT: "'text'"}

_RETRY_SECONDS = 0.02
_SHOWN_FAULTS = 3
# SQLite's errors where it cannot make files beside the database.
_UNWRITABLE = frozenset({sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY})


def path_of(url: str) -> Path:
    """Return the file that a database URL names.

    Args:
        url: ``sqlite:///relative/path`` or ``sqlite:////absolute/path``; the path is not decoded.

    Raises:
        StoreError: the URL names no file. The message does not repeat it: it may hold a password.
    """
    for prefix in _SQLITE_PREFIXES:
        if url.startswith(prefix):
            name = url.removeprefix(prefix)
            if not name or name.startswith((":memory:", "file:")) or "\x00" in name:
                raise StoreError("the database URL names no file: write sqlite:///PATH")
            return Path(name).absolute()
    scheme = re.match(_SCHEME, url)
    what = f"databases of type {scheme[1]!r} are not supported" if scheme else "the database URL is not understood"
    raise StoreError(f"{what}: write sqlite:///PATH, or postgresql+psycopg://USER:PASSWORD@HOST/DATABASE")


class SqliteBackend(Backend):
    """A SQLite file.

    Args:
        path: of the file.
        busy_seconds: how long to wait for other connections that write.
        prefix: of the only tables that statements reach; ``None`` for all tables.
    """

    # SQLite allows one writer at a time, and readers of the same process wait their turn cheaply.
    threads = 1
    how_to_migrate = "oneclaw db migrate"  # takes a snapshot
    driver_errors = sqlite_connection.DRIVER_ERRORS

    def __init__(self, path: Path, busy_seconds: float | None = None, prefix: str | None = None) -> None:
        self.path = path
        self.name = str(path)
        self.url = f"sqlite:///{path}"
        self._busy_seconds = sqlite_connection.BUSY_SECONDS if busy_seconds is None else busy_seconds
        self._prefix = prefix

    def connect(self) -> SqliteConnection:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        if self._prefix is None:
            return SqliteConnection(self.path, self._busy_seconds)
        return ConfinedSqliteConnection(self.path, self._busy_seconds, self._prefix)

    def connect_read_only(self) -> SqliteConnection:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        try:
            connection = SqliteConnection(self.path, self._busy_seconds, is_read_only=True)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _UNWRITABLE or not self.path.is_file():
                raise
            return self._connect_unwritable()
        return connection

    def _connect_unwritable(self) -> SqliteConnection:
        """Connect where SQLite cannot make the files that it needs beside the database."""
        log = self.path.with_name(f"{self.path.name}-wal")
        if not log.exists() or not log.stat().st_size:
            return SqliteConnection(self.path, self._busy_seconds, is_read_only=True, is_immutable=True)
        # Recent transactions are in the log alone: they are added to a copy.
        with sqlite_files.private_copy(self.path) as copy:
            merged = SqliteConnection(copy, self._busy_seconds)
            with closing(merged):
                merged.execute("PRAGMA journal_mode = DELETE")
            # The open file stays readable when its name is gone.
            return SqliteConnection(copy, self._busy_seconds, is_read_only=True, is_immutable=True)

    def exists(self) -> bool:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        return sqlite_files.is_there(self.path)

    def prepare(self) -> Connection:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        if self.exists():
            connection = self.connect()
            if self._is_current(connection):
                return connection
            connection.close()
        with sqlite_files.exclusive(self.path):
            # Another process may have made it meanwhile.
            if not self.exists():
                with sqlite_files.new_file(self.path) as temporary:
                    SqliteBackend(temporary, self._busy_seconds)._migrated().close()
            return self._migrated()

    def keep_before_migration(self, version: int, newest: int, plugin: str | None = None) -> None:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        sqlite_files.snapshot_before_migration(self.path, version, newest, plugin)

    def _is_current(self, connection: Connection) -> bool:
        """Return True for the current schema and a write-ahead log; close the connection on an error."""
        with closed_on_error(connection):
            with connection.transaction(writes=False):
                is_current = self.version(connection) == SCHEMA_VERSION
            return is_current and value_of(connection.execute("PRAGMA journal_mode")) == "wal"

    def _migrated(self) -> Connection:
        # Migrating begins with a check of the owner: another program's file must not change in any way.
        connection = super().prepare()
        with closed_on_error(connection):
            self._enable_write_ahead_log(connection)
        return connection

    def has_tables(self, connection: Connection) -> bool:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        [[application_id]] = connection.execute("PRAGMA application_id")
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not tables and application_id == 0:
            return False
        if application_id != APPLICATION_ID and not (application_id == 0 and tables >= _TELLING_TABLES):
            raise StoreDamagedError(
                f"{self.path} is a database of another program and is left untouched: choose another file for OneClaw's"
            )
        if "schema_version" not in tables:
            raise damaged(self.path)
        return True

    def finish_creation(self, connection: Connection) -> None:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")

    def session_locks(self, directory: Path) -> FileLocks:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        return FileLocks(directory)

    def hold_open(self, directory: Path) -> Callable[[], None]:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        return sqlite_files.hold_open(self.path, directory)

    def explain(self, error: BaseException | None) -> StoreError:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        return explain(error, self.path)

    def damaged(self) -> StoreDamagedError:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        return damaged(self.path)

    def has_invalid_values(self, connection: Connection) -> bool:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        if self._prefix is not None:
            return False
        checks = (
            f'SELECT 1 FROM "{table.name}" WHERE {" OR ".join(map(_has_other_type, table.columns))} LIMIT 1'
            for table in TABLES
        )
        return any(connection.execute(check).fetchone() is not None for check in checks)

    def inspect(self, connection: Connection) -> Inspection:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        version = self.version(connection)
        faults = [line for (line,) in connection.execute("PRAGMA quick_check") if line != "ok"]
        if faults:
            shown = "; ".join(" ".join(line.split()) for line in faults[:_SHOWN_FAULTS])
            return Inspection(
                f"{self.path} is damaged: {shown}",
                "put a backup copy in its place, or move it away, with its -wal and -shm files, to start afresh",
            )
        size_bytes = self.path.stat().st_size
        return Inspection(f"{self.path}, schema {version}, {size_bytes / 1_000_000:.1f} MB")

    def confined_to(self, prefix: str) -> SqliteBackend:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        return SqliteBackend(self.path, self._busy_seconds, prefix)

    def plugin_url(self, plugin: str) -> str:
        """Return the URL of a file beside the database."""
        return f"sqlite:///{self.path.with_name(f'{plugin}-tables.db')}"

    def tables_of(self, connection: Connection, prefix: str) -> list[str]:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        return [name for name, _ in _tables_and_views(connection, prefix)]

    def drop_tables(self, connection: Connection, prefix: str) -> list[str]:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        found = _tables_and_views(connection, prefix)
        # They may refer to each other.
        connection.execute("PRAGMA defer_foreign_keys = ON")
        for name, kind in found:
            connection.execute(f'DROP {kind} "{name}"')
        return [name for name, _ in found]

    def last_number(self, connection: Connection, table: Table) -> int:
        """Read the number from SQLite's own table, which has the numbers that are never reused."""
        found = value_of(connection.execute("SELECT seq FROM sqlite_sequence WHERE name = :it", {"it": table.name}))
        return int(found or 0)

    def set_last_number(self, connection: Connection, table: Table, number: int) -> None:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        if not table.numbers_once:
            return  # SQLite continues from the highest number
        # SQLite's own table of counters has no keys.
        connection.execute("DELETE FROM sqlite_sequence WHERE name = :it", {"it": table.name})
        connection.execute(
            "INSERT INTO sqlite_sequence (name, seq) VALUES (:it, :number)", {"it": table.name, "number": number}
        )

    def _enable_write_ahead_log(self, connection: Connection) -> None:
        """Let readers and a writer work at the same time; the file keeps this mode."""
        deadline = time.monotonic() + self._busy_seconds
        while value_of(connection.execute("PRAGMA journal_mode")) != "wal":
            try:
                connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                # Here SQLite does not wait for a writer itself.
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(_RETRY_SECONDS)
            else:
                # A file system without shared memory keeps the old mode, which works.
                break


def _tables_and_views(connection: Connection, prefix: str) -> list[tuple[str, str]]:
    """List names and kinds, views first, because they refer to tables."""
    listed = connection.execute(
        "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') AND substr(name, 1, :length) = :prefix "
        "ORDER BY type DESC, name",
        {"prefix": prefix, "length": len(prefix)},
    )
    return listed.fetchall()


def _has_other_type(column: Column) -> str:
    kinds = _STORED_AS.get(column.type, "'integer'")
    return f"""typeof("{column.name}") NOT IN ({kinds}{"" if column.is_required else ", 'null'"})"""
