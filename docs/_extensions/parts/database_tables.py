"""The tables of the database with their columns and indexes, from the program's own description of them."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

from oneclaw_core.store import schema
from parts._markdown import code, table, text

if TYPE_CHECKING:
    from sqlalchemy import Column, Index

_MEANINGS = {
    "schema_version": "The version of these tables; one row.",
    "sessions": "A row for each session.",
    "messages": "The history of all sessions: what users and models said, each tool call and each result.",
    "attachments": "Files that go with a message, in the order of their position.",
    "usage": "A row for each request to a model: what it took, what it cost, and what it began with.",
    "permissions": "What the user decided for good, by permission or rule.",
    "settings": "What the user has set, and what belongs to it: providers, models, what was learned of them.",
    "tool_states": "Which tools and groups the user has switched off or on.",
    "search_state": "How far the full-text index reaches; one row.",
    "agents": "A row for each agent that the user or a model has made.",
}
_COMMENTED = re.compile(r'((?:^ +# .*\n)+) +(?:Column|Index)\("(?P<name>\w+)"', re.MULTILINE)


def markdown(arguments: list[str], lines: list[str]) -> str:
    """A heading for each table."""
    # Without the parameters of a type, the dialects are told apart by their names alone.
    from sqlalchemy.dialects import postgresql, sqlite

    dialects = (sqlite.dialect(), postgresql.dialect())  # type: ignore[no-untyped-call]
    remarks = _remarks()
    pieces = []
    for each in schema.METADATA.tables.values():
        rows = [
            (
                code(column.name),
                *(_type(column, dialect) for dialect in dialects),
                _rule(column),
                _remark(column, remarks),
            )
            for column in each.columns
        ]
        pieces += [f"### {each.name}\n", _MEANINGS[each.name] + "\n"]
        pieces.append(table(["column", "SQLite", "PostgreSQL", "rule", "remark"], rows))
        pieces += [f"- {_index(index)}" for index in sorted(each.indexes, key=lambda index: str(index.name))]
        pieces.append("")
    return "\n".join(pieces)


def _remarks() -> dict[tuple[str, str], str]:
    """The comments above columns in the source, by table and column."""
    found = {}
    for part in re.split(r"^(?=\w+ = Table\()", inspect.getsource(schema), flags=re.MULTILINE):
        name = re.match(r'\w+ = Table\(\s*"(\w+)"', part)
        if name is None:
            continue
        for match in _COMMENTED.finditer(part):
            comment = " ".join(line.strip().removeprefix("# ") for line in match[1].splitlines())
            found[name[1], match["name"]] = comment
    return found


def _remark(column: Column[object], remarks: dict[tuple[str, str], str]) -> str:
    return text(remarks.get((column.table.name, column.name), ""))


def _type(column: Column[object], dialect: object) -> str:
    written = column.type.compile(dialect=dialect)  # type: ignore[arg-type]
    return written.replace(' COLLATE "C"', "")


def _rule(column: Column[object]) -> str:
    rules = ["primary key"] if column.primary_key else [] if column.nullable else ["not null"]
    rules += ["unique"] if column.unique else []
    rules += [
        f"refers to {code(key.target_fullname)}, on delete {str(key.ondelete).lower()}" for key in column.foreign_keys
    ]
    return ", ".join(rules)


def _index(index: Index) -> str:
    columns = ", ".join(code(column.name) for column in index.columns)
    where = index.dialect_options["sqlite"]["where"]
    what = "unique index" if index.unique else "index"
    return f"{what} {code(str(index.name))} on {columns}" + (f", where {code(str(where))}" if where is not None else "")
