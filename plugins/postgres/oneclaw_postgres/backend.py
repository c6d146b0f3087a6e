"""The backend of PostgreSQL: several threads with a connection each, so that sessions run in parallel.

A transaction that reads sees one state throughout (``REPEATABLE READ``). One that writes sees what others committed
before each of its statements (``READ COMMITTED``), and takes a lock: on the row of a session, or on a topic by
:meth:`~oneclaw_core.sessions.Connection.lock`. ``SERIALIZABLE`` would need no locks, but would roll back transactions
of unrelated sessions, whose rows share pages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg

from oneclaw_core.sessions import Backend, Inspection, StoreDamagedError
from oneclaw_postgres.address import SCHEMA, damaged, parse
from oneclaw_postgres.connection import ConfinedPostgresConnection, PostgresConnection, StaleConnectionError
from oneclaw_postgres.errors import explain, is_transient

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from oneclaw_core import StoreError
    from oneclaw_core.sessions import Connection, SessionLocks, Table
    from oneclaw_postgres.address import PostgresAddress

BUSY_SECONDS = 10.0
_THREADS = 8
_TELLING_TABLES = frozenset({"schema_version", "sessions", "messages"})

_VIEWS = f"SELECT viewname FROM pg_views WHERE schemaname = '{SCHEMA}' AND starts_with(viewname, :prefix)"
_TABLES_AND_VIEWS = f"""
    SELECT tablename FROM pg_tables WHERE schemaname = '{SCHEMA}' AND starts_with(tablename, :prefix)
    UNION ALL {_VIEWS} ORDER BY 1"""
_COUNTER = "pg_get_serial_sequence(:table, :column)"
_STATE = """
    SELECT current_setting('server_version'),
           coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false),
           pg_database_size(current_database()), current_setting('server_encoding')"""


def open_backend(url: str) -> PostgresBackend:
    """Return the backend for a URL; the target of ``register_stores``.

    Raises:
        StoreError: as for :func:`~oneclaw_postgres.address.parse`.
    """
    return PostgresBackend(parse(url))


class PostgresBackend(Backend):
    """A database on a PostgreSQL server.

    Args:
        address: of the database.
        busy_seconds: how long a statement waits for the locks of others.
        prefix: of the only tables that statements reach; ``None`` for all tables.
    """

    threads = _THREADS
    driver_errors: tuple[type[Exception], ...] = (psycopg.Error, StaleConnectionError)

    def __init__(self, address: PostgresAddress, busy_seconds: float = BUSY_SECONDS, prefix: str | None = None) -> None:
        self.address = address
        self.name = address.name
        self.url = address.url
        self._busy_seconds = busy_seconds
        self._prefix = prefix

    def connect(self) -> Connection:
        """See :class:`~oneclaw_core.sessions.Backend`."""
        if self._prefix is None:
            return PostgresConnection(self.address, self._busy_seconds)
        return ConfinedPostgresConnection(self.address, self._busy_seconds, self._prefix)

    def has_tables(self, connection: Connection) -> bool:
        """See :class:`~oneclaw_core.sessions.Backend`."""
        found = connection.execute(f"SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = '{SCHEMA}'")
        tables = {table for (table,) in found}
        if tables >= _TELLING_TABLES:
            return True
        if tables & _TELLING_TABLES:
            raise self.damaged()
        if tables:
            raise StoreDamagedError(
                f"the schema {SCHEMA!r} of {self.name} belongs to another program and is left untouched: "
                "choose another database for OneClaw's"
            )
        return False

    def begin_migration(self, connection: Connection) -> None:
        """See :class:`~oneclaw_core.sessions.Backend`."""
        # Another process, and this one, may take long.
        connection.execute("SET LOCAL statement_timeout = 0")
        connection.execute("SET LOCAL lock_timeout = 0")
        connection.lock("migration")
        # "IF NOT EXISTS" would need the permission to create a schema even where it exists.
        if _value(connection, f"SELECT to_regnamespace('{SCHEMA}')") is None:
            connection.execute(f"CREATE SCHEMA {SCHEMA}")

    def session_locks(self, directory: Path) -> SessionLocks:
        """See :class:`~oneclaw_core.sessions.Backend`."""
        from oneclaw_postgres.locks import PostgresLocks

        return PostgresLocks(self.address)

    def is_transient(self, error: BaseException | None) -> bool:
        """See :class:`~oneclaw_core.sessions.Backend`."""
        return isinstance(error, StaleConnectionError) or is_transient(error)

    def lift_time_limits(self, connection: Connection) -> None:
        """See :class:`~oneclaw_core.sessions.Backend`."""
        for setting in ("statement_timeout", "idle_in_transaction_session_timeout"):
            connection.execute(f"SET LOCAL {setting} = 0")

    def lock_tables(self, connection: Connection, tables: Sequence[str]) -> None:
        """See :class:`~oneclaw_core.sessions.Backend`."""
        connection.execute(f"LOCK TABLE {', '.join(tables)} IN SHARE ROW EXCLUSIVE MODE")

    def explain(self, error: BaseException | None) -> StoreError:
        """See :class:`~oneclaw_core.sessions.Backend`."""
        if isinstance(error, StaleConnectionError):
            error = error.__cause__
        return explain(error, self.name)

    def damaged(self) -> StoreDamagedError:
        """See :class:`~oneclaw_core.sessions.Backend`."""
        return damaged(self.name)

    def inspect(self, connection: Connection) -> Inspection:
        """See :class:`~oneclaw_core.sessions.Backend`."""
        version = self.version(connection)
        [[server, is_encrypted, size_bytes, encoding]] = connection.execute(_STATE)
        about = f"{self.name}, PostgreSQL {server}, {'TLS' if is_encrypted else 'no TLS'}, {size_bytes / 1e6:.1f} MB"
        if encoding != "UTF8":
            message = f"{about}: its encoding is {encoding}, which cannot hold every text"
            return Inspection(message, "make the database anew with ENCODING 'UTF8'")
        if version == 0:
            return Inspection(f"{about}; the tables are made when something is stored")
        return Inspection(f"{about}, schema {version}")

    def confined_to(self, prefix: str) -> PostgresBackend:
        """See :class:`~oneclaw_core.sessions.Backend`."""
        return PostgresBackend(self.address, self._busy_seconds, prefix)

    def tables_of(self, connection: Connection, prefix: str) -> list[str]:
        """See :class:`~oneclaw_core.sessions.Backend`."""
        return [name for (name,) in connection.execute(_TABLES_AND_VIEWS, {"prefix": prefix})]

    def drop_tables(self, connection: Connection, prefix: str) -> list[str]:
        """See :class:`~oneclaw_core.sessions.Backend`."""
        found = self.tables_of(connection, prefix)
        views = {name for (name,) in connection.execute(f"{_VIEWS} ORDER BY 1", {"prefix": prefix})}
        for kind, names in (("VIEW", views), ("TABLE", set(found) - views)):
            if names:
                quoted = ", ".join(f'"{name}"' for name in sorted(names))
                connection.execute(f"DROP {kind} {quoted} CASCADE")
        return found

    def last_number(self, connection: Connection, table: Table) -> int:
        """See :class:`~oneclaw_core.sessions.Backend`."""
        counter = _value(connection, f"SELECT {_COUNTER}", _place(table))
        last, is_called = connection.execute(f"SELECT last_value, is_called FROM {counter}").fetchone()
        return int(last) if is_called else 0

    def set_last_number(self, connection: Connection, table: Table, number: int) -> None:
        """See :class:`~oneclaw_core.sessions.Backend`."""
        connection.execute(f"SELECT setval({_COUNTER}, :number)", {**_place(table), "number": number})


def _place(table: Table) -> dict[str, str]:
    [column] = table.primary_key
    return {"table": table.name, "column": column}


def _value(connection: Connection, query: str, parameters: dict[str, Any] | None = None) -> Any:
    [value] = connection.execute(query, parameters or {}).fetchone()
    return value
