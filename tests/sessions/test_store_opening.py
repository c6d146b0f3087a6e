"""Opening a database: a new one, one of each kind that must be refused, and many processes at once."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from databases import backend_of
from histories import database_path, opened, url_of, user

from oneclaw_core.errors import StoreDamagedError, StoreError, StoreVersionError
from oneclaw_core.sessions.backend import SCHEMA_VERSION, value_of
from oneclaw_core.sessions.database import Database
from oneclaw_core.sessions.migrations import create
from oneclaw_core.sessions.schema import TABLES
from oneclaw_core.sessions.settings import read_states
from oneclaw_core.sessions.sqlite_backend import APPLICATION_ID, path_of

if TYPE_CHECKING:
    from pathlib import Path

    from oneclaw_core.sessions.backend import Connection

# What PostgreSQL does: tests/sessions/test_store_postgres.py.
pytestmark = [pytest.mark.every_python, pytest.mark.only("sqlite")]


def open_and_close(home: Path) -> None:
    async def main() -> None:
        async with opened(home):
            pass

    asyncio.run(main())


def rows(path: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(statement).fetchall()


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def history_with_text(home: Path, text: str) -> str:
    """Store a session with much text; give its id."""

    async def main() -> str:
        async with opened(home) as store:
            session = await store.create_session(agent="default")
            await store.append(session.id, [user(text) for _ in range(50)])
            return session.id

    return asyncio.run(main())


def test_a_new_database_is_made_with_its_directory_and_is_private(tmp_path: Path) -> None:
    home = tmp_path / "new" / "home"
    open_and_close(home)
    path = database_path(home)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert rows(path, "SELECT version FROM schema_version") == [(SCHEMA_VERSION,)]
    assert rows(path, "PRAGMA application_id") == [(APPLICATION_ID,)]
    assert rows(path, "PRAGMA journal_mode") == [("wal",)]


def test_the_files_beside_the_database_are_private_too(tmp_path: Path) -> None:
    async def main() -> list[int]:
        async with opened(tmp_path) as store:
            await store.create_session(agent="default")
            return [stat.S_IMODE(file.stat().st_mode) for file in tmp_path.glob("oneclaw.db*")]

    modes = asyncio.run(main())
    assert len(modes) == 3
    assert set(modes) == {0o600}


def test_foreign_keys_are_enforced(tmp_path: Path) -> None:
    async def main() -> object:
        async with opened(tmp_path) as store:
            return await store._database.read(lambda it: value_of(it.execute("PRAGMA foreign_keys")))

    assert asyncio.run(main()) == 1


def test_what_was_stored_is_there_after_opening_again(tmp_path: Path) -> None:
    session_id = history_with_text(tmp_path, "remember me")

    async def main() -> int:
        async with opened(tmp_path) as store:
            return await store.count_messages(session_id)

    assert asyncio.run(main()) == 50


def test_a_database_of_a_newer_version_is_refused_and_unchanged(tmp_path: Path) -> None:
    open_and_close(tmp_path)
    path = database_path(tmp_path)
    change(path, "UPDATE schema_version SET version = 99")
    before = path.read_bytes()
    with pytest.raises(
        StoreVersionError, match=rf"newer OneClaw \(schema 99, this one knows {SCHEMA_VERSION}\): upgrade oneclaw-core"
    ):
        open_and_close(tmp_path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TABLE songs (title TEXT)"],
        ["CREATE TABLE schema_version (version INTEGER)", "INSERT INTO schema_version VALUES (1)"],
        ["PRAGMA application_id = 1"],
        ["PRAGMA application_id = 1", "CREATE TABLE schema_version (version INTEGER)"],
    ],
)
def test_another_programs_database_is_refused_and_unchanged(tmp_path: Path, statements: list[str]) -> None:
    path = database_path(tmp_path)
    change(path, *statements)
    before = path.read_bytes()
    with pytest.raises(StoreDamagedError, match="another program and is left untouched"):
        open_and_close(tmp_path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_database_restored_from_a_dump_is_accepted(tmp_path: Path) -> None:
    session_id = history_with_text(tmp_path, "remember me")
    # What a dump loses. Python's own cannot be used for one: it knows nothing of full-text indexes.
    change(database_path(tmp_path), "PRAGMA application_id = 0")

    async def main() -> int:
        async with opened(tmp_path) as store:
            return await store.count_messages(session_id)

    assert asyncio.run(main()) == 50


@pytest.mark.parametrize("fault", ["DELETE FROM schema_version", "DROP TABLE schema_version", "DROP TABLE messages"])
def test_a_database_that_lost_a_table_is_reported_as_damaged(tmp_path: Path, fault: str) -> None:
    session_id = history_with_text(tmp_path, "text")
    change(database_path(tmp_path), fault)

    async def main() -> None:
        async with opened(tmp_path) as store:
            await store.count_messages(session_id)

    with pytest.raises(StoreDamagedError, match="move it away"):
        asyncio.run(main())


@pytest.mark.parametrize("fault", ["no database", "truncated", "garbage in the header", "garbage in the middle"])
def test_a_damaged_file_is_reported_with_what_to_do(tmp_path: Path, fault: str) -> None:
    session_id = history_with_text(tmp_path, "some text that fills pages " * 50)
    path = database_path(tmp_path)
    content = path.read_bytes()
    garbage = b"\xde\xad\xbe\xef"
    path.write_bytes(
        {
            "no database": b"Dear diary, today I wrote a text file.\n" * 200,
            "truncated": content[: len(content) // 2],
            "garbage in the header": garbage * 25 + content[100:],
            "garbage in the middle": content[:4096] + garbage * ((len(content) - 4096) // 4),
        }[fault]
    )

    async def main() -> None:
        async with opened(tmp_path) as store:
            await store.load_turn(session_id, None)

    with pytest.raises(StoreDamagedError) as raised:
        asyncio.run(main())
    assert str(path) in str(raised.value)
    assert "start afresh, or put a backup copy in its place" in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("has_log", [False, True])
def test_an_emptied_file_is_refused_and_unchanged(tmp_path: Path, has_log: bool) -> None:
    history_with_text(tmp_path, "text")
    path = database_path(tmp_path)
    path.write_bytes(b"")
    log = path.with_name("oneclaw.db-wal")
    if has_log:
        log.write_bytes(b"recent transactions")
    with pytest.raises(StoreDamagedError, match=r"was emptied, 0 bytes are left; .*oneclaw db restore FILE"):
        open_and_close(tmp_path)
    with pytest.raises(StoreDamagedError, match="was emptied"):
        read_states(backend_of(url_of(path)))
    assert path.read_bytes() == b""
    assert log.exists() == has_log


@pytest.mark.one_python
@pytest.mark.parametrize("size", [1, 50, 99, 100, 511, 512, 1024, 4096, 5000, 8192])
def test_a_truncated_file_is_refused_and_unchanged(tmp_path: Path, size: int) -> None:
    history_with_text(tmp_path, "text")
    path = database_path(tmp_path)
    content = path.read_bytes()[:size]
    path.write_bytes(content)
    with pytest.raises(StoreDamagedError, match="damaged"):
        open_and_close(tmp_path)
    assert path.read_bytes() == content


def test_opening_waits_for_a_slow_process_that_makes_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, may_go_on = threading.Event(), threading.Event()

    def slowly(connection: Connection) -> None:
        began.set()
        may_go_on.wait(10)
        create(connection)

    monkeypatch.setattr("oneclaw_core.sessions.migrations.create", slowly)

    async def main() -> None:
        backend = backend_of(url_of(database_path(tmp_path)), busy_seconds=0.05)
        first = asyncio.create_task(Database.open(backend))
        assert await asyncio.to_thread(began.wait, 10)
        second = asyncio.create_task(Database.open(backend))
        done, _ = await asyncio.wait([second], timeout=0.3)
        assert not done
        may_go_on.set()
        for database in await asyncio.gather(first, second):
            await database.close()

    asyncio.run(main())
    assert [file.name for file in tmp_path.iterdir()] == ["oneclaw.db"]


def test_a_path_under_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match=r"cannot be opened .*check the path"):
        open_and_close(tmp_path / "file" / "home")


def test_a_directory_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    database_path(tmp_path).mkdir()
    with pytest.raises(StoreError, match=r"cannot be opened.*check the path"):
        open_and_close(tmp_path)


@pytest.mark.parametrize("name", ["with space", "100%25", "what?mode=ro", "a#b", "ünïcode", "file:x"])
def test_the_path_in_a_url_is_taken_as_it_stands(tmp_path: Path, name: str) -> None:
    open_and_close(tmp_path / name)
    assert database_path(tmp_path / name).is_file()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://clara:hunter2@db.example/oneclaw",
        "sqlite://clara:hunter2@host/file.db",
        "clara:hunter2@db.example",
        "hunter2",
        "",
        "sqlite:///",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///file:x?mode=memory&password=hunter2",
        "sqlite:///a\x00b",
    ],
)
def test_a_url_that_names_no_file_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(StoreError, match="write sqlite:///PATH") as raised:
        path_of(url)
    assert "hunter2" not in str(raised.value)


def test_many_openings_at_once_make_one_database(tmp_path: Path) -> None:
    async def main() -> None:
        url = url_of(database_path(tmp_path))
        for database in await asyncio.gather(*(Database.open(backend_of(url)) for _ in range(8))):
            await database.close()

    asyncio.run(main())
    assert rows(database_path(tmp_path), "SELECT version FROM schema_version") == [(SCHEMA_VERSION,)]


def test_opening_waits_for_a_writer_when_it_turns_on_the_write_ahead_log(tmp_path: Path) -> None:
    open_and_close(tmp_path)
    path = database_path(tmp_path)
    change(path, "PRAGMA journal_mode = DELETE")

    async def main() -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as writer:
            writer.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreError, match="is locked by another process"):
                await Database.open(backend_of(url_of(path), busy_seconds=0.01))
            asyncio.get_running_loop().call_later(0.05, writer.rollback)
            await (await Database.open(backend_of(url_of(path)))).close()

    asyncio.run(main())
    assert rows(path, "PRAGMA journal_mode") == [("wal",)]


PROCESSES = 50
OPEN_AT_ONCE = """
import asyncio, os, sys
from importlib import import_module
from pathlib import Path
import tempfile
from oneclaw_core.sessions.sqlite_backend import SqliteBackend
from oneclaw_core.sessions.store import Store

# Imported once for all, so that the processes meet in the database.
for name in ("locks", "migrations", "sqlite_connection", "sqlite_search"):
    import_module(f"oneclaw_core.sessions.{name}")

async def use():
    async with await Store.open(SqliteBackend(Path(sys.argv[1])), lock_directory=Path(tempfile.mkdtemp())) as store:
        await store.create_session(agent="default")

waits, begins = os.pipe()
children = []
for _ in range(int(sys.argv[2])):
    child = os.fork()
    if not child:
        os.close(begins)
        os.read(waits, 1)
        status = 1
        try:
            asyncio.run(use())
            status = 0
        except Exception as error:
            print(error, flush=True)
        os._exit(status)
    children.append(child)
os.close(begins)
sys.exit(sum(os.waitpid(child, 0)[1] != 0 for child in children))
"""


@pytest.mark.long
@pytest.mark.one_python
def test_many_processes_that_open_at_once_make_one_database(tmp_path: Path) -> None:
    path = database_path(tmp_path / "home")
    command = [sys.executable, "-c", OPEN_AT_ONCE, str(path), str(PROCESSES)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 0)
    assert rows(path, "SELECT count(*) FROM sessions") == [(PROCESSES,)]
    assert not list(path.parent.glob(".*"))


KILLED_WHILE_CREATING = """
import asyncio, os, signal, sys
from pathlib import Path
from oneclaw_core.installation.stores import backend_of
from oneclaw_core.sessions.database import Database
from oneclaw_core.sessions.sqlite_connection import SqliteConnection

execute = SqliteConnection.execute

def execute_or_die(self, sql, *parameters):
    if sql.startswith("CREATE TABLE IF NOT EXISTS messages"):
        os.kill(os.getpid(), signal.SIGKILL)
    return execute(self, sql, *parameters)

SqliteConnection.execute = execute_or_die
asyncio.run(Database.open(backend_of(sys.argv[1], {})))
"""


@pytest.mark.long
@pytest.mark.one_python
def test_a_process_killed_while_it_makes_the_tables_leaves_no_file(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", KILLED_WHILE_CREATING, url_of(database_path(tmp_path))], timeout=30, check=False
    )
    assert ended.returncode == -signal.SIGKILL
    assert not database_path(tmp_path).exists()
    open_and_close(tmp_path)
    names = {name for (name,) in rows(database_path(tmp_path), "SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert names >= {table.name for table in TABLES}


def test_an_existing_file_keeps_its_permissions(tmp_path: Path) -> None:
    open_and_close(tmp_path)
    database_path(tmp_path).chmod(0o640)
    open_and_close(tmp_path)
    assert stat.S_IMODE(database_path(tmp_path).stat().st_mode) == 0o640
