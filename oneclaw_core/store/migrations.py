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

# The first brings version 1 to version 2, and so on.
MIGRATIONS: tuple[Migration, ...] = ()


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
