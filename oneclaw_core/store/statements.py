"""The statements of every turn, given to the driver as they are.

SQLAlchemy makes a statement into SQL for the kind of database, once. To run it, it takes ten times as long as SQLite:
20 µs against 2, and a turn of two requests has 23 statements. What is rare goes the usual way.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, cast

from sqlalchemy.sql.compiler import SQLCompiler

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection, Dialect, Executable

    _Row = tuple[Any, ...]


class Cursor(Protocol):
    """What a driver gives for a statement, as PEP 249 has it.

    Attributes:
        rowcount: how many rows the statement has changed.
    """

    rowcount: int

    def fetchone(self) -> _Row | None:
        """Read the next row, ``None`` if there is none."""
        ...

    def fetchall(self) -> list[_Row]:
        """Read the rows that are left."""
        ...


def run(connection: Connection, statement: Executable, parameters: Mapping[str, Any] | None = None) -> Cursor:
    """Run a statement whose values need no conversion: numbers and texts.

    What the driver raises is not wrapped: see :class:`oneclaw_core.store.database.Database`.

    Args:
        connection: the transaction.
        statement: a constant of its module, without lists.
        parameters: by the names in the statement, or by the columns to insert.
    """
    values = parameters or {}
    sql, names, fixed = _compiled(statement, connection.dialect, tuple(values))
    if fixed:
        values = {**fixed, **values}
    driver = cast("Any", connection.connection.driver_connection)
    cursor: Cursor = driver.execute(sql, values if names is None else [values[name] for name in names])
    return cursor


def new_number(cursor: Any) -> int:
    """The number that a row got which was just inserted into a table that numbers its rows."""
    # Drivers that know it by themselves give no rows; for the others SQLAlchemy lets the statement return it.
    number: int = cursor.lastrowid if cursor.description is None else cursor.fetchone()[0]
    return number


@lru_cache(maxsize=256)
def _compiled(
    statement: Executable, dialect: Dialect, columns: tuple[str, ...]
) -> tuple[str, Sequence[str] | None, dict[str, Any]]:
    """Make SQL, the names of its values in their order, and those values that are always the same."""
    made = cast("Any", statement).compile(dialect=dialect, column_keys=list(columns))
    assert isinstance(made, SQLCompiler)
    fixed = {name: value for name, value in made.params.items() if name not in columns}
    return str(made), made.positiontup if made.positional else None, fixed
