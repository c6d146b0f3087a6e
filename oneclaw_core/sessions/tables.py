"""The description of tables, and their SQL for each kind of database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from oneclaw_core.sessions.connection import ColumnType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneclaw_core.sessions.connection import Dialect

# Names of columns that are also words of SQL.
_QUOTED = frozenset({"key", "position"})


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        name: as statements write it.
        type: of its values.
        is_required: True if it never holds NULL.
        is_unique: True if no two rows have the same value.
        references: the column that it refers to, as ``table.column``.
        on_delete: what happens to the row when the one that it refers to is deleted.
        remark: for the documentation.
    """

    name: str
    type: ColumnType = ColumnType.TEXT
    is_required: bool = False
    is_unique: bool = False
    references: str | None = None
    on_delete: str = "CASCADE"
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Index:
    """An index.

    Attributes:
        name: unique in the database.
        columns: by their names.
        where: the condition of a partial index.
        is_unique: True if no two rows have the same values.
    """

    name: str
    columns: tuple[str, ...]
    where: str | None = None
    is_unique: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        name: as statements write it.
        columns: in their order.
        primary_key: names of columns; empty for a table without one.
        indexes: beside those of the primary key and of unique columns.
        numbers_once: True if a row number is never given twice, not even after the newest row is deleted.
    """

    name: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    indexes: tuple[Index, ...] = ()
    numbers_once: bool = False


def creation(table: Table, dialect: Dialect) -> Iterator[str]:
    """Return the statements that create a table and its indexes."""
    number_once = dialect.number_once if table.numbers_once else None
    lines = [_column(each, dialect, number_once) for each in table.columns]
    if table.primary_key and number_once is None:
        lines.append(f"PRIMARY KEY ({_names(table.primary_key)})")
    lines += [f"UNIQUE ({quoted(each.name)})" for each in table.columns if each.is_unique]
    lines += [_foreign_key(each) for each in table.columns if each.references]
    yield f"CREATE TABLE {table.name} (\n    " + ",\n    ".join(lines) + "\n)"
    for index in table.indexes:
        unique = "UNIQUE " if index.is_unique else ""
        where = f" WHERE {index.where}" if index.where else ""
        yield f"CREATE {unique}INDEX {index.name} ON {table.name} ({_names(index.columns)}){where}"


def quoted(name: str) -> str:
    """Return the name of a column, quoted if it is a word of SQL."""
    return f'"{name}"' if name in _QUOTED else name


def _column(column: Column, dialect: Dialect, number_once: str | None) -> str:
    words = [quoted(column.name), dialect.types[column.type]]
    if column.is_required:
        words.append("NOT NULL")
    if column.type is ColumnType.ROW_NUMBER and number_once is not None:
        words.append(number_once)
    return " ".join(words)


def _foreign_key(column: Column) -> str:
    table, _, referenced = (column.references or "").partition(".")
    return f"FOREIGN KEY ({column.name}) REFERENCES {table} ({referenced}) ON DELETE {column.on_delete}"


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(map(quoted, names))
