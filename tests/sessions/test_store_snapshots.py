"""Snapshots before migrations."""

from __future__ import annotations

import asyncio
import logging
import shutil
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from databases import backend_of
from histories import database_path, opened, url_of

from oneclaw_core.sessions.backend import SCHEMA_VERSION
from oneclaw_core.sessions.sqlite_files import KEPT_SNAPSHOTS, snapshot_directory, take_snapshot

if TYPE_CHECKING:
    from collections.abc import Callable

    from oneclaw_core.sessions import StorageConnection
    from oneclaw_core.sessions.backend import Backend

pytestmark = pytest.mark.only("sqlite")

VERSION_1 = Path(__file__).with_name("version_1.sql").read_text(encoding="utf-8")


def put(home: Path, value: str) -> None:
    async def main() -> None:
        async with opened(home) as store:
            await store.set_setting("key", value)

    asyncio.run(main())


def value(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        [[found]] = connection.execute("SELECT value FROM settings WHERE key = 'key'").fetchall()
    return str(found).strip('"')


def backend(home: Path) -> Backend:
    return backend_of(url_of(database_path(home)))


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def test_a_migration_leaves_a_private_snapshot_that_the_log_names(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(sqlite3.connect(database_path(tmp_path))) as connection:
        connection.executescript(VERSION_1)
    with caplog.at_level(logging.WARNING, "oneclaw.store"):
        for text in ("new", "newer"):
            put(tmp_path, text)
    [snapshot] = snapshot_directory(database_path(tmp_path)).iterdir()
    assert caplog.messages == [
        f"migrating {database_path(tmp_path)} from schema 1 to {SCHEMA_VERSION}; snapshot: {snapshot}"
    ]
    with closing(sqlite3.connect(snapshot)) as connection:
        assert connection.execute("SELECT version FROM schema_version").fetchall() == [(1,)]
        assert connection.execute("SELECT count(*) FROM messages").fetchall() == [(4,)]
    assert stat.S_IMODE(snapshot.stat().st_mode) == 0o600
    assert stat.S_IMODE(snapshot.parent.stat().st_mode) == 0o700


def test_the_newest_snapshots_are_kept(tmp_path: Path) -> None:
    put(tmp_path, "here")
    made = [take_snapshot(database_path(tmp_path), "test")]
    Path(f"{made[0]}-wal").touch()  # left by a program that opened it
    made += [take_snapshot(database_path(tmp_path), "test") for _ in range(KEPT_SNAPSHOTS + 1)]
    assert sorted(snapshot_directory(database_path(tmp_path)).iterdir()) == made[2:]


def test_other_snapshots_do_not_push_out_those_of_migrations_and_of_other_databases(tmp_path: Path) -> None:
    put(tmp_path, "here")
    path = database_path(tmp_path)
    tasks = path.with_name(f"{path.stem}-tasks.db")
    shutil.copyfile(path, tasks)
    kept = [take_snapshot(path, "schema-3"), take_snapshot(path, "acme-schema-1"), take_snapshot(tasks, "schema-1")]
    for _ in range(KEPT_SNAPSHOTS + 1):
        take_snapshot(path, "before-restore")
    listed = set(snapshot_directory(path).iterdir())
    assert listed >= set(kept)
    assert len(listed) == 3 + KEPT_SNAPSHOTS


def test_migrating_the_tables_of_a_plugin_leaves_a_snapshot(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def first(connection: StorageConnection) -> None:
        connection.execute("CREATE TABLE acme__things (name TEXT)")

    def second(connection: StorageConnection) -> None:
        connection.execute("ALTER TABLE acme__things ADD COLUMN size BIGINT")

    async def main(*migrations: Callable[[StorageConnection], None]) -> None:
        async with opened(tmp_path) as store:
            await store.plugin_storage("acme").tables(migrations)

    asyncio.run(main(first))
    assert not snapshot_directory(database_path(tmp_path)).exists()
    asyncio.run(main(first, second))
    [snapshot] = snapshot_directory(database_path(tmp_path)).iterdir()
    assert snapshot.name.endswith("-acme-schema-1.db")
    assert str(snapshot) in caplog.text
