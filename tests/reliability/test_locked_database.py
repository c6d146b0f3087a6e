"""A database that another process locks for long, at any point of a turn: an error, and nothing lost or doubled."""

import asyncio
import sqlite3
import threading
from contextlib import aclosing

import pytest
from audit import faults_of, faults_of_file
from how_long import some
from made_models import opened

from oneclaw_core import TokenUsage, ToolCall, tool
from oneclaw_core.errors import StoreError
from oneclaw_core.providers import ModelResponse
from oneclaw_core.sessions import sqlite_connection
from oneclaw_core.turn import call_records
from oneclaw_core.types.messages import MessageType

pytestmark = pytest.mark.one_python

ROUNDS = 2


class Lock:
    """Another program's transaction, which keeps all others from writing."""

    def __init__(self, path):
        self.path = path
        self.connection = None

    def take(self):
        self.connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        self.connection.execute("BEGIN IMMEDIATE")

    def give_back(self):
        if self.connection is not None:
            self.connection.rollback()
            self.connection.close()
            self.connection = None


@pytest.fixture
def impatient(monkeypatch):
    """No one waits ten seconds for the lock here."""
    monkeypatch.setattr(sqlite_connection, "BUSY_SECONDS", 0.05)
    monkeypatch.setattr(call_records, "STORE_RETRY_SECONDS", 0.1)


def of_rounds(request):
    """How many rounds of calls this turn has had."""
    latest = max(place for place, each in enumerate(request.messages) if each.type is MessageType.USER)
    return sum(each.type is MessageType.TOOL_RESULT for each in request.messages[latest:])


async def turn(claw, session="story"):
    async with aclosing(claw.send_message("go on", session=session)) as events:
        async for _ in events:
            pass


@pytest.mark.parametrize(
    "point", some(["first request", "second request", "first tool", "second tool", "last request"], 5)
)
def test_locked_in_the_middle_of_a_turn(tmp_path, impatient, point):
    lock = Lock(tmp_path / "home" / "oneclaw.db")
    done = []

    async def answer(request):
        number = of_rounds(request)
        if point == {0: "first request", 1: "second request", ROUNDS: "last request"}[number] and not done:
            done.append("locked")
            lock.take()
        if number == ROUNDS:
            yield ModelResponse(text="All done.", usage=TokenUsage(input_tokens=1))
        else:
            yield ModelResponse(tool_calls=(ToolCall(f"c{number}", "mark", f'{{"number": {number}}}'),))

    marks = []

    @tool
    def mark(number: int) -> str:
        """Make a mark.

        Args:
            number: which one.
        """
        marks.append(number)
        if point == {0: "first tool", 1: "second tool"}[number] and "locked" not in done:
            done.append("locked")
            lock.take()
        return "marked"

    async def main():
        async with opened(tmp_path / "home", answer, mark) as claw:
            not_stored = r"; not stored: the results of calls that ran \(mark\)" if "tool" in point else ""
            with pytest.raises(StoreError, match=f"is locked by another process: try again.*{not_stored}$"):
                await turn(claw)
            lock.give_back()
            ran = len(marks)
            await turn(claw)
            session = await claw.store.find_session("story")
            return await claw.store.messages(session.id), ran

    try:
        messages, ran = asyncio.run(main())
    finally:
        lock.give_back()
    assert faults_of(messages) == []
    assert faults_of_file(lock.path) == []
    # A call that ran is in the history, once; a mark that was made is not made again behind the user's back.
    calls = [message for message in messages if message.type is MessageType.TOOL_CALL]
    results = [message for message in messages if message.type is MessageType.TOOL_RESULT]
    assert len(calls) == len(marks) == ran + ROUNDS
    interrupted = [result for result in results if result.error_type == "interrupted"]
    assert len(interrupted) == ("tool" in point)


def test_a_lock_that_is_given_back_in_time_is_waited_for(tmp_path):
    lock = Lock(tmp_path / "home" / "oneclaw.db")
    timers = []

    async def answer(request):
        lock.take()
        timer = threading.Timer(0.3, lock.give_back)
        timers.append(timer)
        timer.start()
        yield ModelResponse(text="Done.")

    async def main():
        async with opened(tmp_path / "home", answer) as claw:
            await turn(claw)
            session = await claw.store.find_session("story")
            return [message.content for message in await claw.store.messages(session.id)]

    try:
        assert asyncio.run(main()) == ["go on", "Done."]
    finally:
        for timer in timers:
            timer.join()
        lock.give_back()


def test_listings_and_new_turns_while_it_is_locked(tmp_path, impatient):
    lock = Lock(tmp_path / "home" / "oneclaw.db")

    async def answer(request):
        yield ModelResponse(text="Done.")

    async def main():
        async with opened(tmp_path / "home", answer) as claw:
            await turn(claw)
            lock.take()
            assert len(await claw.store.list_sessions()) == 1
            for _ in range(3):
                with pytest.raises(StoreError, match="is locked by another process"):
                    await turn(claw)
            with pytest.raises(StoreError, match="is locked by another process"):
                await turn(claw, session=None)
            lock.give_back()
            await turn(claw)
            session = await claw.store.find_session("story")
            assert len(await claw.store.list_sessions()) == 1
            return [message.content for message in await claw.store.messages(session.id)]

    try:
        assert asyncio.run(main()) == ["go on", "Done."] * 2
    finally:
        lock.give_back()
