"""Values of a kind that does not belong into their column: SQLite takes them, and a single wrong bit makes some.

Bytes, which a wrong bit makes of a text, are looked for in every row that is read: a text goes anywhere from here.
Everything else is looked for once something has gone wrong, so that it costs nothing as long as nothing does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import StoreDamagedError

if TYPE_CHECKING:
    from sqlite3 import Cursor

    from sqlalchemy import Column, Connection, Table

# The one column of all tables that holds bytes, and what SQLAlchemy may call it in a query.
_OF_BYTES = frozenset({"data", "attachments_data"})


def checked_row(cursor: Cursor, row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Pass a row on as it is, unless it holds bytes where there should be none.

    Raises:
        StoreDamagedError: it does.
    """
    if bytes in map(type, row) and any(
        type(value) is bytes and column[0] not in _OF_BYTES
        for value, column in zip(row, cursor.description, strict=True)
    ):
        raise damaged_value()
    return row


def holds_wrong_values(connection: Connection) -> bool:
    """Whether any column of the tables holds a value that is not of its kind; looks at every row."""
    from oneclaw_core.store.schema import METADATA

    return any(_has_wrong_values(connection, table) for table in METADATA.sorted_tables)


def damaged_value() -> StoreDamagedError:
    """What the user is told of a wrong value."""
    return StoreDamagedError("the database holds a damaged value: put a backup copy in its place")


def _has_wrong_values(connection: Connection, table: Table) -> bool:
    faults = " OR ".join(map(_fault, table.columns))
    statement = f'SELECT 1 FROM "{table.name}" WHERE {faults} LIMIT 1'  # noqa: S608  # the names are our own
    return connection.exec_driver_sql(statement).first() is not None


def _fault(column: Column[Any]) -> str:
    from sqlalchemy import Boolean, Float, Integer, LargeBinary

    match column.type:
        case Integer() | Boolean():
            kinds = "'integer'"
        case Float():
            kinds = "'real', 'integer'"
        case LargeBinary():
            kinds = "'blob'"
        case _:
            kinds = "'text'"
    return f"""typeof("{column.name}") NOT IN ({kinds}{", 'null'" if column.nullable else ""})"""
