"""SQLite through SQLAlchemy: one file, one thread, one writer at a time."""

from __future__ import annotations

import sqlite3
import time
from typing import TYPE_CHECKING, Any

from sqlalchemy import URL, create_engine, event

from oneclaw_core.store.backend import LOCKS
from oneclaw_core.store.migrations import bring_up_to_date
from oneclaw_core.store.session_locks import FileLocks
from oneclaw_core.store.sqlite_file import APPLICATION_ID, DRIVER_ERRORS, create_file, explained, stored_version
from oneclaw_core.store.sqlite_values import checked_row, holds_wrong_values

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sqlalchemy import Connection, Engine

    from oneclaw_core.errors import StoreError
    from oneclaw_core.store.session_locks import SessionLocks

_RETRY_SECONDS = 0.02


class SqliteBackend:
    """A SQLite file."""

    # It allows one writer at a time anyway, and readers of the same process wait their turn cheaply.
    threads = 1
    driver_errors = DRIVER_ERRORS

    def __init__(self, path: Path, busy_seconds: float) -> None:
        self.path = path
        self.name = str(path)
        self._busy_seconds = busy_seconds

    def make_engine(self, threads: int) -> Engine:
        """See :class:`~oneclaw_core.store.backend.Backend`."""
        return make_engine(self.path, threads, self._busy_seconds)

    def prepare(self, reading: Engine) -> None:
        """See :class:`~oneclaw_core.store.backend.Backend`."""
        create_file(self.path)
        # First of all a look whose file it is: another program's is not to be changed in any way.
        bring_up_to_date(reading, reading.execution_options(**LOCKS), self)
        self._write_ahead(reading)

    def version(self, connection: Connection, known_version: int) -> int:
        """See :class:`~oneclaw_core.store.backend.Backend`."""

        def query(statement: str) -> Sequence[Sequence[Any]]:
            return connection.exec_driver_sql(statement).all()

        return stored_version(query, self.path, known_version)

    def begin_migration(self, connection: Connection) -> None:
        """Nothing to do: a transaction that writes is the only one."""

    def finish_creation(self, connection: Connection) -> None:
        """See :class:`~oneclaw_core.store.backend.Backend`."""
        connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")

    def session_locks(self, directory: Path) -> SessionLocks:
        """See :class:`~oneclaw_core.store.backend.Backend`."""
        return FileLocks(directory)

    def explained(self, error: BaseException | None) -> StoreError:
        """See :class:`~oneclaw_core.store.backend.Backend`."""
        return explained(error, self.path)

    def is_worth_another_try(self, error: BaseException | None) -> bool:
        """Never: SQLite has waited already."""
        return False

    def holds_wrong_values(self, reading: Engine) -> bool:
        """See :class:`~oneclaw_core.store.backend.Backend`."""
        with reading.begin() as connection:
            return holds_wrong_values(connection)

    def _write_ahead(self, reading: Engine) -> None:
        """Let readers and a writer work at the same time; lasting, so that later openings find it done."""
        deadline = time.monotonic() + self._busy_seconds
        connection = reading.raw_connection()
        try:
            cursor = connection.cursor()
            while cursor.execute("PRAGMA journal_mode").fetchone() != ("wal",):
                try:
                    cursor.execute("PRAGMA journal_mode = WAL")
                except sqlite3.OperationalError as error:
                    # SQLite does not wait for a writer here by itself.
                    if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                        raise
                    time.sleep(_RETRY_SECONDS)
                else:
                    # Where the file system knows no shared memory, the old way stays, and works.
                    break
            cursor.close()
        finally:
            connection.close()


def make_engine(path: Path, threads: int, busy_seconds: float) -> Engine:
    """Make an engine whose transactions read.

    Those of ``engine.execution_options(**LOCKS)`` may write.
    """
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        connect_args={"timeout": busy_seconds, "isolation_level": None},
        pool_size=threads,
        max_overflow=0,
        # An error's text must not carry what people wrote.
        hide_parameters=True,
    )

    # The driver begins no transactions ("isolation_level": None), as SQLAlchemy's documentation of SQLite advises; a
    # transaction that will write locks at once, for one that starts as a reader cannot always become a writer.
    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        locks = connection.get_execution_options().get("oneclaw_locks")
        # Not by SQLAlchemy, which takes longer than SQLite for this.
        driver = connection.connection.driver_connection
        assert driver is not None
        driver.execute("BEGIN IMMEDIATE" if locks else "BEGIN")

    @event.listens_for(engine, "connect")
    def connect(connection: Any, record: object) -> None:
        connection.row_factory = checked_row
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            # With a write-ahead log a killed process loses nothing, a machine without power its last transactions.
            connection.execute("PRAGMA synchronous = NORMAL")
        except DRIVER_ERRORS:
            # The pool does not know the connection yet and would leave it open.
            connection.close()
            raise

    return engine
