"""Migrate a database to the current schema.

A new version of the schema is a function at the end of :data:`MIGRATIONS`, the same change in
:mod:`oneclaw_core.sessions.schema`, and ``SCHEMA_VERSION`` raised by one. A migration has its own statements and
never uses the current description of tables, which later versions change.

Every step is one transaction that first reads the version again. So a killed process leaves the version before or
after, and of two processes that open a database at once only one migrates it.

The steps before version 4 are for SQLite alone: PostgreSQL is supported since then.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from oneclaw_core.search.words import index_terms
from oneclaw_core.sessions.connection import ColumnType
from oneclaw_core.sessions.schema import create_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from oneclaw_core.sessions.backend import Backend
    from oneclaw_core.sessions.connection import Connection

    Migration = Callable[[Connection], None]


def _add_attachments_summaries_and_fingerprints(connection: Connection) -> None:
    """Migrate version 1 to version 2, where usage outlives its session."""
    for statement in (
        "ALTER TABLE sessions ADD COLUMN summary TEXT",
        "ALTER TABLE sessions ADD COLUMN summary_until BIGINT",
        "ALTER TABLE messages ADD COLUMN attachment_count INTEGER",
        """CREATE TABLE attachments (
            message_sequence BIGINT NOT NULL,
            position INTEGER NOT NULL,
            name TEXT NOT NULL,
            media_type TEXT NOT NULL,
            data BLOB NOT NULL,
            PRIMARY KEY (message_sequence, position),
            FOREIGN KEY(message_sequence) REFERENCES messages (sequence) ON DELETE CASCADE
        )""",
        # SQLite changes no foreign key in place.
        "DROP INDEX ix_usage_session_id",
        "ALTER TABLE usage RENAME TO usage_of_version_1",
        """CREATE TABLE usage (
            id INTEGER NOT NULL,
            session_id TEXT,
            provider TEXT NOT NULL,
            model TEXT NOT NULL,
            input_tokens BIGINT,
            cached_input_tokens BIGINT,
            cache_write_tokens BIGINT,
            output_tokens BIGINT,
            reasoning_tokens BIGINT,
            cost FLOAT,
            tool_groups TEXT,
            tools_hash TEXT,
            system_hash TEXT,
            history_hash TEXT,
            created_at BIGINT NOT NULL,
            PRIMARY KEY (id),
            FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE SET NULL
        )""",
        """INSERT INTO usage
            (id, session_id, provider, model, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens,
             cost, created_at)
            SELECT id, session_id, provider, model, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens,
             cost, created_at
            FROM usage_of_version_1""",
        "DROP TABLE usage_of_version_1",
        "CREATE INDEX ix_usage_session_id ON usage (session_id)",
        "CREATE INDEX usage_by_time ON usage (created_at, input_tokens, output_tokens, cost)",
    ):
        connection.execute(statement)


def _add_agents_and_parents(connection: Connection) -> None:
    """Migrate version 2 to version 3."""
    for statement in (
        "ALTER TABLE sessions ADD COLUMN parent_id TEXT REFERENCES sessions (id) ON DELETE CASCADE",
        "CREATE INDEX sessions_by_parent ON sessions (parent_id)",
        """CREATE TABLE agents (
            id TEXT NOT NULL,
            name TEXT NOT NULL,
            name_key TEXT NOT NULL,
            description TEXT NOT NULL,
            system_prompt TEXT NOT NULL,
            model TEXT,
            parameters TEXT NOT NULL,
            max_tool_rounds BIGINT,
            turn_max_tokens BIGINT,
            turn_max_cost FLOAT,
            selected_tools TEXT,
            selected_groups TEXT,
            created_at BIGINT NOT NULL,
            updated_at BIGINT NOT NULL,
            PRIMARY KEY (id),
            UNIQUE (name_key)
        )""",
    ):
        connection.execute(statement)


def _add_search_and_memory(connection: Connection) -> None:
    """Migrate version 3 to version 4, with all messages in the full-text index."""
    for statement in (
        "ALTER TABLE sessions ADD COLUMN memory TEXT",
        "ALTER TABLE sessions ADD COLUMN search_number BIGINT",
        "CREATE UNIQUE INDEX sessions_by_search_number ON sessions (search_number)",
        "CREATE TABLE search_state (indexed_until BIGINT NOT NULL)",
        """CREATE VIRTUAL TABLE message_search
            USING fts5(terms, content='', detail=none, columnsize=0, tokenize='ascii')""",
        """CREATE VIRTUAL TABLE session_search
            USING fts5(terms, content='', detail=none, columnsize=0, tokenize='ascii')""",
    ):
        connection.execute(statement)
    until = 0
    next_messages = (
        "SELECT sequence, type, substr(content, 1, 100000) FROM messages WHERE sequence > :until "
        "ORDER BY sequence LIMIT 1000"
    )
    while rows := connection.execute(next_messages, {"until": until}).fetchall():
        entries = [
            {"sequence": sequence, "terms": " ".join(index_terms(content))}
            for sequence, type_, content in rows
            if type_ in ("user", "assistant")
        ]
        if entries:
            connection.execute_many("INSERT INTO message_search (rowid, terms) VALUES (:sequence, :terms)", entries)
        until = rows[-1][0]
    # Titles are few, and are taken in by the first search.
    connection.execute("INSERT INTO search_state (indexed_until) VALUES (:until)", {"until": until})


def _add_lock_token(connection: Connection) -> None:
    """Migrate version 4 to version 5."""
    connection.execute("ALTER TABLE sessions ADD COLUMN lock_token BIGINT")


def _add_plugin_storage(connection: Connection) -> None:
    """Migrate version 5 to version 6."""
    text = connection.dialect.types[ColumnType.TEXT]
    for statement in (
        f"""CREATE TABLE plugin_values (
            plugin {text} NOT NULL,
            namespace {text} NOT NULL,
            key {text} NOT NULL,
            value {text} NOT NULL,
            session_id {text},
            expires_at BIGINT,
            updated_at BIGINT NOT NULL,
            PRIMARY KEY (plugin, namespace, key),
            FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
        )""",
        "CREATE INDEX plugin_values_by_session ON plugin_values (session_id) WHERE session_id IS NOT NULL",
        "CREATE INDEX plugin_values_by_expiry ON plugin_values (plugin, expires_at) WHERE expires_at IS NOT NULL",
        f"""CREATE TABLE plugin_schemas (
            plugin {text} NOT NULL,
            version INTEGER NOT NULL,
            PRIMARY KEY (plugin)
        )""",
    ):
        connection.execute(statement)


def _add_lower_bounds_of_usage(connection: Connection) -> None:
    """Migrate version 6 to version 7."""
    boolean = connection.dialect.types[ColumnType.BOOLEAN]
    connection.execute(f"ALTER TABLE usage ADD COLUMN is_at_least {boolean}")


def _mark_structured_results(connection: Connection) -> None:
    """Migrate version 7 to version 8; models are sent the older results as before."""
    boolean = connection.dialect.types[ColumnType.BOOLEAN]
    connection.execute(f"ALTER TABLE messages ADD COLUMN is_json {boolean}")


def _write_fewer_indexes(connection: Connection) -> None:
    """Migrate version 8 to version 9, where a turn writes to fewer indexes."""
    for statement in (
        """CREATE UNIQUE INDEX calls_and_results ON messages (session_id, tool_call_id, type)
            WHERE type = 'tool_call' OR type = 'tool_result'""",
        "DROP INDEX one_call_per_id",
        "DROP INDEX one_result_per_call",
        "DROP INDEX sessions_by_parent",
        "CREATE INDEX sessions_by_parent ON sessions (parent_id) WHERE parent_id IS NOT NULL",
    ):
        connection.execute(statement)


def _add_grants_and_permission_log(connection: Connection) -> None:
    """Migrate version 9 to version 10, where a decision on a permission says for whom and how long it holds."""
    types = connection.dialect.types
    text, flag, number = types[ColumnType.TEXT], types[ColumnType.BOOLEAN], types[ColumnType.ROW_NUMBER]
    log_id = f"id {number} NOT NULL {connection.dialect.number_once or 'PRIMARY KEY'}"
    for statement in (
        f"""CREATE TABLE grants (
            id {number} NOT NULL,
            permission {text} NOT NULL,
            pattern {text} NOT NULL,
            agent {text} NOT NULL,
            task {text} NOT NULL,
            directory {text} NOT NULL,
            decision {text} NOT NULL,
            expires_at BIGINT,
            source {text} NOT NULL,
            created_at BIGINT NOT NULL,
            last_used_at BIGINT,
            PRIMARY KEY (id)
        )""",
        "CREATE UNIQUE INDEX one_grant ON grants (permission, pattern, agent, task, directory)",
        f"""CREATE TABLE permission_log (
            {log_id},
            permission {text} NOT NULL,
            subject {text},
            detail {text},
            tool_name {text} NOT NULL,
            is_granted {flag} NOT NULL,
            decided_by {text} NOT NULL,
            session_id {text},
            agent {text},
            task {text},
            directory {text},
            at BIGINT NOT NULL
        )""",
    ):
        connection.execute(statement)
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


def _add_prompt_lists(connection: Connection) -> None:
    """Migrate version 10 to version 11; a session keeps the lists that its next turn finds."""
    text = connection.dialect.types[ColumnType.TEXT]
    connection.execute(f"ALTER TABLE sessions ADD COLUMN prompt_lists {text}")


def _mark_incomplete_answers(connection: Connection) -> None:
    """Migrate version 11 to version 12; answers that were stored before count as complete."""
    boolean = connection.dialect.types[ColumnType.BOOLEAN]
    connection.execute(f"ALTER TABLE messages ADD COLUMN is_incomplete {boolean}")


def _add_marks(connection: Connection) -> None:
    """Migrate version 12 to version 13; earlier results may hold anything."""
    types = connection.dialect.types
    text, flag, number = types[ColumnType.TEXT], types[ColumnType.BOOLEAN], types[ColumnType.ROW_NUMBER]
    file_id = f"id {number} NOT NULL {connection.dialect.number_once or 'PRIMARY KEY'}"
    for statement in (
        f"ALTER TABLE messages ADD COLUMN marks {text}",
        f"ALTER TABLE sessions ADD COLUMN marks {text}",
        f"""CREATE TABLE written_files (
            {file_id},
            path {text} NOT NULL,
            is_directory {flag} NOT NULL,
            started_ns BIGINT NOT NULL,
            ended_ns BIGINT NOT NULL,
            marks {text} NOT NULL
        )""",
        "CREATE INDEX written_files_by_path ON written_files (path, is_directory, started_ns)",
        """UPDATE sessions
            SET marks = '[["outside","results of an earlier version"],["private","results of an earlier version"]]'
            WHERE id IN (SELECT session_id FROM messages WHERE type = 'tool_result')""",
    ):
        connection.execute(statement)


def _mark_providers_added_by_tools(connection: Connection) -> None:
    """Migrate version 13 to version 14: a provider that a tool added takes no key of the environment.

    Who added one was not noted before, but a call that named its address is in the history.
    """
    rows = connection.execute("SELECT key, value FROM settings WHERE key LIKE 'provider:%'").fetchall()
    named = None
    for key, value in rows:
        said = json.loads(value)
        if not isinstance(said, dict) or not isinstance(said.get("base_url"), str) or "address_set_by_tool" in said:
            continue
        if named is None:
            # A dispatcher or a program may have made the call, and named the tool in its input.
            calls = connection.execute(
                "SELECT tool_input FROM messages WHERE type = 'tool_call' AND "
                "(tool_name IN ('create_provider', 'update_provider') "
                "OR tool_input LIKE '%create_provider%' OR tool_input LIKE '%update_provider%')"
            ).fetchall()
            named = "\n".join(text.replace("\\/", "/") for (text,) in calls if text is not None)
        if said["base_url"].rstrip("/") in named:
            marked = json.dumps({**said, "address_set_by_tool": True}, ensure_ascii=False)
            connection.execute("UPDATE settings SET value = :value WHERE key = :key", {"key": key, "value": marked})


def _add_models_of_answers(connection: Connection) -> None:
    """Migrate version 14 to version 15; who gave the answers of before is not known."""
    connection.execute(f"ALTER TABLE messages ADD COLUMN model {connection.dialect.types[ColumnType.TEXT]}")


def _add_directories_and_ended_parts(connection: Connection) -> None:
    """Migrate version 15 to version 16; of older sessions the directory is not known."""
    types = connection.dialect.types
    connection.execute(f"ALTER TABLE sessions ADD COLUMN directory {types[ColumnType.TEXT]}")
    connection.execute(f"ALTER TABLE sessions ADD COLUMN ended_from {types[ColumnType.BIG_INTEGER]}")


def _add_files_for_users(connection: Connection) -> None:
    """Migrate version 16 to version 17; files of before are for models."""
    connection.execute(f"ALTER TABLE attachments ADD COLUMN is_for_user {connection.dialect.types[ColumnType.BOOLEAN]}")


# The first brings version 1 to version 2, and so on.
MIGRATIONS: tuple[Migration, ...] = (
    _add_attachments_summaries_and_fingerprints,
    _add_agents_and_parents,
    _add_search_and_memory,
    _add_lock_token,
    _add_plugin_storage,
    _add_lower_bounds_of_usage,
    _mark_structured_results,
    _write_fewer_indexes,
    _add_grants_and_permission_log,
    _add_prompt_lists,
    _mark_incomplete_answers,
    _add_marks,
    _mark_providers_added_by_tools,
    _add_models_of_answers,
    _add_directories_and_ended_parts,
    _add_files_for_users,
)


def bring_up_to_date(connection: Connection, backend: Backend, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Create the tables of an empty database, or migrate those of an older one.

    Raises:
        StoreVersionError: a newer OneClaw wrote the database.
        StoreDamagedError: it belongs to another program, or is damaged.
    """
    newest = 1 + len(migrations)
    with connection.transaction(writes=False):
        version = backend.version(connection, newest)
    while version < newest:
        with connection.transaction(writes=True):
            backend.begin_migration(connection)
            version = backend.version(connection, newest)
            if version == 0:
                _create(connection, newest)
                backend.finish_creation(connection)
                version = newest
            elif version < newest:
                migrations[version - 1](connection)
                version += 1
                connection.execute("UPDATE schema_version SET version = :version", {"version": version})


def _create(connection: Connection, version: int) -> None:
    create_tables(connection)
    connection.search_index.create_tables()
    connection.execute("INSERT INTO schema_version (version) VALUES (:version)", {"version": version})
