"""A database that cannot be written for a while: what is known by then is stored once it can, and nothing twice."""

import asyncio
import sqlite3
import threading
from contextlib import aclosing, closing
from itertools import product

import psycopg
import pytest
from audit import faults_of
from how_long import some
from made_models import opened

from oneclaw_core import MessageType, ToolCall, ToolContext, tool
from oneclaw_core.errors import StoreUnavailableError
from oneclaw_core.providers import ModelResponse
from oneclaw_core.sessions import sqlite_connection
from oneclaw_core.turn import call_records

pytestmark = pytest.mark.one_python

# Longer than the store tries by itself.
AWAY_SECONDS = 0.3


class LockedFile:
    """A SQLite file that another connection locks."""

    def __init__(self, path):
        self._path = path

    def leave(self):
        self._connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        self._connection.execute("BEGIN IMMEDIATE")

    def come_back(self):
        with closing(self._connection):
            self._connection.rollback()


class ClosedDatabase:
    """A database whose server ends all connections and takes no others."""

    def __init__(self, url, server):
        self._name = url.partition("?")[0].rpartition("/")[2]
        self._server = server

    def leave(self):
        self._server.execute(f"ALTER DATABASE {self._name} ALLOW_CONNECTIONS false")
        self._server.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = %s", (self._name,)
        )

    def come_back(self):
        self._server.execute(f"ALTER DATABASE {self._name} ALLOW_CONNECTIONS true")


@pytest.fixture
def outage(database_environ, tmp_path, monkeypatch, request):
    monkeypatch.setattr(sqlite_connection, "BUSY_SECONDS", 0.02)
    url = database_environ.get("ONECLAW_DATABASE_URL")
    if url is None:
        yield LockedFile(tmp_path / "oneclaw.db")
        return
    with psycopg.connect(request.getfixturevalue("postgres").uri("postgres"), autocommit=True) as server:
        yield ClosedDatabase(url, server)


@pytest.mark.parametrize("what", ["a permission", "the marks of a file"])
def test_away_while_something_is_recorded_for_a_call(tmp_path, database_environ, outage, monkeypatch, what):
    monkeypatch.setattr(call_records, "STORE_RETRY_SECONDS", 30)
    timers, results = [], []

    async def answer(request):
        results.extend(each.content for each in request.messages if each.type is MessageType.TOOL_RESULT)
        if results:
            yield ModelResponse(text="All done.")
        else:
            yield ModelResponse(tool_calls=(ToolCall("c0", "mark", "{}"),))

    @tool
    async def mark(context: ToolContext) -> str:
        """Make a mark."""
        if what != "a permission":
            (await context.readable("notes.txt")).read_text()
        outage.leave()
        timers.append(threading.Timer(AWAY_SECONDS, outage.come_back))
        timers[0].start()
        if what == "a permission":
            await context.ask_permission("network.private", "to make a mark")
        return "marked"

    async def main():
        async with opened(tmp_path, answer, mark, allow=["network.private"], **database_environ) as claw:
            (claw.home.workspace / "notes.txt").write_text("notes")
            async with aclosing(claw.send_message("go on", session="story")) as events:
                assert [event async for event in events][-1].text == "All done."
            return await claw.store.permission_log(10)

    log = asyncio.run(main())
    timers[0].join()
    assert results == ["marked"]
    assert [each.permission for each in log] == (["network.private"] if what == "a permission" else [])


@pytest.mark.parametrize(("point", "lasts"), some(list(product(["tool", "answer"], ["for a while", "permanently"])), 2))
def test_away_in_the_middle_of_a_turn(tmp_path, database_environ, outage, monkeypatch, point, lasts):
    is_long = lasts == "permanently"
    monkeypatch.setattr(call_records, "STORE_RETRY_SECONDS", 0.2 if is_long else 30)
    timers, ran = [], []

    def go_away():
        outage.leave()
        if not is_long:
            timers.append(threading.Timer(AWAY_SECONDS, outage.come_back))
            timers[0].start()

    async def answer(request):
        if any(each.type is MessageType.TOOL_RESULT for each in request.messages):
            if point == "answer":
                await asyncio.to_thread(go_away)
            yield ModelResponse(text="All done.")
        else:
            yield ModelResponse(tool_calls=(ToolCall("c0", "mark", "{}"),))

    @tool
    def mark() -> str:
        """Make a mark."""
        ran.append("mark")
        if point == "tool":
            go_away()
        return "marked"

    async def main():
        async with opened(tmp_path, answer, mark, **database_environ) as claw:
            try:
                async with aclosing(claw.send_message("go on", session="story")) as events:
                    last = [event async for event in events][-1]
            except StoreUnavailableError as error:
                outage.come_back()
                return str(error), None
            session = await claw.store.find_session("story")
            return last.text, await claw.store.messages(session.id)

    said, messages = asyncio.run(main())
    for timer in timers:
        timer.join()
    assert ran == ["mark"]
    if is_long:
        assert ("not stored: the results of calls that ran (mark)" in said) == (point == "tool")
        return
    assert said == "All done."
    assert faults_of(messages) == []
    assert [(each.type, each.content) for each in messages] == [
        (MessageType.USER, "go on"),
        (MessageType.ASSISTANT, ""),
        (MessageType.TOOL_CALL, ""),
        (MessageType.TOOL_RESULT, "marked"),
        (MessageType.ASSISTANT, "All done."),
    ]
