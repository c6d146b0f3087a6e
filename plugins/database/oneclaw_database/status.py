"""The tables of a database and the number of their rows, for commands that look at whole databases."""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oneclaw_core.sessions import TABLES, explaining

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneclaw_core.sessions import Backend, Connection, Table

# What belongs to one database alone.
_OWN_TABLES = frozenset({"schema_version", "search_state", "plugin_schemas"})
STORED_TABLES = tuple(table for table in TABLES if table.name not in _OWN_TABLES)
"""The tables with what users have stored, each after those that it refers to."""


@dataclass(frozen=True, slots=True)
class DatabaseStatus:
    """The content of a database.

    Attributes:
        name: as messages show it, without user and password.
        version: of its schema.
        rows: how many rows each table has.
    """

    name: str
    version: int
    rows: dict[str, int]


def migrate(backend: Backend) -> DatabaseStatus:
    """Create a database, or migrate it to the current schema, and count its rows.

    Raises:
        StoreError: it cannot be used.
    """
    with prepared(backend):
        pass
    return status(backend)


def status(backend: Backend) -> DatabaseStatus:
    """Count the rows of a database without changing it.

    Raises:
        StoreVersionError: it has an older schema.
        StoreError: it cannot be used.
    """
    with explaining(backend), closing(backend.prepare_read_only()) as connection, connection.transaction(writes=False):
        rows = {table.name: count_rows(connection, table) for table in STORED_TABLES}
        return DatabaseStatus(backend.name, backend.version(connection), rows)


def count_rows(connection: Connection, table: Table) -> int:
    """Count the rows of a table."""
    return int(connection.execute(f"SELECT count(*) FROM {table.name}").fetchone()[0])


@contextmanager
def prepared(backend: Backend) -> Iterator[Connection]:
    """Connect to a database for the length of a block; it is created, or brought to the current schema, if need be.

    Raises:
        StoreError: it cannot be used.
    """
    with explaining(backend):
        connection = backend.prepare()
    with closing(connection):
        yield connection
