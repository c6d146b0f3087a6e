"""The tables of the database with their columns and indexes, from the program's own description of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_postgres.connection import POSTGRESQL

from oneclaw_core.sessions.schema import TABLES
from oneclaw_core.sessions.sqlite_connection import SQLITE
from parts._markdown import code, table, text

if TYPE_CHECKING:
    from oneclaw_core.sessions.schema import Column, Index, Table

_MEANINGS = {
    "schema_version": "The version of these tables; one row.",
    "sessions": "A row for each session.",
    "messages": "The history of all sessions: what users and models said, each tool call and each result.",
    "attachments": "Files that go with a message, in the order of their position.",
    "usage": "A row for each request to a model: what it took, what it cost, and what it began with.",
    "grants": "What the user decided for a permission, and what that holds for.",
    "permission_log": "What was asked or decided about permissions, newest last.",
    "written_files": "Files that tools wrote, in conversations with text from outside or private data.",
    "settings": "What the user has set, and what belongs to it: providers, models, what was learned of them.",
    "tool_states": "Which tools and groups the user has switched off or on.",
    "search_state": "How far the full-text index reaches; one row.",
    "agents": "A row for each agent that the user or a model has made.",
    "script_calls": "The journal of scripts: their calls, and the scripts themselves.",
    "plugin_values": "Values that plugins store by keys, as JSON.",
    "plugin_schemas": "The version of each plugin's tables.",
}


def markdown(arguments: list[str], lines: list[str]) -> str:
    """A heading for each table."""
    pieces = []
    for each in TABLES:
        rows = [
            (
                code(column.name),
                SQLITE.types[column.type],
                POSTGRESQL.types[column.type].replace(' COLLATE "C"', ""),
                _rule(each, column),
                text(column.remark),
            )
            for column in each.columns
        ]
        pieces += [f"### {each.name}\n", _MEANINGS[each.name] + "\n"]
        pieces.append(table(["column", "SQLite", "PostgreSQL", "rule", "remark"], rows))
        pieces += [f"- {_index(index)}" for index in sorted(each.indexes, key=lambda index: index.name)]
        pieces.append("")
    return "\n".join(pieces)


def _rule(of_table: Table, column: Column) -> str:
    is_key = column.name in of_table.primary_key
    rules = ["primary key"] if is_key else ["not null"] if column.is_required else []
    rules += ["unique"] if column.is_unique else []
    if column.references is not None:
        rules.append(f"refers to {code(column.references)}, on delete {column.on_delete.lower()}")
    return ", ".join(rules)


def _index(index: Index) -> str:
    columns = ", ".join(map(code, index.columns))
    what = "unique index" if index.is_unique else "index"
    return f"{what} {code(index.name)} on {columns}" + (f", where {code(index.where)}" if index.where else "")
