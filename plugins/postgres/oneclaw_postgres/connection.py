"""A connection to PostgreSQL, by psycopg.

A plugin's statements are confined to its own tables by the locks of the transaction: every statement locks the tables
that it uses until its transaction ends. These locks are read before the commit, and a transaction that used another
table is rolled back. This guards against mistakes, not against malice: the statements run as the user of OneClaw's
database.
"""

from __future__ import annotations

from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.pq import TransactionStatus

from oneclaw_core.sessions import (
    SQL_PART,
    ColumnType,
    Connection,
    ConstraintError,
    Cursor,
    Dialect,
    foreign_table,
    invalid_statement,
)
from oneclaw_postgres.address import SCHEMA
from oneclaw_postgres.connecting import connect, lock_key
from oneclaw_postgres.errors import explain

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from oneclaw_core.sessions import SearchIndex
    from oneclaw_postgres.address import PostgresAddress

NO_PARAMETERS: Mapping[str, Any] = MappingProxyType({})
_FOREIGN_TABLE = f"""
    SELECT relname FROM pg_locks JOIN pg_class ON pg_class.oid = pg_locks.relation
    WHERE pid = pg_backend_pid() AND relnamespace = '{SCHEMA}'::regnamespace
          AND NOT starts_with(relname, :prefix) AND relname NOT IN ('plugin_schemas', 'plugin_schemas_pkey')
    ORDER BY relkind DESC, relname LIMIT 1"""

POSTGRESQL = Dialect(
    MappingProxyType(
        {
            # Compared by code points, independent of the locale of the database.
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
    """A connection was lost before its transaction began, as when the server was restarted."""


class PostgresConnection(Connection):
    """A connection to PostgreSQL.

    Attributes:
        driver: the driver's connection.
    """

    dialect = POSTGRESQL

    def __init__(self, address: PostgresAddress, busy_seconds: float) -> None:
        """Connect to a server, see :func:`oneclaw_postgres.connecting.connect`."""
        self._name = address.name
        self.driver = connect(address, busy_seconds)

    def execute(self, sql: str, parameters: Mapping[str, Any] = NO_PARAMETERS) -> Cursor:
        """See :class:`~oneclaw_core.sessions.Connection`."""
        query, has_placeholders = for_psycopg(sql)
        try:
            return self.driver.execute(query, parameters if has_placeholders else None)
        except psycopg.IntegrityError as error:
            raise self._refusal(error) from error

    def execute_many(self, sql: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """See :class:`~oneclaw_core.sessions.Connection`."""
        try:
            with self.driver.cursor() as cursor:
                cursor.executemany(for_psycopg(sql)[0], rows)
        except psycopg.IntegrityError as error:
            raise self._refusal(error) from error

    def insert_numbered(self, sql: str, parameters: Mapping[str, Any], column: str) -> int:
        """See :class:`~oneclaw_core.sessions.Connection`."""
        [number] = self.execute(f"{sql} RETURNING {column}", parameters).fetchone()
        return int(number)

    def stream(self, sql: str, size: int) -> Generator[list[Any]]:
        """See :class:`~oneclaw_core.sessions.Connection`."""
        with self.driver.cursor("oneclaw_stream") as cursor:
            cursor.execute(sql.encode())
            while rows := cursor.fetchmany(size):
                yield rows

    def read_locked(self, sql: str, parameters: Mapping[str, Any]) -> Cursor:
        """See :class:`~oneclaw_core.sessions.Connection`."""
        return self.execute(f"{sql} FOR NO KEY UPDATE", parameters)

    def lock(self, topic: str) -> None:
        """See :class:`~oneclaw_core.sessions.Connection`."""
        self.driver.execute("SELECT pg_advisory_xact_lock(%s::bigint)", (lock_key(topic),))

    def try_lock(self, topic: str) -> bool:
        """Lock a topic unless another transaction has it; return True if it is locked."""
        row = self.driver.execute("SELECT pg_try_advisory_xact_lock(%s::bigint)", (lock_key(topic),)).fetchone()
        return row is not None and bool(row[0])

    @property
    def search_index(self) -> SearchIndex:
        """See :class:`~oneclaw_core.sessions.Connection`."""
        from oneclaw_postgres.search import PostgresSearchIndex

        return PostgresSearchIndex(self)

    def begin(self, *, writes: bool) -> None:
        """Begin a transaction.

        Each statement of one that writes sees what others committed before it.

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
        """See :class:`~oneclaw_core.sessions.Connection`."""
        self.driver.execute("COMMIT")

    def rollback(self) -> None:
        """See :class:`~oneclaw_core.sessions.Connection`."""
        if self.driver.info.transaction_status is not TransactionStatus.IDLE:
            self.driver.execute("ROLLBACK")

    def close(self) -> None:
        """See :class:`~oneclaw_core.sessions.Connection`."""
        self.driver.close()

    def _refusal(self, error: psycopg.IntegrityError) -> ConstraintError:
        return ConstraintError(str(explain(error, self._name)), lacks_parent=error.sqlstate == "23503")


class ConfinedPostgresConnection(PostgresConnection):
    """A connection that rolls back transactions which use a table without a prefix."""

    def __init__(self, address: PostgresAddress, busy_seconds: float, prefix: str) -> None:
        super().__init__(address, busy_seconds)
        self._prefix = prefix

    def execute(self, sql: str, parameters: Mapping[str, Any] = NO_PARAMETERS) -> Cursor:
        """See :class:`~oneclaw_core.sessions.Connection`."""
        try:
            return super().execute(sql, parameters)
        except psycopg.ProgrammingError as error:
            # A missing table is no sign of damage here, unlike in the store's own statements.
            raise invalid_statement(error.diag.message_primary or "") from error

    def execute_many(self, sql: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """See :class:`~oneclaw_core.sessions.Connection`."""
        try:
            super().execute_many(sql, rows)
        except psycopg.ProgrammingError as error:
            raise invalid_statement(error.diag.message_primary or "") from error

    def commit(self) -> None:
        """See :class:`~oneclaw_core.sessions.Connection`.

        Raises:
            StoreError: a table was used that is not the plugin's.
        """
        foreign = self.execute(_FOREIGN_TABLE, {"prefix": self._prefix}).fetchone()
        if foreign is not None:
            raise foreign_table(foreign[0], self._prefix)
        super().commit()


@lru_cache(maxsize=512)
def for_psycopg(sql: str) -> tuple[bytes, bool]:
    """Translate a statement for psycopg.

    Returns:
        The statement, and True if it has placeholders. Without any, psycopg does not parse the text.
    """
    pieces, end, has_placeholders = [], 0, False
    for part in SQL_PART.finditer(sql):
        name = part["name"]
        has_placeholders = has_placeholders or name is not None
        between = sql[end : part.start()].replace("%", "%%")
        pieces += [between, part[0].replace("%", "%%") if name is None else f"%({name})s"]
        end = part.end()
    translated = "".join([*pieces, sql[end:].replace("%", "%%")])
    return (translated if has_placeholders else sql).encode(), has_placeholders
