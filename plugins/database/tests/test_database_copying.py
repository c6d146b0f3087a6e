"""Copying a database into another one, of any kind, without loss."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from databases import backend_of
from histories import assistant, call, change, database_path, database_url, rows, success, user
from oneclaw_database import copying
from oneclaw_database import status as database_status

from oneclaw_core.errors import StoreError, UsageError
from oneclaw_core.permissions import Decision, Grant
from oneclaw_core.search.words import parse_query
from oneclaw_core.sessions.search import SearchRange
from oneclaw_core.sessions.sqlite_backend import SqliteBackend
from oneclaw_core.sessions.store import Store
from oneclaw_core.sessions.usage import PrefixFingerprint, UsageRecord
from oneclaw_core.types.agents import Agent
from oneclaw_core.types.messages import Attachment, Message, MessageType, TokenUsage
from oneclaw_core.types.provenance import FileState, Mark, MarkKind, UsedFile

if TYPE_CHECKING:
    from postgres_server import PostgresServer

    from oneclaw_core.sessions.backend import Backend
    from oneclaw_core.sessions.plugin_storage import StorageConnection
    from oneclaw_core.types.messages import Message as StoredMessage

pytestmark = pytest.mark.one_python  # needs the plugin postgres

ODD = "Grüße, 世界 🦀 'quoted' \\ %s \u2028 \t"
PICTURE = Attachment("a.png", "image/png", bytes(range(256)) * 9)


@pytest.fixture(params=["other kind", pytest.param("same kind", marks=pytest.mark.long)])
def target(request: pytest.FixtureRequest, database_kind: str, postgres: PostgresServer, tmp_path: Path) -> Backend:
    """A database that does not exist, or is empty; in `long` also one of the same kind as the source."""
    if (database_kind == "sqlite") == (request.param == "same kind"):
        return SqliteBackend(tmp_path / "target" / "copy.db")
    from postgres_server import database_on_server

    return backend_of(database_on_server(postgres.uri("postgres"), tmp_path / "target", "template0"))


@pytest.fixture
def source(database_kind: str, tmp_path: Path) -> Backend:
    """A database of the kind that the test runs with."""
    return SqliteBackend(database_path(tmp_path)) if database_kind == "sqlite" else backend_of(database_url(tmp_path))


async def fill(store: Store, messages: int = 600) -> None:
    work = await store.create_session("work", agent="Poet", title=ODD)
    # A session can come before the one in which it began, in the order of ids.
    for _ in range(6):
        work = await store.create_session(agent="default", parent_id=work.id)
    files = replace(user(ODD), attachments=(PICTURE, Attachment("b", "text/plain", b"")))
    await store.append(work.id, [files, call("1"), success("1", ODD), assistant("the end")])
    await store.begin_script(work.id, "1", "{}")
    await store.append(work.id, [user(f"message {number}") for number in range(messages)])
    await store.append(work.id, [Message(type=MessageType.ASSISTANT, provider_data={"openai": {"ü": [1, None]}})])
    gone = await store.create_session(agent="default")
    await store.append(gone.id, [user("gone")])
    used = UsageRecord("p", "m", TokenUsage(input_tokens=7), 0.1, ("a", "ü"), PrefixFingerprint("t", "s", "h"))
    await store.append(gone.id, [], usage=used)
    await store.delete_session(gone.id)
    await store.create_agent(
        Agent(name="Poet", description="Grüße %s", system_prompt=ODD, parameters={"temperature": 0.1})
    )
    await store.set_setting("key", {"a": [1.5, None, ODD]})
    await store.set_grant(Grant("files.write", decision=Decision.DENY))
    await store.set_tool_enabled("tool", "on", True)
    await store.set_tool_enabled("group", "off", False)
    written = UsedFile(Path("/home/ada/ü.txt"), "write", 5)
    await store.record_written([written], [Mark(MarkKind.OUTSIDE, ODD)], 2_000_000_000_000_000_000)


async def everything(backend: Backend, home: Path) -> dict[str, object]:
    async with await Store.open(backend, lock_directory=home / "locks") as store:
        sessions = await store.list_sessions()
        found = await store.search(parse_query("message 599"), SearchRange(), wants_all=True)
        titles = await store.search(parse_query("grüße"), SearchRange(), wants_all=True)
        return {
            "sessions": sessions,
            "messages": {each.id: await store.messages(each.id) for each in sessions},
            "usage": await store.usage_totals(),
            "agents": await store.list_agents(),
            "settings": await store.settings(),
            "permissions": await store.grants(),
            "log": await store.permission_log(10),
            "tools": await store.tool_states(),
            "files": await store.file_marks([FileState("/home/ada/ü.txt", 7, 7)]),
            "found": [(each.text, each.sequence) for each in found.passages],
            "titles": sorted(each.text for each in titles.passages),
        }


def test_everything_is_copied(tmp_path: Path, source: Backend, target: Backend) -> None:
    seen: list[tuple[str, int]] = []

    async def first() -> dict[str, object]:
        async with await Store.open(source, lock_directory=tmp_path / "locks") as store:
            await fill(store)
        return await everything(source, tmp_path)

    before = asyncio.run(first())
    tables = copying.copy(source, target, lambda name, count: seen.append((name, count)))
    counts = {each.name: each.rows for each in tables}
    assert counts == {
        "agents": 1,
        "attachments": 2,
        "messages": 605,
        "grants": 1,
        "permission_log": 0,
        "sessions": 7,
        "plugin_values": 0,
        "script_calls": 1,
        "settings": 1,
        "tool_states": 2,
        "usage": 1,
        "written_files": 1,
    }
    assert ("messages", 500) in seen
    assert ("messages", 605) in seen
    assert database_status.status(target).rows == database_status.status(source).rows == counts
    after = asyncio.run(everything(target, tmp_path))
    assert after == before
    assert before["found"]

    async def numbers() -> list[list[StoredMessage]]:
        stored = []
        for backend in (source, target):
            async with await Store.open(backend, lock_directory=tmp_path / "locks") as store:
                session = await store.create_session(agent="default")
                stored.append(await store.append(session.id, [user("next")]))
        return stored

    [[of_source], [of_target]] = asyncio.run(numbers())
    assert of_source.sequence == of_target.sequence
    assert of_source.sequence is not None
    # That of the deleted message is not given again.
    assert of_source.sequence >= 607


def test_who_has_the_lock_of_a_session_is_not_copied(tmp_path: Path, source: Backend, target: Backend) -> None:
    """The copy's sessions belong to no turn, and those of the source to theirs."""

    async def main() -> None:
        async with await Store.open(source, lock_directory=tmp_path / "locks") as store:
            await store.create_session(agent="default")
            await store._database.write(lambda it: it.execute("UPDATE sessions SET lock_token = 5").close())

    def tokens(backend: Backend) -> list[object]:
        with closing(backend.connect()) as connection:
            return [token for (token,) in connection.execute("SELECT lock_token FROM sessions")]

    asyncio.run(main())
    copying.copy(source, target, lambda name, count: None)
    assert (tokens(source), tokens(target)) == ([5], [None])


def test_a_target_that_is_not_empty_is_refused_and_unchanged(tmp_path: Path, source: Backend, target: Backend) -> None:
    async def main(backend: Backend) -> None:
        async with await Store.open(backend, lock_directory=tmp_path / "locks") as store:
            await store.set_setting("key", backend.name)

    for backend in (source, target):
        asyncio.run(main(backend))
    before = database_status.status(target)
    with pytest.raises(UsageError, match=r"is not empty \(it has rows in settings\): nothing was copied"):
        copying.copy(source, target, lambda name, count: None)
    assert database_status.status(target) == before


def test_a_database_is_not_copied_into_itself(source: Backend) -> None:
    with pytest.raises(UsageError, match="cannot be copied into itself"):
        copying.copy(source, source, lambda name, count: None)


def test_what_does_not_arrive_as_it_left_is_noticed(
    tmp_path: Path, source: Backend, target: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def first() -> None:
        async with await Store.open(source, lock_directory=tmp_path / "locks") as store:
            await fill(store, 1)

    asyncio.run(first())
    monkeypatch.setattr(copying, "_set_parents", lambda source, old, new: None)
    with pytest.raises(StoreError, match=r"is not what was copied \(sessions\): nothing was kept"):
        copying.copy(source, target, lambda name, count: None)
    assert set(database_status.status(target).rows.values()) == {0}


COPY = """
import os, signal, sys
from oneclaw_database import copying
from oneclaw_core.installation.stores import backend_of

def progress(table, rows):
    if table == "messages" and rows >= 500:
        os.kill(os.getpid(), signal.SIGKILL)

copying.copy(*(backend_of(each, {}) for each in sys.argv[1:3]), progress)
"""


@pytest.mark.long
def test_an_interrupted_copy_leaves_nothing_and_can_be_begun_again(
    tmp_path: Path, source: Backend, target: Backend
) -> None:
    async def first() -> None:
        async with await Store.open(source, lock_directory=tmp_path / "locks") as store:
            await fill(store)

    asyncio.run(first())
    ended = subprocess.run([sys.executable, "-c", COPY, source.url, target.url], timeout=30, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert set(database_status.status(target).rows.values()) == {0}
    copied = {each.name: each.rows for each in copying.copy(source, target, lambda *_: None)}
    assert copied["messages"] == 605


@pytest.mark.only("sqlite")
def test_text_that_postgresql_cannot_hold_stops_the_copy(tmp_path: Path, postgres: PostgresServer) -> None:
    source = SqliteBackend(database_path(tmp_path))
    database_status.status(source)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("ONECLAW_TEST_POSTGRES")
        change(tmp_path, "INSERT INTO settings VALUES ('a' || char(0), '1', 0)")
        assert rows(tmp_path, "SELECT count(*) FROM settings") == [(1,)]
    from postgres_server import database_on_server

    target = backend_of(database_on_server(postgres.uri("postgres"), tmp_path / "target"))
    with pytest.raises(StoreError, match="NUL"):
        copying.copy(source, target, lambda name, count: None)
    assert database_status.status(target).rows["settings"] == 0


def test_values_of_plugins_are_copied_and_their_tables_begin_anew(
    tmp_path: Path, source: Backend, target: Backend
) -> None:
    def create(connection: StorageConnection) -> None:
        connection.execute("CREATE TABLE notes__notes (id BIGINT)")

    async def first() -> None:
        async with await Store.open(source, lock_directory=tmp_path / "locks") as store:
            storage = store.plugin_storage("notes")
            session = await store.create_session(agent="default")
            await storage.set("key", {"a": 1}, ttl_seconds=3600)
            await storage.of_session(session.id).set("key", 2)
            tables = await storage.tables([create])
            await tables.write(lambda it: it.execute("INSERT INTO notes__notes (id) VALUES (1)"))

    async def second() -> None:
        async with await Store.open(target, lock_directory=tmp_path / "locks") as store:
            storage = store.plugin_storage("notes")
            [session] = await store.list_sessions()
            assert await storage.get("key") == {"a": 1}
            assert await storage.of_session(session.id).get("key") == 2
            tables = await storage.tables([create])
            assert await tables.read(lambda it: it.execute("SELECT id FROM notes__notes").fetchall()) == []

    asyncio.run(first())
    copying.copy(source, target, lambda name, count: None)
    assert (copying.plugins_with_tables(source), copying.plugins_with_tables(target)) == (["notes"], [])
    asyncio.run(second())
