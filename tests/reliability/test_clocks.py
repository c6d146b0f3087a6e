"""A clock that jumps, back and forth and far: the order of things, limits and deadlines stay what they are."""

import asyncio
import random
import time
from contextlib import aclosing
from datetime import UTC, datetime

import pytest
from audit import faults_of, faults_of_file
from how_long import some
from made_models import opened

from oneclaw_core import TokenUsage, ToolCall, TurnFinishedEvent
from oneclaw_core.errors import SpendingLimitError, TurnDeadlineError
from oneclaw_core.providers import ModelResponse
from oneclaw_core.types.events import UsageEvent
from oneclaw_core.types.messages import MessageType

pytestmark = pytest.mark.one_python

YEAR_SECONDS = 366 * 24 * 3600
REAL_TIME, REAL_TIME_NS = time.time, time.time_ns


class JumpingClock:
    """The time of day, with jumps; what measures durations has another clock."""

    def __init__(self, monkeypatch):
        self.offset_seconds = 0.0
        clock = self

        class Moment(datetime):
            @classmethod
            def now(cls, tz=None):
                moment = datetime.fromtimestamp(clock.time(), UTC)
                return moment.astimezone(tz) if tz is not None else moment.astimezone().replace(tzinfo=None)

        monkeypatch.setattr(time, "time", self.time)
        monkeypatch.setattr(time, "time_ns", lambda: int(self.time() * 1e9))
        monkeypatch.setattr("oneclaw_http_providers.retry.datetime", Moment)
        for module in ("types.budget", "sessions.conversations", "builtin.clock"):
            monkeypatch.setattr(f"oneclaw_core.{module}.datetime", Moment)

    def time(self):
        return max(REAL_TIME() + self.offset_seconds, 0.0)


@pytest.fixture
def clock(monkeypatch):
    return JumpingClock(monkeypatch)


def jumps(chance, count):
    """Seconds, with the worst first: to 1970 and far ahead."""
    yield from (-100 * YEAR_SECONDS, 200 * YEAR_SECONDS, 0.0, -1.0, 1.0, -86_400.0, 86_400.0)
    for _ in range(count):
        yield chance.choice((1, 60, 3_600, 86_400, YEAR_SECONDS)) * chance.uniform(-3, 3)


async def turn(claw, text, session="story"):
    events = []
    async with aclosing(claw.send_message(text, session=session)) as it:
        async for event in it:
            events.append(event)
    return events


@pytest.mark.long
def test_turns_while_the_clock_jumps(tmp_path, clock, is_long):
    chance = random.Random(3)
    offsets = list(jumps(chance, 300 if is_long else 20))
    remaining = iter([each for offset in offsets for each in (offset, offset / 2, -offset, 0.0)])

    async def answer(request):
        # In the middle of a turn, too.
        clock.offset_seconds = next(remaining, 0.0)
        last = request.messages[-1]
        if last.type is MessageType.USER:
            yield ModelResponse(
                tool_calls=(ToolCall("c", "get_current_time", '{"timezone": "UTC"}'),),
                usage=TokenUsage(input_tokens=10, output_tokens=5),
            )
        else:
            yield ModelResponse(text="Done.", usage=TokenUsage(input_tokens=10, output_tokens=5))

    async def main():
        async with opened(tmp_path / "home", answer) as claw:
            for number, offset in enumerate(offsets):
                clock.offset_seconds = offset
                events = await turn(claw, f"word number{number}")
                assert isinstance(events[-1], TurnFinishedEvent)
            await turn(claw, "another", session="other")
            session = await claw.store.find_session("story")
            messages = await claw.store.messages(session.id)
            totals = await claw.store.usage_totals()
            listed = await claw.store.list_sessions()
            found = [
                len((await claw.services.sessions.search(f"number{number}")).hits) for number in (0, len(offsets) - 1)
            ]
            return messages, totals, listed, found

    messages, totals, listed, found = asyncio.run(main())
    assert faults_of(messages) == []
    assert faults_of_file(tmp_path / "home" / "oneclaw.db") == []
    assert len(messages) == 5 * len(offsets)
    texts = [message.content for message in messages if message.type is MessageType.USER]
    assert texts == [f"word number{number}" for number in range(len(offsets))]
    assert totals.requests == 2 * len(offsets) + 2
    assert totals.input_tokens == 10 * totals.requests
    assert len(listed) == 2
    assert found == [1, 1]
    durations = [message.duration_ms for message in messages if message.type is MessageType.TOOL_RESULT]
    assert all(0 <= duration < 10_000 for duration in durations)


@pytest.mark.long
def test_a_deadline_is_kept_though_the_clock_goes_back(tmp_path, clock):
    async def answer(request):
        clock.offset_seconds = -10 * YEAR_SECONDS
        await asyncio.Event().wait()
        yield ModelResponse(text="never")

    async def main():
        async with opened(tmp_path / "home", answer, ONECLAW_TURN_DEADLINE_SECONDS="0.3") as claw:
            with pytest.raises(TurnDeadlineError):
                await turn(claw, "hello")

    started = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - started < 10


def test_a_deadline_does_not_come_early_though_the_clock_goes_ahead(tmp_path, clock):
    async def answer(request):
        clock.offset_seconds += YEAR_SECONDS
        yield ModelResponse(text="Done.")

    async def main():
        async with opened(tmp_path / "home", answer, ONECLAW_TURN_DEADLINE_SECONDS="60") as claw:
            return await turn(claw, "hello")

    assert isinstance(asyncio.run(main())[-1], TurnFinishedEvent)


@pytest.mark.parametrize("offset_seconds", some([-2 * 86_400.0, 2 * 86_400.0, -40 * YEAR_SECONDS, 0.0], 4))
def test_the_limit_of_a_day_holds_on_the_day_that_the_clock_says(tmp_path, clock, offset_seconds):
    async def answer(request):
        yield ModelResponse(text="Done.", usage=TokenUsage(input_tokens=60, output_tokens=60))

    async def main():
        async with opened(tmp_path / "home", answer, ONECLAW_DAY_MAX_TOKENS="100") as claw:
            clock.offset_seconds = offset_seconds
            events = await turn(claw, "hello")
            assert any(isinstance(event, UsageEvent) for event in events)
            with pytest.raises(SpendingLimitError):
                await turn(claw, "hello again")
            clock.offset_seconds = offset_seconds + 3 * 86_400.0
            return await turn(claw, "and again")

    assert isinstance(asyncio.run(main())[-1], TurnFinishedEvent)


def test_what_was_used_while_the_clock_was_ahead_limits_no_one_until_that_day_comes(tmp_path, clock):
    async def answer(request):
        yield ModelResponse(text="Done.", usage=TokenUsage(input_tokens=60, output_tokens=60))

    async def main():
        async with opened(tmp_path / "home", answer, ONECLAW_DAY_MAX_TOKENS="100") as claw:
            clock.offset_seconds = 2 * YEAR_SECONDS
            await turn(claw, "hello")
            clock.offset_seconds = 0.0
            return await turn(claw, "and again")

    assert isinstance(asyncio.run(main())[-1], TurnFinishedEvent)
