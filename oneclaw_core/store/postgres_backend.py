"""PostgreSQL through SQLAlchemy: several threads with a connection each, so that sessions run in parallel.

A transaction that reads sees one state throughout (``REPEATABLE READ``). One that writes sees what others have stored
before each of its statements (``READ COMMITTED``), and locks what it is about: the row of a session, or one of the
locks of :mod:`oneclaw_core.store.write_locks`. ``SERIALIZABLE`` would need none of that, but would undo the work of
sessions that have nothing to do with each other, since their rows share pages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
from sqlalchemy import create_engine, event

from oneclaw_core.store.backend import LOCKS
from oneclaw_core.store.migrations import bring_up_to_date
from oneclaw_core.store.postgres_address import SCHEMA, connect, lock_key, stored_version
from oneclaw_core.store.postgres_errors import explained, is_transient
from oneclaw_core.store.postgres_locks import PostgresLocks
from oneclaw_core.store.schema import METADATA

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sqlalchemy import Connection, Engine

    from oneclaw_core.errors import StoreError
    from oneclaw_core.store.postgres_address import PostgresAddress
    from oneclaw_core.store.session_locks import SessionLocks

THREADS = 8

# The conditions of partial indexes, which the schema names for SQLite alone.
for _index in (each for table in METADATA.tables.values() for each in table.indexes):
    _index.dialect_kwargs["postgresql_where"] = _index.dialect_options["sqlite"]["where"]


class _StaleConnectionError(Exception):
    """A connection was gone before its transaction began: the server was restarted, or ended it."""


class PostgresBackend:
    """A database on a PostgreSQL server."""

    threads = THREADS
    driver_errors: tuple[type[Exception], ...] = (psycopg.Error, _StaleConnectionError)

    def __init__(self, address: PostgresAddress, busy_seconds: float) -> None:
        self.address = address
        self.name = address.name
        self._busy_seconds = busy_seconds

    def make_engine(self, threads: int) -> Engine:
        """See :class:`~oneclaw_core.store.backend.Backend`."""
        engine = create_engine(
            # The URL with the password stays out of SQLAlchemy, which might show it.
            "postgresql+psycopg://",
            creator=lambda: connect(self.address, self._busy_seconds),
            pool_size=threads,
            max_overflow=0,
            use_native_hstore=False,
            # An error's text must not carry what people wrote.
            hide_parameters=True,
        )

        # The driver begins no transactions ("autocommit"), so that a transaction's kind is told as it begins.
        @event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            locks = connection.get_execution_options().get("oneclaw_locks")
            driver: Any = connection.connection.driver_connection
            try:
                driver.execute("BEGIN" if locks else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            except psycopg.OperationalError as error:
                if driver.closed:
                    connection.invalidate()
                    raise _StaleConnectionError from error
                raise

        return engine

    def prepare(self, reading: Engine) -> None:
        """See :class:`~oneclaw_core.store.backend.Backend`."""
        bring_up_to_date(reading, reading.execution_options(**LOCKS), self)

    def version(self, connection: Connection, known_version: int) -> int:
        """See :class:`~oneclaw_core.store.backend.Backend`."""

        def query(statement: str) -> Sequence[Sequence[Any]]:
            return connection.exec_driver_sql(statement).all()

        return stored_version(query, self.name, known_version)

    def begin_migration(self, connection: Connection) -> None:
        """See :class:`~oneclaw_core.store.backend.Backend`."""
        # However long another process takes, and this one.
        connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
        connection.exec_driver_sql("SET LOCAL lock_timeout = 0")
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%s::bigint)", (lock_key("migration"),))
        # "IF NOT EXISTS" would ask for the permission to make one even where there is one.
        if connection.exec_driver_sql(f"SELECT to_regnamespace('{SCHEMA}')").scalar_one() is None:
            connection.exec_driver_sql(f"CREATE SCHEMA {SCHEMA}")

    def finish_creation(self, connection: Connection) -> None:
        """Nothing to add."""

    def session_locks(self, directory: Path) -> SessionLocks:
        """See :class:`~oneclaw_core.store.backend.Backend`."""
        return PostgresLocks(self.address)

    def explained(self, error: BaseException | None) -> StoreError:
        """See :class:`~oneclaw_core.store.backend.Backend`."""
        if isinstance(error, _StaleConnectionError):
            error = error.__cause__
        return explained(error, self.name)

    def is_worth_another_try(self, error: BaseException | None) -> bool:
        """See :class:`~oneclaw_core.store.backend.Backend`."""
        return isinstance(error, _StaleConnectionError) or is_transient(error)

    def holds_wrong_values(self, reading: Engine) -> bool:
        """Never: PostgreSQL refuses them."""
        return False
