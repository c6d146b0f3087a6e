"""Noticing a plugin's statements that reach for other tables than its own, by the locks of its transaction.

Every statement locks the tables that it uses until its transaction ends. So a look at these locks before the commit
tells which they were; a transaction that used another table is undone. It guards against slips, not against malice: the
statements run as the user of OneClaw's database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg

from oneclaw_core.sessions.connection import NO_PARAMETERS, value_of
from oneclaw_core.sessions.postgres_address import SCHEMA
from oneclaw_core.sessions.postgres_connection import PostgresConnection
from oneclaw_core.sessions.sqlite_confinement import faulty_statement, out_of_bounds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_core.sessions.connection import Cursor
    from oneclaw_core.sessions.postgres_address import PostgresAddress

_FOREIGN_TABLE = f"""
    SELECT relname FROM pg_locks JOIN pg_class ON pg_class.oid = pg_locks.relation
    WHERE pid = pg_backend_pid() AND relnamespace = '{SCHEMA}'::regnamespace
          AND NOT starts_with(relname, :prefix) AND relname NOT IN ('plugin_schemas', 'plugin_schemas_pkey')
    ORDER BY relkind DESC, relname LIMIT 1"""


class ConfinedPostgresConnection(PostgresConnection):
    """A connection whose transactions are undone if they use a table whose name does not begin with a prefix."""

    def __init__(self, address: PostgresAddress, busy_seconds: float, prefix: str) -> None:
        super().__init__(address, busy_seconds)
        self._prefix = prefix

    def execute(self, sql: str, parameters: Mapping[str, Any] = NO_PARAMETERS) -> Cursor:
        """See :class:`~oneclaw_core.sessions.connection.Connection`."""
        try:
            return super().execute(sql, parameters)
        except psycopg.ProgrammingError as error:
            # Unlike in the store's own statements, a table that is missing is no sign of damage.
            raise faulty_statement(error.diag.message_primary or "") from error

    def execute_many(self, sql: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """See :class:`~oneclaw_core.sessions.connection.Connection`."""
        try:
            super().execute_many(sql, rows)
        except psycopg.ProgrammingError as error:
            raise faulty_statement(error.diag.message_primary or "") from error

    def commit(self) -> None:
        """See :class:`~oneclaw_core.sessions.connection.Connection`.

        Raises:
            StoreError: a table was used that is not the plugin's.
        """
        foreign = value_of(self.execute(_FOREIGN_TABLE, {"prefix": self._prefix}))
        if foreign is not None:
            raise out_of_bounds(foreign, self._prefix)
        super().commit()
