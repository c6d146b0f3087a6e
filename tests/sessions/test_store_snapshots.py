"""Snapshots before migrations, backups, and restoring them."""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from databases import backend_of
from histories import database_path, database_url, opened, url_of

from oneclaw_core.errors import NotFoundError, StoreDamagedError, StoreUnavailableError, StoreVersionError, UsageError
from oneclaw_core.sessions.backend import SCHEMA_VERSION
from oneclaw_core.sessions.backups import back_up, restore
from oneclaw_core.sessions.snapshots import KEPT_SNAPSHOTS, list_snapshots, snapshot_directory, take_snapshot

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
    back_up(backend(tmp_path), tasks)
    kept = [take_snapshot(path, "schema-3"), take_snapshot(path, "acme-schema-1"), take_snapshot(tasks, "schema-1")]
    for _ in range(KEPT_SNAPSHOTS + 1):
        take_snapshot(path, "before-restore")
    listed = list_snapshots(path.parent)
    assert [(each.path, each.database, each.reason) for each in listed[:3]] == [
        (kept[0], path, "schema-3"),
        (kept[1], path, "acme-schema-1"),
        (kept[2], tasks, "schema-1"),
    ]
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
    assert list_snapshots(tmp_path) == []
    asyncio.run(main(first, second))
    [snapshot] = list_snapshots(tmp_path)
    assert snapshot.reason == "acme-schema-1"
    assert str(snapshot.path) in caplog.text


def test_a_backup_has_what_was_just_stored(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            await store.set_setting("key", "recent")
            back_up(backend(tmp_path), tmp_path / "backup.db")

    asyncio.run(main())
    assert value(tmp_path / "backup.db") == "recent"
    assert stat.S_IMODE((tmp_path / "backup.db").stat().st_mode) == 0o600
    assert not list(tmp_path.glob("backup.db-*"))


def test_a_backup_replaces_no_file(tmp_path: Path) -> None:
    put(tmp_path, "here")
    (tmp_path / "letter").write_text("dear")
    with pytest.raises(UsageError, match="exists: name a new file"):
        back_up(backend(tmp_path), tmp_path / "letter")
    assert (tmp_path / "letter").read_text() == "dear"
    with pytest.raises(NotFoundError, match="no database"):
        back_up(backend(tmp_path / "none"), tmp_path / "copy.db")


def test_restoring_brings_back_the_copy_and_keeps_what_was_there(tmp_path: Path) -> None:
    home, copy = tmp_path / "home", tmp_path / "copy.db"
    put(home, "old")
    back_up(backend(home), copy)

    put(home, "new")
    # A database that is read, such as by a listing, sees what was restored.
    with closing(sqlite3.connect(database_path(home))) as reader:
        path, kept = restore(backend(home), copy, home / "locks")
        [[seen]] = reader.execute("SELECT value FROM settings WHERE key = 'key'").fetchall()
    assert path == database_path(home)
    assert seen.strip('"') == value(path) == "old"
    assert kept is not None
    assert value(kept) == "new"
    assert kept.parent == snapshot_directory(database_path(home))


@pytest.mark.parametrize("fault", ["missing", "emptied", "garbage", "newer"])
def test_a_database_in_any_state_can_be_restored(tmp_path: Path, fault: str) -> None:
    home, copy = tmp_path / "home", tmp_path / "copy.db"
    put(home, "old")
    back_up(backend(home), copy)
    path = database_path(home)
    if fault == "missing":
        path.unlink()
    elif fault == "newer":
        change(path, "UPDATE schema_version SET version = 99")
    else:
        path.write_bytes(b"" if fault == "emptied" else b"garbage" * 1000)
    _, kept = restore(backend(home), copy, home / "locks")
    assert value(path) == "old"
    if fault == "garbage":
        assert kept is not None
        assert kept.read_bytes() == b"garbage" * 1000
    put(home, "goes on")
    assert value(path) == "goes on"


@pytest.mark.parametrize("fault", ["missing", "empty", "garbage", "newer", "foreign", "itself"])
def test_a_copy_that_cannot_be_used_changes_nothing(tmp_path: Path, fault: str) -> None:
    home, copy = tmp_path / "home", tmp_path / "copy.db"
    put(home, "here")
    back_up(backend(home), copy)
    error: type[Exception] = StoreDamagedError
    if fault == "missing":
        copy.unlink()
        error = NotFoundError
    elif fault == "newer":
        change(copy, "UPDATE schema_version SET version = 99")
        error = StoreVersionError
    elif fault == "foreign":
        change(copy, "PRAGMA application_id = 1")
    elif fault == "itself":
        copy = database_path(home)
        error = UsageError
    else:
        copy.write_bytes(b"" if fault == "empty" else b"garbage" * 1000)
    with pytest.raises(error):
        restore(backend(home), copy, home / "locks")
    assert value(database_path(home)) == "here"
    assert not snapshot_directory(database_path(home)).exists()


def test_restoring_is_refused_while_a_program_has_the_database_open(tmp_path: Path) -> None:
    home, copy = tmp_path / "home", tmp_path / "copy.db"
    put(home, "old")
    back_up(backend(home), copy)

    async def main() -> None:
        async with opened(home) as store:
            await store.set_setting("key", "new")
            with pytest.raises(StoreUnavailableError) as raised:
                restore(backend(home), copy, home / "locks")
            assert f" (process {os.getpid()}, since 20" in str(raised.value)
            assert (await store.settings())["key"] == "new"

    asyncio.run(main())
    restore(backend(home), copy, home / "locks")
    assert value(database_path(home)) == "old"


def test_what_a_killed_program_and_other_locks_leave_stops_no_restoring(tmp_path: Path) -> None:
    home, copy = tmp_path / "home", tmp_path / "copy.db"
    put(home, "old")
    back_up(backend(home), copy)
    left = home / "open" / f"{database_path(home).name}.4711.abcd1234"
    left.parent.mkdir()
    left.write_text('{"program": "oneclaw serve", "host": "here"}')
    with (home / "locks" / "keys.lock").open("w") as other:  # no program holds a home with it
        fcntl.flock(other, fcntl.LOCK_EX)
        restore(backend(home), copy, home / "locks")

        async def main() -> None:
            async with opened(home):
                with pytest.raises(StoreUnavailableError) as raised:
                    restore(backend(home), copy, home / "locks")
                assert "4711" not in str(raised.value)

        asyncio.run(main())
    assert not left.exists()


@pytest.mark.only("postgresql")
def test_a_server_has_its_own_tools(tmp_path: Path) -> None:
    server = backend_of(database_url(tmp_path))
    with pytest.raises(UsageError, match="for PostgreSQL pg_dump"):
        back_up(server, tmp_path / "copy.db")
    with pytest.raises(UsageError, match="for PostgreSQL pg_restore"):
        restore(server, tmp_path / "copy.db", tmp_path)
