"""PostgreSQL: several threads with a connection each, so that sessions run in parallel.

A transaction that reads sees one state throughout (``REPEATABLE READ``). One that writes sees what others have stored
before each of its statements (``READ COMMITTED``), and locks what it is about: the row of a session, or a topic by
:meth:`~oneclaw_core.sessions.connection.Connection.lock`. ``SERIALIZABLE`` would need none of that, but would undo the
work of sessions that have nothing to do with each other, since their rows share pages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg

from oneclaw_core.sessions.connection import value_of
from oneclaw_core.sessions.postgres_address import SCHEMA, stored_version
from oneclaw_core.sessions.postgres_connection import PostgresConnection, StaleConnectionError
from oneclaw_core.sessions.postgres_errors import explained, is_transient

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from oneclaw_core.errors import StoreError
    from oneclaw_core.sessions.connection import Connection
    from oneclaw_core.sessions.postgres_address import PostgresAddress
    from oneclaw_core.sessions.session_locks import SessionLocks
    from oneclaw_core.sessions.tables import Table

THREADS = 8

_VIEWS = f"SELECT viewname FROM pg_views WHERE schemaname = '{SCHEMA}' AND starts_with(viewname, :prefix)"
_TABLES_AND_VIEWS = f"""
    SELECT tablename FROM pg_tables WHERE schemaname = '{SCHEMA}' AND starts_with(tablename, :prefix)
    UNION ALL {_VIEWS} ORDER BY 1"""
_COUNTER = "pg_get_serial_sequence(:table, :column)"


class PostgresBackend:
    """A database on a PostgreSQL server."""

    threads = THREADS
    driver_errors: tuple[type[Exception], ...] = (psycopg.Error, StaleConnectionError)

    def __init__(self, address: PostgresAddress, busy_seconds: float, prefix: str | None = None) -> None:
        self.address = address
        self.name = address.name
        self._busy_seconds = busy_seconds
        self._prefix = prefix

    def connect(self) -> Connection:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        if self._prefix is None:
            return PostgresConnection(self.address, self._busy_seconds)
        from oneclaw_core.sessions.postgres_confinement import ConfinedPostgresConnection

        return ConfinedPostgresConnection(self.address, self._busy_seconds, self._prefix)

    def connect_to_read(self) -> Connection | None:
        """See :class:`~oneclaw_core.sessions.backend.Backend`; there always is a database."""
        return self.connect()

    def prepare(self) -> Connection:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        from oneclaw_core.sessions.migrations import bring_up_to_date

        connection = self.connect()
        try:
            bring_up_to_date(connection, self)
        except BaseException:
            connection.close()
            raise
        return connection

    def version(self, connection: Connection, known_version: int) -> int:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        return stored_version(connection.execute, self.name, known_version)

    def begin_migration(self, connection: Connection) -> None:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
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
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        from oneclaw_core.sessions.postgres_locks import PostgresLocks

        return PostgresLocks(self.address)

    def explained(self, error: BaseException | None) -> StoreError:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        if isinstance(error, StaleConnectionError):
            error = error.__cause__
        return explained(error, self.name)

    def is_worth_another_try(self, error: BaseException | None) -> bool:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        return isinstance(error, StaleConnectionError) or is_transient(error)

    def holds_wrong_values(self, connection: Connection) -> bool:
        """Return False: PostgreSQL refuses such values."""
        return False

    def take_time(self, connection: Connection) -> None:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        for setting in ("statement_timeout", "idle_in_transaction_session_timeout"):
            connection.execute(f"SET LOCAL {setting} = 0")

    def keep_writers_out(self, connection: Connection, tables: Sequence[str]) -> None:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        connection.execute(f"LOCK TABLE {', '.join(tables)} IN SHARE ROW EXCLUSIVE MODE")

    def confined_to(self, prefix: str) -> PostgresBackend:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        return PostgresBackend(self.address, self._busy_seconds, prefix)

    def plugin_url(self, plugin: str) -> str:
        """Name the same database."""
        return self.address.url

    def tables_of(self, connection: Connection, prefix: str) -> list[str]:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        return [name for (name,) in connection.execute(_TABLES_AND_VIEWS, {"prefix": prefix})]

    def drop_tables(self, connection: Connection, prefix: str) -> list[str]:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        found = self.tables_of(connection, prefix)
        views = {name for (name,) in connection.execute(f"{_VIEWS} ORDER BY 1", {"prefix": prefix})}
        for kind, names in (("VIEW", views), ("TABLE", set(found) - views)):
            if names:
                quoted = ", ".join(f'"{name}"' for name in sorted(names))
                connection.execute(f"DROP {kind} {quoted} CASCADE")
        return found

    def last_number(self, connection: Connection, table: Table) -> int:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        counter = value_of(connection.execute(f"SELECT {_COUNTER}", _place(table)))
        last, is_called = connection.execute(f"SELECT last_value, is_called FROM {counter}").fetchone()
        return int(last) if is_called else 0

    def set_last_number(self, connection: Connection, table: Table, number: int) -> None:
        """See :class:`~oneclaw_core.sessions.backend.Backend`."""
        connection.execute(f"SELECT setval({_COUNTER}, :number)", {**_place(table), "number": number})


def _place(table: Table) -> dict[str, str]:
    [column] = table.primary_key
    return {"table": table.name, "column": column}
