"""Ending the turns that run, whoever listens to them and however."""

import asyncio
from contextlib import aclosing

import pytest

from oneclaw_core import UsageError
from oneclaw_core.turn import tracker as running_turns
from oneclaw_core.turn.tracker import TurnTracker


class Turn:
    """A turn of three events, the last of which never comes."""

    def __init__(self):
        self.waits = asyncio.Event()
        self.ended = []

    async def events(self):
        try:
            yield 1
            yield 2
            self.waits.set()
            await asyncio.Event().wait()
            yield 3
        finally:
            await asyncio.sleep(0)
            self.ended.append(True)


def test_a_turn_that_nobody_asks_for_its_next_event_is_ended():
    async def run():
        turns, turn = TurnTracker(), Turn()
        events = turns.followed(turn.events())
        assert await anext(events) == 1
        await turns.end()
        assert turn.ended == [True]
        with pytest.raises(StopAsyncIteration):
            await anext(events)

    asyncio.run(run())


def test_a_turn_that_was_left_is_ended_before_the_end_returns():
    async def run():
        turns, turn = TurnTracker(), Turn()
        async for _ in turns.followed(turn.events()):
            break
        await turns.end()
        return turn.ended

    assert asyncio.run(run()) == [True]


def test_a_turn_that_was_left_ends_without_waiting_for_the_home():
    async def run():
        turns, turn = TurnTracker(), Turn()
        async for _ in turns.followed(turn.events()):
            break
        async with asyncio.timeout(10):
            while not turn.ended:
                await asyncio.sleep(0)

    asyncio.run(run())


def test_a_task_that_waits_for_an_event_is_cancelled():
    async def run():
        turns, turn = TurnTracker(), Turn()
        seen = []

        async def listen():
            async for event in turns.followed(turn.events()):
                seen.append(event)

        listener = asyncio.create_task(listen())
        await turn.waits.wait()
        await turns.end()
        assert turn.ended == [True]
        with pytest.raises(asyncio.CancelledError):
            await listener
        return seen

    assert asyncio.run(run()) == [1, 2]


def test_the_task_that_asked_last_is_the_one_that_is_cancelled():
    async def run():
        turns, turn = TurnTracker(), Turn()
        events = turns.followed(turn.events())
        assert await asyncio.create_task(anext(events)) == 1
        assert await anext(events) == 2
        waiting = asyncio.create_task(anext(events))
        await turn.waits.wait()
        await turns.end()
        return (await asyncio.gather(waiting, return_exceptions=True)), turn.ended

    [outcome], ended = asyncio.run(run())
    assert isinstance(outcome, asyncio.CancelledError)
    assert ended == [True]


def test_a_turn_that_is_being_closed_is_waited_for():
    async def run():
        turns = TurnTracker()
        may_end, is_ending, ended = asyncio.Event(), asyncio.Event(), []

        async def slow_to_end():
            try:
                yield 1
            finally:
                is_ending.set()
                await may_end.wait()
                ended.append(True)

        events = turns.followed(slow_to_end())
        await anext(events)
        closing = asyncio.create_task(events.aclose())
        await is_ending.wait()
        end = asyncio.create_task(turns.end())
        await asyncio.sleep(0)
        assert not end.done()
        may_end.set()
        await asyncio.gather(closing, end)
        return ended

    assert asyncio.run(run()) == [True]


def test_a_task_in_a_home_is_cancelled_and_waited_for():
    async def run():
        turns, started, ended = TurnTracker(), asyncio.Event(), []

        async def work():
            with turns.of_this_task():
                try:
                    started.set()
                    await asyncio.sleep(60)
                finally:
                    await asyncio.sleep(0)
                    ended.append(True)

        task = asyncio.create_task(work())
        await started.wait()
        await turns.end()
        assert ended == [True]
        return (await asyncio.gather(task, return_exceptions=True))[0]

    assert isinstance(asyncio.run(run()), asyncio.CancelledError)


def test_what_has_not_begun_or_has_ended_is_not_waited_for():
    async def run():
        turns = TurnTracker()

        async def short():
            yield 1

        not_begun = turns.followed(short())
        assert [event async for event in turns.followed(short())] == [1]
        async with asyncio.timeout(5):
            await turns.end()
        with pytest.raises(UsageError, match="this home is closed"):
            await anext(not_begun)

    asyncio.run(run())


def test_a_turn_that_cannot_be_ended_does_not_keep_the_others_running(monkeypatch, caplog):
    monkeypatch.setattr(running_turns, "END_SECONDS", 0.05)

    async def run():
        turns, turn = TurnTracker(), Turn()

        async def breaks():
            try:
                yield 1
            finally:
                raise OSError("no space left")

        async def endless():
            try:
                yield 1
            finally:
                await asyncio.Event().wait()

        kept = [turns.followed(each) for each in (breaks(), endless(), turn.events())]
        for events in kept:
            await anext(events)
        await turns.end()
        return turn.ended

    assert asyncio.run(run()) == [True]
    assert caplog.text.count("a turn could not be ended in good order") == 2


def test_events_errors_and_closing_go_through():
    async def run():
        turns, turn = TurnTracker(), Turn()

        async def breaks():
            yield 1
            raise OSError("broken")

        with pytest.raises(OSError, match="broken"):
            async for _ in turns.followed(breaks()):
                pass
        async with aclosing(turns.followed(turn.events())) as events:
            await anext(events)
        assert turn.ended == [True]

    asyncio.run(run())
