"""Detect values whose type is not that of their column: SQLite accepts them, and a flipped bit creates some.

A flipped bit can turn a text into bytes, so every row that is read is checked for bytes. Other types are checked only
after an error, when the cost does not matter.
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
    """Return a row unchanged if it holds no bytes outside the column for bytes.

    Raises:
        StoreDamagedError: it holds some.
    """
    if bytes in map(type, row) and any(
        type(value) is bytes and column[0] != _OF_BYTES for value, column in zip(row, cursor.description, strict=True)
    ):
        raise damaged_value()
    return row


def has_invalid_values(connection: Connection) -> bool:
    """Return True if a column holds a value of another type; reads all rows."""
    from oneclaw_core.sessions.schema import TABLES

    return any(_table_has_invalid_values(connection, table) for table in TABLES)


def damaged_value() -> StoreDamagedError:
    """Return the error for a value of the wrong type."""
    return StoreDamagedError("the database holds a damaged value: put a backup copy in its place")


def _table_has_invalid_values(connection: Connection, table: Table) -> bool:
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
