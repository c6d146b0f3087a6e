"""Create the tables of a database, and migrate those of any older version to the current schema.

The tables, columns and indexes that :mod:`oneclaw_core.sessions.schema` describes and the database lacks are added, so
a change that adds some only raises ``SCHEMA_VERSION``. A change of stored rows is a function here, with its own
statements, that runs for versions below the one that needs it.

Both run in the transaction of :meth:`oneclaw_core.sessions.backend.Backend.bring_up_to_date`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from oneclaw_core.sessions.schema import TABLES, added_column, creation

if TYPE_CHECKING:
    from oneclaw_core.sessions.backend import Connection

_USAGE_OF_VERSION_1 = (
    "id, session_id, provider, model, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, cost, "
    "created_at"
)


def create(connection: Connection) -> None:
    """Create all tables and the full-text index in an empty database."""
    _add_what_is_missing(connection)
    connection.search_index.create_tables()


def migrate(connection: Connection, version: int) -> None:
    """Migrate the tables of an older version of the schema."""
    if version < 2:
        # Usage outlives its session now. SQLite changes no foreign key in place.
        connection.execute("DROP INDEX ix_usage_session_id")
        connection.execute("ALTER TABLE usage RENAME TO usage_of_version_1")
    if version < 9:
        for index in ("one_call_per_id", "one_result_per_call", "sessions_by_parent"):
            connection.execute(f"DROP INDEX IF EXISTS {index}")
    _add_what_is_missing(connection)
    if version < 2:
        connection.execute(
            f"INSERT INTO usage ({_USAGE_OF_VERSION_1}) SELECT {_USAGE_OF_VERSION_1} FROM usage_of_version_1"
        )
        connection.execute("DROP TABLE usage_of_version_1")
    if version < 4:
        connection.search_index.create_tables()
        connection.search_index.index_new()
    if version < 10:
        _convert_grants(connection)
    if version < 13:
        # Earlier results may hold anything.
        connection.execute(
            """UPDATE sessions
            SET marks = '[["outside","results of an earlier version"],["private","results of an earlier version"]]'
            WHERE id IN (SELECT session_id FROM messages WHERE type = 'tool_result')"""
        )
    if version < 14:
        _mark_providers_added_by_tools(connection)


def _add_what_is_missing(connection: Connection) -> None:
    for table in TABLES:
        create_table, *create_indexes = creation(table, connection.dialect)
        connection.execute(create_table)
        present = {name for name, *_ in connection.execute(f"SELECT * FROM {table.name} LIMIT 0").description}
        for column in table.columns:
            if column.name not in present:
                connection.execute(added_column(table, column, connection.dialect))
        for statement in create_indexes:
            connection.execute(statement)


def _convert_grants(connection: Connection) -> None:
    """Convert the decisions on permissions, which had no end and held for everyone."""
    decided: dict[tuple[str, str], tuple[str, int]] = {}
    derived: dict[tuple[str, str], tuple[str, int]] = {}
    for name, decision, updated_at in connection.execute(
        "SELECT name, decision, updated_at FROM permissions"
    ).fetchall():
        permission, _, pattern = name.partition(":")
        decided[permission, pattern] = decision, updated_at
        whole, _, part = permission.rpartition(".")
        if part == "write" and "." in whole:
            # That was everything a service can do: what is granted is now what does no harm, what is denied is all.
            parts = ("organize",) if decision == "grant" else ("organize", "send", "share", "forward", "delete")
            derived |= {(f"{whole}.{each}", pattern): (decision, updated_at) for each in parts}
    # What was decided by name goes before what follows from another decision.
    for (permission, pattern), (decision, updated_at) in {**derived, **decided}.items():
        connection.execute(
            """INSERT INTO grants (permission, pattern, agent, task, directory, decision, source, created_at)
            VALUES (:permission, :pattern, '', '', '', :decision, 'version 0.1', :moment)""",
            {"permission": permission, "pattern": pattern, "decision": decision, "moment": updated_at},
        )
    connection.execute("DROP TABLE permissions")


def _mark_providers_added_by_tools(connection: Connection) -> None:
    """Mark the providers that a tool added, so that they take no key of the environment.

    Who added one was not noted before, but a call that named its address is in the history.
    """
    # A dispatcher or a program may have made the call, and named the tool in its input.
    calls = connection.execute(
        "SELECT tool_input FROM messages WHERE type = 'tool_call' AND "
        "(tool_name IN ('create_provider', 'update_provider') "
        "OR tool_input LIKE '%create_provider%' OR tool_input LIKE '%update_provider%')"
    ).fetchall()
    named = "\n".join(text.replace("\\/", "/") for (text,) in calls if text is not None)
    for key, value in connection.execute("SELECT key, value FROM settings WHERE key LIKE 'provider:%'").fetchall():
        provider = json.loads(value)
        address = provider.get("base_url") if isinstance(provider, dict) else None
        if isinstance(address, str) and "address_set_by_tool" not in provider and address.rstrip("/") in named:
            marked = json.dumps({**provider, "address_set_by_tool": True}, ensure_ascii=False)
            connection.execute("UPDATE settings SET value = :value WHERE key = :key", {"key": key, "value": marked})
