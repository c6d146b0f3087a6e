"""A connection to PostgreSQL, by psycopg."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.pq import TransactionStatus

from oneclaw_core.errors import ConstraintError
from oneclaw_core.sessions.connection import NO_PARAMETERS, ColumnType, Connection, Cursor, Dialect
from oneclaw_core.sessions.placeholders import for_psycopg
from oneclaw_core.sessions.postgres_address import connect, lock_key
from oneclaw_core.sessions.postgres_errors import explained

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from oneclaw_core.sessions.postgres_address import PostgresAddress
    from oneclaw_core.sessions.search_index import SearchIndex

POSTGRESQL = Dialect(
    "postgresql",
    MappingProxyType(
        {
            # Compared character by character, whatever the language of the database.
            ColumnType.TEXT: 'TEXT COLLATE "C"',
            ColumnType.INTEGER: "INTEGER",
            ColumnType.BIG_INTEGER: "BIGINT",
            ColumnType.ROW_NUMBER: "BIGSERIAL",
            ColumnType.FLOAT: "FLOAT",
            ColumnType.BOOLEAN: "BOOLEAN",
            ColumnType.BYTES: "BYTEA",
        }
    ),
    numbered_key="BIGSERIAL PRIMARY KEY",
)


class StaleConnectionError(Exception):
    """A connection was lost before its transaction began: the server was restarted, or ended it."""


class PostgresConnection(Connection):
    """A connection to PostgreSQL.

    Attributes:
        driver: the driver's connection.
    """

    dialect = POSTGRESQL

    def __init__(self, address: PostgresAddress, busy_seconds: float) -> None:
        """Connect to a server, see :func:`oneclaw_core.sessions.postgres_address.connect`."""
        self._name = address.name
        self.driver = connect(address, busy_seconds)

    def execute(self, sql: str, parameters: Mapping[str, Any] = NO_PARAMETERS) -> Cursor:
        """See :class:`~oneclaw_core.sessions.connection.Connection`."""
        query, has_placeholders = for_psycopg(sql)
        try:
            return self.driver.execute(query, parameters if has_placeholders else None)
        except psycopg.IntegrityError as error:
            raise self._refusal(error) from error

    def execute_many(self, sql: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """See :class:`~oneclaw_core.sessions.connection.Connection`."""
        try:
            with self.driver.cursor() as cursor:
                cursor.executemany(for_psycopg(sql)[0], rows)
        except psycopg.IntegrityError as error:
            raise self._refusal(error) from error

    def insert_numbered(self, sql: str, parameters: Mapping[str, Any], column: str) -> int:
        """See :class:`~oneclaw_core.sessions.connection.Connection`."""
        [number] = self.execute(f"{sql} RETURNING {column}", parameters).fetchone()
        return int(number)

    def stream(self, sql: str, size: int) -> Generator[list[Any]]:
        """See :class:`~oneclaw_core.sessions.connection.Connection`."""
        with self.driver.cursor("oneclaw_stream") as cursor:
            cursor.execute(sql.encode())
            while rows := cursor.fetchmany(size):
                yield rows

    def read_locked(self, sql: str, parameters: Mapping[str, Any]) -> Cursor:
        """See :class:`~oneclaw_core.sessions.connection.Connection`."""
        return self.execute(f"{sql} FOR NO KEY UPDATE", parameters)

    def lock(self, topic: str) -> None:
        """See :class:`~oneclaw_core.sessions.connection.Connection`."""
        self.driver.execute("SELECT pg_advisory_xact_lock(%s::bigint)", (lock_key(topic),))

    def try_lock(self, topic: str) -> bool:
        """See :class:`~oneclaw_core.sessions.connection.Connection`."""
        row = self.driver.execute("SELECT pg_try_advisory_xact_lock(%s::bigint)", (lock_key(topic),)).fetchone()
        return row is not None and bool(row[0])

    @property
    def search_index(self) -> SearchIndex:
        """See :class:`~oneclaw_core.sessions.connection.Connection`."""
        from oneclaw_core.sessions.search_postgres import PostgresSearchIndex

        return PostgresSearchIndex(self)

    def begin(self, *, writes: bool) -> None:
        """Begin a transaction.

        One that writes sees before each of its statements what others have stored until then.

        Raises:
            StaleConnectionError: the connection was lost.
        """
        try:
            self.driver.execute("BEGIN" if writes else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        except psycopg.OperationalError as error:
            if self.driver.closed:
                raise StaleConnectionError from error
            raise

    def commit(self) -> None:
        """See :class:`~oneclaw_core.sessions.connection.Connection`."""
        self.driver.execute("COMMIT")

    def rollback(self) -> None:
        """See :class:`~oneclaw_core.sessions.connection.Connection`."""
        if self.driver.info.transaction_status is not TransactionStatus.IDLE:
            self.driver.execute("ROLLBACK")

    def close(self) -> None:
        """See :class:`~oneclaw_core.sessions.connection.Connection`."""
        self.driver.close()

    def _refusal(self, error: psycopg.IntegrityError) -> ConstraintError:
        return ConstraintError(str(explained(error, self._name)), lacks_parent=error.sqlstate == "23503")
