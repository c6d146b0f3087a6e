"""Snapshots before migrations, backups, and restoring them."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from databases import backend_of
from histories import database_path, database_url, opened, url_of

from oneclaw_core.errors import NotFoundError, SessionBusyError, StoreDamagedError, StoreVersionError, UsageError
from oneclaw_core.sessions.backend import SCHEMA_VERSION
from oneclaw_core.sessions.snapshots import KEPT_SNAPSHOTS, back_up, restore, snapshot_directory, take_snapshot

if TYPE_CHECKING:
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
    with caplog.at_level(logging.INFO, "oneclaw.store"):
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

    async def main() -> tuple[Path | None, object]:
        async with opened(home) as store:
            await store.set_setting("key", "new")
            kept = restore(backend(home), copy, home / "locks")
            # A process that has the database open sees what was restored.
            return kept, (await store.settings())["key"]

    kept, seen = asyncio.run(main())
    assert seen == value(database_path(home)) == "old"
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
    kept = restore(backend(home), copy, home / "locks")
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


def test_restoring_is_refused_while_a_turn_runs(tmp_path: Path) -> None:
    home, copy = tmp_path / "home", tmp_path / "copy.db"

    async def main() -> None:
        async with opened(home) as store:
            session = await store.create_session(agent="default")
            back_up(backend(home), copy)
            async with store.session_lock(session.id, 1):
                with pytest.raises(SessionBusyError, match=f"a turn of session {session.id} runs"):
                    restore(backend(home), copy, home / "locks")
            restore(backend(home), copy, home / "locks")

    asyncio.run(main())


@pytest.mark.only("postgresql")
def test_a_server_has_its_own_tools(tmp_path: Path) -> None:
    server = backend_of(database_url(tmp_path))
    with pytest.raises(UsageError, match="for PostgreSQL pg_dump"):
        back_up(server, tmp_path / "copy.db")
    with pytest.raises(UsageError, match="for PostgreSQL pg_restore"):
        restore(server, tmp_path / "copy.db", tmp_path)
