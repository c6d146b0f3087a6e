"""PostgreSQL: several threads with a connection each, so that sessions run in parallel.

A transaction that reads sees one state throughout (``REPEATABLE READ``). One that writes sees what others have stored
before each of its statements (``READ COMMITTED``), and locks what it is about: the row of a session, or a topic by
:meth:`~oneclaw_core.store.connection.Connection.lock`. ``SERIALIZABLE`` would need none of that, but would undo the
work of sessions that have nothing to do with each other, since their rows share pages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg

from oneclaw_core.store.connection import value_of
from oneclaw_core.store.postgres_address import SCHEMA, stored_version
from oneclaw_core.store.postgres_connection import PostgresConnection, StaleConnectionError
from oneclaw_core.store.postgres_errors import explained, is_transient

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from oneclaw_core.errors import StoreError
    from oneclaw_core.store.connection import Connection
    from oneclaw_core.store.postgres_address import PostgresAddress
    from oneclaw_core.store.session_locks import SessionLocks
    from oneclaw_core.store.tables import Table

THREADS = 8

_COUNTER = "pg_get_serial_sequence(:table, :column)"


class PostgresBackend:
    """A database on a PostgreSQL server."""

    threads = THREADS
    driver_errors: tuple[type[Exception], ...] = (psycopg.Error, StaleConnectionError)

    def __init__(self, address: PostgresAddress, busy_seconds: float) -> None:
        self.address = address
        self.name = address.name
        self._busy_seconds = busy_seconds

    def connect(self) -> Connection:
        """See :class:`~oneclaw_core.store.backend.Backend`."""
        return PostgresConnection(self.address, self._busy_seconds)

    def connect_to_read(self) -> Connection | None:
        """See :class:`~oneclaw_core.store.backend.Backend`; there always is a database."""
        return self.connect()

    def prepare(self) -> Connection:
        """See :class:`~oneclaw_core.store.backend.Backend`."""
        from oneclaw_core.store.migrations import bring_up_to_date

        connection = self.connect()
        try:
            bring_up_to_date(connection, self)
        except BaseException:
            connection.close()
            raise
        return connection

    def version(self, connection: Connection, known_version: int) -> int:
        """See :class:`~oneclaw_core.store.backend.Backend`."""
        return stored_version(connection.execute, self.name, known_version)

    def begin_migration(self, connection: Connection) -> None:
        """See :class:`~oneclaw_core.store.backend.Backend`."""
        # However long another process takes, and this one.
        connection.execute("SET LOCAL statement_timeout = 0")
        connection.execute("SET LOCAL lock_timeout = 0")
        connection.lock("migration")
        # "IF NOT EXISTS" would ask for the permission to make one even where there is one.
        if value_of(connection.execute(f"SELECT to_regnamespace('{SCHEMA}')")) is None:
            connection.execute(f"CREATE SCHEMA {SCHEMA}")

    def finish_creation(self, connection: Connection) -> None:
        """Do nothing: there is nothing to add."""

    def session_locks(self, directory: Path) -> SessionLocks:
        """See :class:`~oneclaw_core.store.backend.Backend`."""
        from oneclaw_core.store.postgres_locks import PostgresLocks

        return PostgresLocks(self.address)

    def explained(self, error: BaseException | None) -> StoreError:
        """See :class:`~oneclaw_core.store.backend.Backend`."""
        if isinstance(error, StaleConnectionError):
            error = error.__cause__
        return explained(error, self.name)

    def is_worth_another_try(self, error: BaseException | None) -> bool:
        """See :class:`~oneclaw_core.store.backend.Backend`."""
        return isinstance(error, StaleConnectionError) or is_transient(error)

    def holds_wrong_values(self, connection: Connection) -> bool:
        """Return False: PostgreSQL refuses such values."""
        return False

    def take_time(self, connection: Connection) -> None:
        """See :class:`~oneclaw_core.store.backend.Backend`."""
        for setting in ("statement_timeout", "idle_in_transaction_session_timeout"):
            connection.execute(f"SET LOCAL {setting} = 0")

    def keep_writers_out(self, connection: Connection, tables: Sequence[str]) -> None:
        """See :class:`~oneclaw_core.store.backend.Backend`."""
        connection.execute(f"LOCK TABLE {', '.join(tables)} IN SHARE ROW EXCLUSIVE MODE")

    def last_number(self, connection: Connection, table: Table) -> int:
        """See :class:`~oneclaw_core.store.backend.Backend`."""
        counter = value_of(connection.execute(f"SELECT {_COUNTER}", _place(table)))
        last, is_called = connection.execute(f"SELECT last_value, is_called FROM {counter}").fetchone()
        return int(last) if is_called else 0

    def set_last_number(self, connection: Connection, table: Table, number: int) -> None:
        """See :class:`~oneclaw_core.store.backend.Backend`."""
        connection.execute(f"SELECT setval({_COUNTER}, :number)", {**_place(table), "number": number})


def _place(table: Table) -> dict[str, str]:
    [column] = table.primary_key
    return {"table": table.name, "column": column}
