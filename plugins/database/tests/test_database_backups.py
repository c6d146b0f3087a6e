"""Backups, restoring them, and counting what a database holds."""

from __future__ import annotations

import asyncio
import fcntl
import os
import sqlite3
import stat
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from databases import backend_of
from histories import database_path, database_url, opened, url_of, user
from oneclaw_database.backups import back_up, list_snapshots, restore
from oneclaw_database.status import STORED_TABLES, count_rows, migrate, prepared, status

from oneclaw_core.errors import (
    NotFoundError,
    OneClawError,
    StoreDamagedError,
    StoreError,
    StoreUnavailableError,
    StoreVersionError,
    UsageError,
)
from oneclaw_core.sessions import TABLES, SqliteBackend, snapshot_directory, take_snapshot
from oneclaw_core.sessions.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from oneclaw_core.sessions import Backend

pytestmark = pytest.mark.only("sqlite")


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


def test_a_backup_has_what_was_just_stored(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            await store.set_setting("key", "recent")
            back_up(backend(tmp_path), tmp_path / "backup.db")

    asyncio.run(main())
    assert value(tmp_path / "backup.db") == "recent"
    assert stat.S_IMODE((tmp_path / "backup.db").stat().st_mode) == 0o600
    assert not list(tmp_path.glob("backup.db-*"))


def test_snapshots_of_all_databases_are_listed_the_oldest_first(tmp_path: Path) -> None:
    put(tmp_path, "here")
    path = database_path(tmp_path)
    tasks = path.with_name(f"{path.stem}-tasks.db")
    back_up(backend(tmp_path), tasks)
    taken = [(take_snapshot(*each), *each) for each in ((path, "schema-3"), (tasks, "schema-1"), (path, "other"))]
    assert [(each.path, each.database, each.reason) for each in list_snapshots(path.parent)] == taken


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


def test_backups_are_new_files_of_databases_that_are_there(tmp_path):
    backend, path = SqliteBackend(tmp_path / "test.db"), tmp_path / "test.db"
    empty = tmp_path / "empty.db"
    with closing(sqlite3.connect(empty)) as connection, connection:
        connection.execute("PRAGMA user_version = 1")
    copy = tmp_path / "copy.db"
    locks = tmp_path / "locks"

    def refused(work):
        with pytest.raises(OneClawError) as caught:
            work()
        return str(caught.value)

    assert refused(lambda: back_up(backend, copy)) == f"there is no database {path} yet"
    migrate(backend)
    copy.write_text("")
    assert refused(lambda: back_up(backend, copy)) == f"{copy} exists: name a new file"
    copy.unlink()
    assert (
        refused(lambda: restore(backend, copy, locks))
        == f"there is no file {copy}: oneclaw db snapshots lists the snapshots"
    )
    assert refused(lambda: restore(backend, path, locks)) == f"{path} is the database itself: name a copy"
    assert refused(lambda: restore(backend, empty, locks)) == f"{empty} is a database without tables: name another file"
    assert back_up(backend, copy) == copy
    assert status(SqliteBackend(copy)).rows == status(backend).rows


def test_a_database_is_made_counted_and_left_alone(tmp_path):
    backend = SqliteBackend(tmp_path / "test.db")
    made = migrate(backend)
    assert made.name == str(tmp_path / "test.db")
    assert made.version > 0
    assert set(made.rows) == {table.name for table in STORED_TABLES}
    assert {table.name for table in TABLES} - set(made.rows) == {"schema_version", "search_state", "plugin_schemas"}

    async def fill():
        async with await Store.open(backend, lock_directory=tmp_path) as store:
            session = await store.create_session(agent="General Assistant")
            await store.append(session.id, [user("One"), user("Two")])

    asyncio.run(fill())
    found = migrate(backend)
    assert found == status(backend)
    assert (found.version, found.rows["sessions"], found.rows["messages"]) == (made.version, 1, 2)
    with prepared(backend) as connection, connection.transaction(writes=False):
        (table,) = [each for each in STORED_TABLES if each.name == "messages"]
        assert count_rows(connection, table) == 2


def test_a_database_that_cannot_be_used_says_so(tmp_path):
    (tmp_path / "test.db").write_text("no database at all, but long enough to be read as one" * 100)
    backend = SqliteBackend(tmp_path / "test.db")
    for look in (status, migrate):
        with pytest.raises(StoreError, match=r"test\.db"):
            look(backend)
