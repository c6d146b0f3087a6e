"""The tasks' database: a SQLite file beside the store's, or the store's own PostgreSQL database.

Transactions are plain functions of a connection, run in a thread.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import shutil
import sqlite3
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from oneclaw_core import StoreError
from oneclaw_core.sessions import NO_SNAPSHOT, StoreVersionError, snapshot_before_migration
from oneclaw_core.tools import make_private_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, Self

    from sqlalchemy import Connection, Engine

    Arguments = ParamSpec("Arguments")

Value = TypeVar("Value")

_log = logging.getLogger("oneclaw.tasks")

URL_VARIABLE = "ONECLAW_TASKS_DATABASE_URL"
_SQLITE = "sqlite:///"
_POSTGRESQL = re.compile(r"^postgres(?:ql)?://", re.IGNORECASE)
# The tasks' own schema in a PostgreSQL database, which the store and other programs use, too.
POSTGRESQL_SCHEMA = "oneclaw_tasks"
_BUSY_SECONDS = 30
# Any number that no other program on the same server is likely to use: "task" in ASCII.
_SCHEMA_LOCK = 0x7461736B


def tasks_database_url(store_url: str, environ: Mapping[str, str] | None = None) -> str:
    """Say where the tasks are kept.

    Args:
        store_url: of the home's store; of a SQLite file ``NAME.db``, the tasks are in ``NAME-tasks.db`` beside it.
        environ: the environment, where ``ONECLAW_TASKS_DATABASE_URL`` goes before it.
    """
    chosen = (os.environ if environ is None else environ).get(URL_VARIABLE)
    if chosen or not store_url.startswith("sqlite"):
        url = chosen or store_url
        # As the store reads them: without a driver in the URL, it is psycopg.
        return _POSTGRESQL.sub("postgresql+psycopg://", url)
    path = Path(store_url.partition(":///")[2]).absolute()
    return f"{_SQLITE}{path.with_name(f'{path.stem}-tasks.db')}"


def sqlite_path(url: str) -> Path | None:
    """The file of a SQLite URL, ``None`` for another database."""
    return Path(url.removeprefix(_SQLITE)) if url.startswith(_SQLITE) else None


class TaskDatabase:
    """An open database with the tasks' tables in it. Made by :meth:`open`."""

    def __init__(self, url: str, engine: Engine) -> None:
        self.url = url
        self._engine = engine

    @classmethod
    async def open(cls, url: str) -> Self:
        """Open a database, and make what it lacks."""
        return await asyncio.to_thread(cls.open_here, url)

    @classmethod
    def open_here(cls, url: str, *, is_read_only: bool = False) -> Self:
        """The same, in the calling thread; ``is_read_only`` refuses an older database, which would be migrated."""
        with _explained(url), ExitStack() as on_error:
            database = cls(url, _engine(url, is_read_only=is_read_only))
            on_error.callback(database.close)
            _bring_up_to_date(database._engine, is_read_only=is_read_only)
            on_error.pop_all()
            return database

    async def run(
        self,
        work: Callable[Concatenate[Connection, Arguments], Value],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Value:
        """Run a function in a transaction."""
        return await asyncio.to_thread(lambda: self.run_here(work, *args, **kwargs))

    def run_here(
        self,
        work: Callable[Concatenate[Connection, Arguments], Value],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Value:
        """The same, in the calling thread."""
        with _explained(self.url), self._engine.begin() as connection:
            return work(connection, *args, **kwargs)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        self.close()


def read_tasks(store_url: str, work: Callable[[Connection], Value]) -> Value:
    """Read in the tasks of a store without changing the home, which may be read-only."""
    url = tasks_database_url(store_url)
    path = sqlite_path(url)
    if path is None or all(_is_writable(each) for each in (path, path.parent)):
        with closing(TaskDatabase.open_here(url, is_read_only=True)) as database:
            return database.run_here(work)
    # SQLite needs files beside the one that it reads; where there are no tasks yet, none is made.
    with TemporaryDirectory(prefix="oneclaw-") as directory:
        for suffix in ("", "-wal"):
            with _explained(url), suppress(FileNotFoundError):
                shutil.copyfile(f"{path}{suffix}", f"{directory}/tasks.db{suffix}")
        with closing(TaskDatabase.open_here(f"{_SQLITE}{directory}/tasks.db", is_read_only=True)) as database:
            return database.run_here(work)


def _is_writable(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _engine(url: str, *, is_read_only: bool) -> Engine:
    from sqlalchemy import create_engine, event

    path = sqlite_path(url)
    if path is None:
        options = {"schema_translate_map": {None: POSTGRESQL_SCHEMA}}
        return create_engine(
            url, pool_size=4, max_overflow=4, pool_pre_ping=True, hide_parameters=True, execution_options=options
        )
    make_private_directory(path.parent)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    engine = create_engine(
        url, connect_args={"timeout": _BUSY_SECONDS, "check_same_thread": False}, hide_parameters=True
    )

    @event.listens_for(engine, "connect")
    def connect(connection: Any, record: object) -> None:
        # The driver is to begin no transactions by itself.
        connection.isolation_level = None
        connection.execute(f"PRAGMA busy_timeout = {_BUSY_SECONDS * 1000}")
        # It stays with the file, for DBOS' connections, too: readers and the writer do not wait for one another.
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        suit_old_sqlite(connection)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # One that starts as a reader cannot always become a writer.
        connection.exec_driver_sql("BEGIN" if is_read_only else "BEGIN IMMEDIATE")

    return engine


def suit_old_sqlite(connection: Any) -> None:
    """Give an SQLite before 3.42 what DBOS asks of it: ``unixepoch('subsec')``, the time with fractions of a second.

    From Python 3.12 on DBOS takes a newer SQLite for granted; many systems have none, and it answers with NULL.
    """
    if sqlite3.sqlite_version_info < (3, 42):
        connection.create_function("unixepoch", -1, lambda *_: time.time())


def _bring_up_to_date(engine: Engine, *, is_read_only: bool) -> None:
    from sqlalchemy import insert, inspect, select, text, update

    from oneclaw_scheduled_tasks.tables import METADATA, SCHEMA_VERSION, schema_version

    with engine.begin() as connection:
        is_postgresql = connection.dialect.name == "postgresql"
        schema = POSTGRESQL_SCHEMA if is_postgresql else None
        if is_postgresql:
            # Two workers that start at once would both make the tables.
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _SCHEMA_LOCK})
        if not inspect(connection).has_table(schema_version.name, schema=schema):
            if is_postgresql:
                connection.execute(text(f"CREATE SCHEMA IF NOT EXISTS {POSTGRESQL_SCHEMA}"))
            METADATA.create_all(connection)
            connection.execute(insert(schema_version).values(version=SCHEMA_VERSION))
            return
        version = connection.execute(select(schema_version.c.version)).scalar_one()
        if version < SCHEMA_VERSION and is_read_only:
            raise StoreVersionError(
                f"the tasks' database was written by an older version (schema {version}, this one needs "
                f"{SCHEMA_VERSION}), and a command that only reads does not migrate it: a worker does, and so does "
                "each command that changes tasks"
            )
        if version < SCHEMA_VERSION:
            _keep_before_migration(engine, version, SCHEMA_VERSION)
            for statement in (each for step in _STEPS[version - 1 :] for each in step):
                connection.execute(text(statement.format(schema=f"{schema}." if schema else "")))
            connection.execute(update(schema_version).values(version=SCHEMA_VERSION))
        elif version > SCHEMA_VERSION:
            raise StoreVersionError(
                f"the tasks' database was written by a newer version (schema {version}, this one knows "
                f"{SCHEMA_VERSION}): upgrade oneclaw-scheduled-tasks"
            )


def _keep_before_migration(engine: Engine, version: int, newest: int) -> None:
    """Take a snapshot of a SQLite file; of a database on a server say that there is none."""
    path = sqlite_path(str(engine.url))
    if path is not None:
        snapshot_before_migration(path, version, newest)
    else:
        _log.warning("migrating the tables of tasks from schema %d to %d; %s", version, newest, NO_SNAPSHOT)


# What brings a database from each version to the next one.
_STEPS = (
    (
        "ALTER TABLE {schema}task_definitions ADD COLUMN overlap TEXT NOT NULL DEFAULT 'skip'",
        # What has ended by now counts as read.
        "ALTER TABLE {schema}task_runs ADD COLUMN is_read BOOLEAN NOT NULL DEFAULT true",
    ),
    (
        "ALTER TABLE {schema}task_definitions ADD COLUMN jitter_seconds BIGINT NOT NULL DEFAULT 0",
        "ALTER TABLE {schema}task_definitions RENAME COLUMN grace_seconds TO catch_up_seconds",
        # All occurrences were made up for, however old they were: the most that a task can have.
        "UPDATE {schema}task_definitions SET catch_up_seconds = 31622400 WHERE missed = 'all'",
    ),
    ("ALTER TABLE {schema}task_definitions ADD COLUMN channels TEXT NOT NULL DEFAULT '[]'",),
    (
        "CREATE INDEX task_runs_open ON {schema}task_runs (status) WHERE ended_at IS NULL",
        "ALTER TABLE {schema}task_runs ADD COLUMN event TEXT",
    ),
    ("ALTER TABLE {schema}task_definitions ADD COLUMN trigger_error TEXT",),
)


@contextmanager
def _explained(url: str) -> Iterator[None]:
    """Make one line of what the database says; of its URL, which may hold a password, only the kind and the file."""
    from sqlalchemy.exc import SQLAlchemyError

    where = str(sqlite_path(url) or f"of type {url.partition(':')[0]!r}")
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"the tasks' database {where} cannot be opened ({error.strerror}): check the path and that this user may "
            "write there"
        ) from error
    except SQLAlchemyError as error:
        cause = getattr(error, "orig", None) or error
        lines = str(cause).strip().splitlines() or [type(cause).__name__]
        raise StoreError(f"the tasks' database {where} cannot be used: {lines[0]}") from error
    except ImportError as error:
        raise StoreError(f"the tasks' database {where} cannot be used: {error}; install its driver") from error
