"""Rescuing what can be read from damaged SQLite files. The files are real, and damaged as disks damage them."""

from __future__ import annotations

import asyncio
import collections
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import databases
import pytest
from databases import backend_of
from histories import assistant, call, opened, success, url_of
from oneclaw_database.salvage import Salvaged, salvage

from oneclaw_core.errors import NotFoundError, StoreDamagedError, StoreVersionError, UsageError
from oneclaw_core.types.messages import Attachment, Message, MessageType

if TYPE_CHECKING:
    from oneclaw_core.sessions.plugin_storage import StorageConnection

pytestmark = [pytest.mark.only("sqlite"), pytest.mark.one_python]

SESSIONS, ROUNDS = 6, 12
# What belongs to one file alone, what salvaging sets, and bytes, of which no one can tell that they are wrong.
UNCOMPARED = ("search_number", "lock_token", "tool_status", "data")
VERSION_1 = (Path(databases.__file__).parents[1] / "sessions" / "version_1.sql").read_text(encoding="utf-8")


def make_notes(connection: StorageConnection) -> None:
    connection.execute("CREATE TABLE notes__all (name TEXT PRIMARY KEY, size BIGINT)")
    connection.execute_many(
        "INSERT INTO notes__all (name, size) VALUES (:name, :size)",
        [{"name": f"note {number}", "size": number} for number in range(200)],
    )


async def fill(home: Path) -> None:
    chance = random.Random(3)
    async with opened(home) as store:
        for number in range(SESSIONS):
            session = await store.find_or_create_session(f"story {number}", agent="General Assistant")
            for place in range(ROUNDS):
                text = " ".join(chance.choices(("one", "two", "three", "ünïcödé"), k=chance.choice((3, 100, 3000))))
                file = Attachment("plot.png", "image/png", chance.randbytes(9_000))
                await store.append(
                    session.id,
                    [
                        Message(type=MessageType.USER, content=text, attachments=(file,) if place == 3 else ()),
                        assistant(),
                        call(f"c{place}"),
                        success(f"c{place}", text[::-1]),
                        assistant("All done."),
                    ],
                )
        for number in range(60):
            await store.set_setting(f"key {number}", [number] * 20)
            await store.set_tool_enabled("tool", f"tool_{number}", enabled=False)
        storage = store.plugin_storage("notes")
        await storage.set("colour", "blue")
        await storage.tables([make_notes])


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("healthy")
    asyncio.run(fill(home))
    with closing(sqlite3.connect(home / "oneclaw.db")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return home / "oneclaw.db"


@pytest.fixture
def damaged(healthy: Path, tmp_path: Path) -> Path:
    return shutil.copy(healthy, tmp_path / "damaged.db")


def rows_of(path: Path) -> dict[str, collections.Counter[Any]]:
    """All rows of the tables that are copied."""
    found = {}
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in names:
            if not name.startswith(("sqlite_", "message_search", "session_search", "search_state", "schema_version")):
                rows = connection.execute(f'SELECT * FROM "{name}"').fetchall()
                kept = (tuple((key, row[key]) for key in row.keys() if key not in UNCOMPARED) for row in rows)  # noqa: SIM118
                found[name] = collections.Counter(kept)
    return found


def salvaged(path: Path) -> tuple[Salvaged, dict[str, collections.Counter[Any]]]:
    before = {each: each.read_bytes() for each in path.parent.iterdir()}
    target = path.parent / "new.db"
    report = salvage(path, target)
    assert {each: each.read_bytes() for each in path.parent.iterdir() if each != target} == before
    with closing(sqlite3.connect(target)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    rows = rows_of(target)
    assert report.rows == {name: found.total() for name, found in rows.items()}
    return report, rows


LOST_SESSIONS = "sessions whose names, titles and agents are lost"


def overwrite(path: Path, page: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(data)


@pytest.mark.long
def test_all_of_a_whole_file_is_saved(healthy: Path, damaged: Path) -> None:
    report, rows = salvaged(damaged)
    assert rows == rows_of(healthy)
    assert report.is_whole
    assert report.losses() == [f"nothing is lost: all {report.pages} pages of the file can be read"]


@pytest.mark.long
def test_a_page_costs_no_more_than_its_rows(healthy: Path, damaged: Path) -> None:
    chance = random.Random(5)
    whole = rows_of(healthy)
    pages = healthy.stat().st_size // 4096
    for page in [1, 2, 3, 9, *chance.sample(range(4, pages + 1), 12)]:
        overwrite(damaged, page, chance.choice((bytes(4096), chance.randbytes(4096))))
        report, rows = salvaged(damaged)
        if page == 1:
            rows["notes__all"] = whole["notes__all"]  # without the schema, no one knows what tables plugins had
        invented = {name: found - whole[name] for name, found in rows.items() if name != "sessions"}
        assert not any(invented.values()), page
        assert sum((whole[name] - found).total() for name, found in rows.items()) <= 80, (page, report)
        (damaged.parent / "new.db").unlink()
        shutil.copy(healthy, damaged)


def test_what_stands_before_the_end_of_a_truncated_file_is_saved(healthy: Path, damaged: Path) -> None:
    whole = rows_of(healthy)
    size = damaged.stat().st_size
    with damaged.open("r+b") as file:
        file.truncate(size * 2 // 3 + 100)
    report, rows = salvaged(damaged)
    assert not any(found - whole[name] for name, found in rows.items() if name != "sessions")
    assert 100 < rows["messages"].total() < whole["messages"].total()
    assert any(line.startswith("lost: rows of the table messages on ") for line in report.losses())

    (damaged.parent / "new.db").rename(damaged.parent / "oneclaw.db")

    async def history() -> list[Message]:
        async with opened(damaged.parent) as store:
            session = await store.find_session("story 0")
            assert session is not None
            return await store.messages(session.id)

    assert asyncio.run(history())


@pytest.mark.long
def test_sessions_that_are_lost_are_made_for_their_messages(healthy: Path, damaged: Path) -> None:
    with closing(sqlite3.connect(damaged)) as connection:
        [[root]] = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'sessions'").fetchall()
    overwrite(damaged, root, b"\xff" * 4096)
    report, rows = salvaged(damaged)
    assert rows["messages"] == rows_of(healthy)["messages"]
    assert report.notes[LOST_SESSIONS] == SESSIONS
    assert f"repaired: {SESSIONS} {LOST_SESSIONS}" in report.losses()


def with_recent_transactions(path: Path, folder: Path) -> Path:
    """Copy a database while its newest transactions are in the write-ahead log alone."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        for number in range(3):
            connection.execute("INSERT INTO settings VALUES (?, '1', 0)", (f"recent {number}",))
        folder.mkdir()
        for suffix in ("", "-wal"):
            shutil.copy(path.with_name(path.name + suffix), folder / f"copy.db{suffix}")
    return folder / "copy.db"


def recent(rows: dict[str, collections.Counter[Any]]) -> int:
    return sum(dict(row)["key"].startswith("recent") for row in rows["settings"])


def test_recent_transactions_are_read_from_the_log_as_far_as_it_is_whole(damaged: Path, tmp_path: Path) -> None:
    copy = with_recent_transactions(damaged, tmp_path / "with log")
    log = copy.with_name("copy.db-wal")
    assert recent(salvaged(copy)[1]) == 3
    copy.with_name("new.db").unlink()
    with log.open("r+b") as file:
        file.truncate(log.stat().st_size - 10)
    assert recent(salvaged(copy)[1]) == 2
    copy.with_name("new.db").unlink()
    log.unlink()
    report, rows = salvaged(copy)
    assert recent(rows) == 0
    assert rows["settings"].total() == 60
    assert report.is_whole


def test_an_older_file_is_migrated(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "old.db")) as connection:
        connection.executescript(VERSION_1)
    backend = backend_of(url_of(shutil.copy(tmp_path / "old.db", tmp_path / "migrated.db")))
    backend.prepare().close()
    shutil.rmtree(tmp_path / "snapshots")
    (folder := tmp_path / "folder").mkdir()
    report, rows = salvaged(Path(shutil.copy(tmp_path / "old.db", folder / "old.db")))
    assert report.is_whole
    assert rows == rows_of(tmp_path / "migrated.db")


def test_what_cannot_be_salvaged_is_said(damaged: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="there is no file"):
        salvage(tmp_path / "gone.db", tmp_path / "new.db")
    with pytest.raises(UsageError, match="exists: name a new file"):
        salvage(damaged, damaged)
    damaged.write_bytes(random.Random(1).randbytes(100_000))
    with pytest.raises(StoreDamagedError, match="nothing of OneClaw's can be read"):
        salvage(damaged, tmp_path / "new.db")
    with closing(sqlite3.connect(tmp_path / "newer.db")) as connection, connection:
        connection.execute("CREATE TABLE schema_version (version INTEGER NOT NULL)")
        connection.execute("INSERT INTO schema_version VALUES (1000)")
    with pytest.raises(StoreVersionError, match="written by a newer OneClaw"):
        salvage(tmp_path / "newer.db", tmp_path / "new.db")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["damaged.db", "newer.db"]


def test_statements_in_a_damaged_file_are_not_executed(damaged: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(damaged)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        attack = f"ATTACH DATABASE '{tmp_path / 'attacked.db'}' AS x__y"
        connection.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'notes__all'", (attack,))
    _, rows = salvaged(damaged)
    assert "notes__all" not in rows
    assert not (tmp_path / "attacked.db").exists()
