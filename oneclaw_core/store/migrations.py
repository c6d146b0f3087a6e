"""Bringing a database to the current schema.

A new version of the schema is a function at the end of :data:`MIGRATIONS`, a change of
:mod:`oneclaw_core.store.schema` to the same effect, and ``SCHEMA_VERSION`` raised by one. A migration uses texts or
tables of its own, never today's tables: they move on, it does not.

Every step is one transaction that first looks again which version it finds. So a process that is killed leaves the
version before or after, and of two processes that open a database at once the second finds the work done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, update

from oneclaw_core.store.schema import METADATA, schema_version
from oneclaw_core.store.sqlite_file import APPLICATION_ID, stored_version

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from sqlalchemy import Connection, Engine

    Migration = Callable[[Connection], None]


def _add_attachments_summaries_and_fingerprints(connection: Connection) -> None:
    """Bring version 1 to version 2; usage outlives its session from now on."""
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
        connection.exec_driver_sql(statement)


# The first brings version 1 to version 2, and so on.
MIGRATIONS: tuple[Migration, ...] = (_add_attachments_summaries_and_fingerprints,)


def bring_up_to_date(
    reading: Engine, writing: Engine, path: Path, migrations: Sequence[Migration] = MIGRATIONS
) -> None:
    """Create the tables of an empty database, or migrate those of an older one.

    Args:
        reading: begins transactions that take no lock.
        writing: begins transactions that exclude other writers from the start.
        path: the file, for messages.
        migrations: the steps from version 1 on.

    Raises:
        StoreVersionError: a newer OneClaw wrote the database.
        StoreDamagedError: it belongs to another program, or is damaged.
    """
    newest = 1 + len(migrations)
    with reading.begin() as connection:
        version = _version(connection, path, newest)
    while version < newest:
        with writing.begin() as connection:
            version = _version(connection, path, newest)
            if version == 0:
                _create(connection, newest)
                version = newest
            elif version < newest:
                migrations[version - 1](connection)
                version += 1
                connection.execute(update(schema_version).values(version=version))


def _version(connection: Connection, path: Path, newest: int) -> int:
    def query(statement: str) -> Sequence[Sequence[Any]]:
        return connection.exec_driver_sql(statement).all()

    return stored_version(query, path, newest)


def _create(connection: Connection, version: int) -> None:
    METADATA.create_all(connection, checkfirst=False)
    connection.execute(insert(schema_version).values(version=version))
    connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
