"""The server ends the connection with the lock of a session in the middle of a turn, and another process may come."""

import asyncio
import collections
import os
from contextlib import aclosing, asynccontextmanager

import psycopg
import pytest
from databases import VARIABLE
from histories import pending_calls
from how_long import some
from postgres_server import database_on_server

from oneclaw_core import (
    MessageType,
    OneClaw,
    ProviderError,
    SessionBusyError,
    TokenUsage,
    ToolCall,
    ToolCallEvent,
    TurnDeadlineError,
    TurnFinishedEvent,
    tool,
)
from oneclaw_core.providers import ModelResponse, TextDelta

pytestmark = pytest.mark.one_python

END_HOLDERS = """
    SELECT pg_terminate_backend(pid, 10000) FROM (SELECT DISTINCT pid FROM pg_locks WHERE locktype = 'advisory') AS it
"""


class Machine:
    """A separate home on the shared database, with a model that says what it is told to, and a tool to stop at."""

    def __init__(self, claw, url):
        self.claw = claw
        self.url = url
        self.is_running, self.go_on = asyncio.Event(), asyncio.Event()
        self.answers = []
        machine = self

        @tool
        async def stop(number: int) -> str:
            """Stop until somebody says go on; number 0 does not."""
            if number:
                machine.is_running.set()
                await machine.go_on.wait()
            return f"went on {number}"

        class Scripted:
            attachment_media_types = ("image/",)
            loads_natively = False

            def __init__(self, config):
                self.config = config

            async def stream(self, request):
                answer = machine.answers.pop(0)
                if callable(answer):
                    async for event in answer():
                        yield event
                else:
                    yield answer

            async def list_models(self):
                return []

            async def aclose(self):
                pass

        claw.catalog.provider_types["scripted"] = Scripted
        claw.catalog.registry.register(stop)

    def lose_lock(self):
        with psycopg.connect(self.url.replace("+psycopg", ""), autocommit=True) as connection:
            assert connection.execute(END_HOLDERS).fetchall() == [(True,)]

    async def turn(self, text, *answers):
        self.answers += answers
        events = []
        async with aclosing(self.claw.send_message(text, session="s", model="scripted/model")) as all_events:
            async for event in all_events:
                events.append(event)
        return events

    async def has_pending_calls(self, count):
        session = await self.claw.store.find_session("s")
        async with asyncio.timeout(10):
            while len(await pending_calls(self.claw.store, session.id)) != count:
                await asyncio.sleep(0.005)

    async def history(self):
        session = await self.claw.store.find_session("s")
        return await self.claw.store.messages(session.id)


@pytest.fixture
def url(postgres, tmp_path):
    return database_on_server(os.environ[VARIABLE], tmp_path)


@asynccontextmanager
async def machines(url, tmp_path, **environ):
    environ = {"ONECLAW_DATABASE_URL": url, "ONECLAW_SESSION_WAIT_SECONDS": "5"} | environ
    async with (
        OneClaw.open(tmp_path / "a", environ=environ, start_directory=tmp_path) as first,
        OneClaw.open(tmp_path / "b", environ=environ, start_directory=tmp_path) as other,
    ):
        await first.store.set_setting("provider:scripted", {"type": "scripted"})
        yield Machine(first, url), Machine(other, url)


def says(text):
    return ModelResponse(text=text, usage=TokenUsage(input_tokens=10, output_tokens=2))


def calls(*numbers):
    return ModelResponse(
        tool_calls=tuple(ToolCall(f"call {number}", "stop", f'{{"number": {number}}}') for number in numbers),
        usage=TokenUsage(input_tokens=10, output_tokens=2),
    )


def shown(history):
    """What a history says, each call with its only outcome."""
    results = collections.defaultdict(list)
    for message in history:
        if message.type is MessageType.TOOL_RESULT:
            results[message.tool_call_id].append(message)
    said = []
    for message in history:
        if message.type is MessageType.TOOL_CALL:
            [result] = results.pop(message.tool_call_id)
            assert message.tool_status is result.tool_status
            said.append((message.tool_call_id, result.error_type or "success"))
        elif message.type is not MessageType.TOOL_RESULT and message.content:
            said.append(message.content)
    assert not results
    return said


@pytest.mark.long
def test_the_turn_completes_when_no_one_else_comes(url, tmp_path):
    async def main():
        async with machines(url, tmp_path) as (first, other):
            turn = asyncio.create_task(first.turn("first", calls(0, 1), calls(2), says("done")))
            await first.is_running.wait()
            first.lose_lock()
            first.go_on.set()
            events = await turn
            assert isinstance(events[-1], TurnFinishedEvent)
            await other.turn("second", says("done again"))
            return shown(await other.history())

    assert asyncio.run(main()) == [
        "first",
        *(("call 0", "success"), ("call 1", "success"), ("call 2", "success")),
        "done",
        "second",
        "done again",
    ]


@pytest.mark.long
def test_the_turn_is_refused_when_another_process_has_taken_the_session(url, tmp_path):
    async def main():
        async with machines(url, tmp_path) as (first, other):
            turn = asyncio.create_task(first.turn("first", calls(0, 1), says("never")))
            await first.is_running.wait()
            await first.has_pending_calls(1)
            first.lose_lock()
            await other.turn("second", calls(0), says("done"))
            first.go_on.set()
            with pytest.raises(SessionBusyError, match=r"^session 's' went to another turn while .* send the message"):
                await turn
            assert len(first.answers) == 1
            first.answers.clear()
            after = shown(await other.history())
            # Whoever was refused may come again.
            await first.turn("third", says("done at last"))
            return after, shown(await first.history())

    after, at_last = asyncio.run(main())
    # The second turn's call has the same id as one of the first, and gets another one.
    second_call = after.pop(4)
    assert second_call[1] == "success"
    assert after == ["first", ("call 0", "success"), ("call 1", "interrupted"), "second", "done"]
    assert at_last == [*after[:4], second_call, "done", "third", "done at last"]


@pytest.mark.long
def test_the_turn_is_refused_while_the_other_one_runs(url, tmp_path):
    async def main():
        async with machines(url, tmp_path) as (first, other):
            turn = asyncio.create_task(first.turn("first", calls(1), says("never")))
            await first.is_running.wait()
            first.lose_lock()
            second = asyncio.create_task(other.turn("second", calls(2), says("done")))
            await other.is_running.wait()
            first.go_on.set()
            with pytest.raises(SessionBusyError, match="went to another turn"):
                await turn
            other.go_on.set()
            await second
            return shown(await first.history())

    assert asyncio.run(main()) == ["first", ("call 1", "interrupted"), "second", ("call 2", "success"), "done"]


def test_an_answer_that_comes_too_late_is_refused_and_paid_for(url, tmp_path):
    async def main():
        async with machines(url, tmp_path) as (first, other):
            asked, answer_now = asyncio.Event(), asyncio.Event()

            async def late():
                asked.set()
                await answer_now.wait()
                yield TextDelta("too late")
                yield says("too late")

            turn = asyncio.create_task(first.turn("first", late))
            await asked.wait()
            first.lose_lock()
            await other.turn("second", says("done"))
            answer_now.set()
            with pytest.raises(SessionBusyError, match="went to another turn"):
                await turn
            assert (await other.claw.store.usage_totals()).requests == 2
            return shown(await other.history())

    assert asyncio.run(main()) == ["first", "second", "done"]


@pytest.mark.long
@pytest.mark.parametrize("end", some(["closed", "cancelled", "deadline", "model"], 2))
def test_why_the_turn_ends_is_said_even_if_it_could_store_nothing_more(url, tmp_path, end):
    async def broken():
        yield TextDelta("half an ans")
        first_half_said.set()
        await go_on.wait()
        raise ProviderError("the service broke off; try again")

    first_half_said, go_on = asyncio.Event(), asyncio.Event()

    async def main():
        seconds = "1" if end == "deadline" else "60"
        async with machines(url, tmp_path, ONECLAW_TURN_DEADLINE_SECONDS=seconds) as (first, other):
            if end == "model":
                turn = asyncio.create_task(first.turn("first", broken))
                await first_half_said.wait()
            elif end == "closed":
                first.answers.append(calls(1))
                events = first.claw.send_message("first", session="s", model="scripted/model")
                await anext(event async for event in events if isinstance(event, ToolCallEvent))
            else:
                turn = asyncio.create_task(first.turn("first", calls(1)))
                await first.is_running.wait()
            first.lose_lock()
            await other.turn("second", says("done"))
            if end == "closed":
                await events.aclose()
            elif end == "cancelled":
                turn.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await turn
            else:
                go_on.set()
                with pytest.raises(
                    TurnDeadlineError if end == "deadline" else ProviderError, match=r"try again|to go on"
                ):
                    await turn
            return shown(await other.history())

    between = [] if end == "model" else [("call 1", "interrupted")]
    assert asyncio.run(main()) == ["first", *between, "second", "done"]
