"""SQLite: one file, one thread, one writer at a time."""

from __future__ import annotations

import sqlite3
import time
from typing import TYPE_CHECKING

from oneclaw_core.errors import StoreError
from oneclaw_core.sessions.connection import value_of
from oneclaw_core.sessions.sqlite_connection import SqliteConnection
from oneclaw_core.sessions.sqlite_file import APPLICATION_ID, DRIVER_ERRORS, create_file, explained, stored_version

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from oneclaw_core.sessions.connection import Connection
    from oneclaw_core.sessions.session_locks import SessionLocks
    from oneclaw_core.sessions.tables import Table

_RETRY_SECONDS = 0.02


class SqliteBackend:
    """A SQLite file."""

    # It allows one writer at a time anyway, and readers of the same process wait their turn cheaply.
    threads = 1
    driver_errors = DRIVER_ERRORS

    def __init__(self, path: Path, busy_seconds: float, prefix: str | None = None) -> None:
        self.path = path
        self.name = str(path)
        self._busy_seconds = busy_seconds
        self._prefix = prefix

    def connect(self) -> Connection:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        if self._prefix is None:
            return SqliteConnection(self.path, self._busy_seconds)
        from oneclaw_core.sessions.sqlite_confinement import ConfinedSqliteConnection

        return ConfinedSqliteConnection(self.path, self._busy_seconds, self._prefix)

    def connect_to_read(self) -> Connection | None:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        try:
            if not self.path.exists():
                return None
        except OSError as error:
            raise StoreError(
                f"the database {self.path} cannot be read ({error.strerror}): let this user read its directory"
            ) from error
        return SqliteConnection(self.path, self._busy_seconds, is_read_only=True)

    def prepare(self) -> Connection:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        from oneclaw_core.sessions.migrations import bring_up_to_date

        create_file(self.path)
        connection = SqliteConnection(self.path, self._busy_seconds)
        try:
            # First of all a look whose file it is: another program's is not to be changed in any way.
            bring_up_to_date(connection, self)
            self._write_ahead(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def version(self, connection: Connection, known_version: int) -> int:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        return stored_version(connection.execute, self.path, known_version)

    def begin_migration(self, connection: Connection) -> None:
        """Do nothing: a transaction that writes is the only one."""

    def finish_creation(self, connection: Connection) -> None:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")

    def session_locks(self, directory: Path) -> SessionLocks:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        from oneclaw_core.sessions.session_locks import FileLocks

        return FileLocks(directory)

    def explained(self, error: BaseException | None) -> StoreError:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        return explained(error, self.path)

    def is_worth_another_try(self, error: BaseException | None) -> bool:
        """Return False: SQLite has waited already."""
        return False

    def holds_wrong_values(self, connection: Connection) -> bool:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        from oneclaw_core.sessions.sqlite_values import holds_wrong_values

        return self._prefix is None and holds_wrong_values(connection)

    def take_time(self, connection: Connection) -> None:
        """Do nothing: statements have no time limit."""

    def keep_writers_out(self, connection: Connection, tables: Sequence[str]) -> None:
        """Do nothing: a transaction that writes is the only one."""

    def confined_to(self, prefix: str) -> SqliteBackend:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        return SqliteBackend(self.path, self._busy_seconds, prefix)

    def plugin_url(self, plugin: str) -> str:
        """Name a file beside the database."""
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
        """Read the number from SQLite's own table, which has those that are never given twice."""
        found = value_of(connection.execute("SELECT seq FROM sqlite_sequence WHERE name = :it", {"it": table.name}))
        return int(found or 0)

    def set_last_number(self, connection: Connection, table: Table, number: int) -> None:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        if not table.numbers_once:
            return  # SQLite goes on from the highest number
        # SQLite's own table of counters knows no keys.
        connection.execute("DELETE FROM sqlite_sequence WHERE name = :it", {"it": table.name})
        connection.execute(
            "INSERT INTO sqlite_sequence (name, seq) VALUES (:it, :number)", {"it": table.name, "number": number}
        )

    def _write_ahead(self, connection: SqliteConnection) -> None:
        """Let readers and a writer work at the same time; lasting, so that later openings find it done."""
        deadline = time.monotonic() + self._busy_seconds
        driver = connection.driver
        while driver.execute("PRAGMA journal_mode").fetchone() != ("wal",):
            try:
                driver.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                # SQLite does not wait for a writer here by itself.
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(_RETRY_SECONDS)
            else:
                # Where the file system knows no shared memory, the old way stays, and works.
                break


def _tables_and_views(connection: Connection, prefix: str) -> list[tuple[str, str]]:
    """List names and kinds, views first: they refer to tables."""
    listed = connection.execute(
        "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') AND substr(name, 1, :length) = :prefix "
        "ORDER BY type DESC, name",
        {"prefix": prefix, "length": len(prefix)},
    )
    return listed.fetchall()
