"""Values of a kind that does not belong into their column: SQLite takes them, and a single wrong bit makes some.

Bytes, which a wrong bit makes of a text, are looked for in every row that is read: a text goes anywhere from here.
Everything else is looked for once something has gone wrong, so that it costs nothing as long as nothing does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import StoreDamagedError

if TYPE_CHECKING:
    from sqlite3 import Cursor

    from oneclaw_core.sessions.connection import Connection
    from oneclaw_core.sessions.tables import Column, Table

# The one column of all tables that holds bytes.
_OF_BYTES = "data"


def checked_row(cursor: Cursor, row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Pass a row on as it is, unless it holds bytes where there should be none.

    Raises:
        StoreDamagedError: it does.
    """
    if bytes in map(type, row) and any(
        type(value) is bytes and column[0] != _OF_BYTES for value, column in zip(row, cursor.description, strict=True)
    ):
        raise damaged_value()
    return row


def holds_wrong_values(connection: Connection) -> bool:
    """Return True if any column of the tables holds a value that is not of its kind; looks at every row."""
    from oneclaw_core.sessions.schema import TABLES

    return any(_has_wrong_values(connection, table) for table in TABLES)


def damaged_value() -> StoreDamagedError:
    """Make the error for a wrong value."""
    return StoreDamagedError("the database holds a damaged value: put a backup copy in its place")


def _has_wrong_values(connection: Connection, table: Table) -> bool:
    faults = " OR ".join(map(_fault, table.columns))
    statement = f'SELECT 1 FROM "{table.name}" WHERE {faults} LIMIT 1'
    return connection.execute(statement).fetchone() is not None


def _fault(column: Column) -> str:
    from oneclaw_core.sessions.connection import ColumnType

    match column.type:
        case ColumnType.INTEGER | ColumnType.BIG_INTEGER | ColumnType.ROW_NUMBER | ColumnType.BOOLEAN:
            kinds = "'integer'"
        case ColumnType.FLOAT:
            kinds = "'real', 'integer'"
        case ColumnType.BYTES:
            kinds = "'blob'"
        case ColumnType.TEXT:
            kinds = "'text'"
    return f"""typeof("{column.name}") NOT IN ({kinds}{"" if column.is_required else ", 'null'"})"""
