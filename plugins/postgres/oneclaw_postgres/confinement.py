"""Confine the statements of a plugin to its own tables, by the locks of its transaction.

Every statement locks the tables that it uses until its transaction ends. These locks are read before the commit, and a
transaction that used another table is rolled back. This guards against mistakes, not against malice: the statements run
as the user of OneClaw's database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg

from oneclaw_core.sessions import foreign_table, invalid_statement
from oneclaw_postgres.address import SCHEMA
from oneclaw_postgres.connection import NO_PARAMETERS, PostgresConnection

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_core.sessions import Cursor
    from oneclaw_postgres.address import PostgresAddress

_FOREIGN_TABLE = f"""
    SELECT relname FROM pg_locks JOIN pg_class ON pg_class.oid = pg_locks.relation
    WHERE pid = pg_backend_pid() AND relnamespace = '{SCHEMA}'::regnamespace
          AND NOT starts_with(relname, :prefix) AND relname NOT IN ('plugin_schemas', 'plugin_schemas_pkey')
    ORDER BY relkind DESC, relname LIMIT 1"""


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
