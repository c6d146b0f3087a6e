"""Streams of events: tracked until they end, whoever listens, and limited by a deadline."""

import asyncio
import time
from contextlib import aclosing, suppress

import pytest

from oneclaw_core import UsageError
from oneclaw_core.errors import TurnDeadlineError, TurnStoppedError
from oneclaw_core.turn.stream import Deadline, TurnTracker

pytestmark = pytest.mark.every_python


class Turn:
    """A turn of three events, the last of which never comes."""

    def __init__(self):
        self.waits = asyncio.Event()
        self.ended = []

    async def run(self, emit):
        try:
            await emit(1)
            await emit(2)
            self.waits.set()
            await asyncio.Event().wait()
            await emit(3)
        finally:
            await asyncio.sleep(0)
            self.ended.append(True)


def test_a_turn_that_no_one_asks_for_its_next_event_is_ended():
    async def run():
        turns, turn = TurnTracker(), Turn()
        events = turns.stream(turn.run)
        assert await anext(events) == 1
        await turns.end()
        assert turn.ended == [True]
        with pytest.raises(StopAsyncIteration):
            await anext(events)

    asyncio.run(run())


def test_a_turn_that_was_left_is_ended_before_the_end_returns():
    async def run():
        turns, turn = TurnTracker(), Turn()
        async for _ in turns.stream(turn.run):
            break
        await turns.end()
        return turn.ended

    assert asyncio.run(run()) == [True]


def test_a_turn_that_was_left_ends_without_waiting_for_the_home():
    async def run():
        turns, turn = TurnTracker(), Turn()
        async for _ in turns.stream(turn.run):
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
            async for event in turns.stream(turn.run):
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
        events = turns.stream(turn.run)
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

        async def slow_to_end(emit):
            try:
                await emit(1)
            finally:
                is_ending.set()
                await may_end.wait()
                ended.append(True)

        events = turns.stream(slow_to_end)
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
            try:
                started.set()
                await asyncio.sleep(60)
            finally:
                await asyncio.sleep(0)
                ended.append(True)

        task = asyncio.create_task(turns.run(work))
        await started.wait()
        await turns.end()
        assert ended == [True]
        return (await asyncio.gather(task, return_exceptions=True))[0]

    assert isinstance(asyncio.run(run()), asyncio.CancelledError)


def test_what_has_not_begun_or_has_ended_is_not_waited_for():
    async def run():
        turns = TurnTracker()

        async def short(emit):
            await emit(1)

        not_begun = turns.stream(short)
        assert [event async for event in turns.stream(short)] == [1]
        async with asyncio.timeout(5):
            await turns.end()
        with pytest.raises(UsageError, match="this home is closed"):
            await anext(not_begun)

    asyncio.run(run())


def test_a_turn_that_cannot_be_ended_does_not_keep_the_others_running(monkeypatch, caplog):
    monkeypatch.setattr("oneclaw_core.turn.stream.END_SECONDS", 0.05)

    async def run():
        turns, turn = TurnTracker(), Turn()

        async def breaks(emit):
            try:
                await emit(1)
            finally:
                raise OSError("no space left")

        async def endless(emit):
            try:
                await emit(1)
            finally:
                await asyncio.Event().wait()

        kept = [turns.stream(each) for each in (breaks, endless, turn.run)]
        for events in kept:
            await anext(events)
        await turns.end()
        return turn.ended

    assert asyncio.run(run()) == [True]
    assert caplog.text.count("a turn could not be ended in good order") == 2


def test_events_errors_and_closing_go_through():
    async def run():
        turns, turn = TurnTracker(), Turn()

        async def breaks(emit):
            await emit(1)
            raise OSError("broken")

        with pytest.raises(OSError, match="broken"):
            async for _ in turns.stream(breaks):
                pass
        async with aclosing(turns.stream(turn.run)) as events:
            await anext(events)
        assert turn.ended == [True]

    asyncio.run(run())


def test_an_event_after_the_end_is_an_error():
    async def run():
        turns = TurnTracker()

        async def talks_on(emit):
            try:
                await emit(1)
            finally:
                await emit(2)

        async with aclosing(turns.stream(talks_on)) as events:
            await anext(events)

    with pytest.raises(RuntimeError, match="after its stream was closed"):
        asyncio.run(run())


async def wait(deadline, seen):
    async with deadline.limit():
        seen.append("waits")
        await asyncio.Event().wait()


def test_waiting_is_broken_off_at_the_deadline_and_the_task_goes_on():
    async def main():
        seen = []
        with pytest.raises(TurnDeadlineError):
            await wait(Deadline(0.05), seen)
        assert asyncio.current_task().cancelling() == 0
        await asyncio.sleep(0)
        return seen

    started = time.monotonic()
    assert asyncio.run(main()) == ["waits"]
    assert 0.05 <= time.monotonic() - started < 1


def test_a_deadline_that_has_passed_already_ends_the_first_waiting():
    seen = []
    with pytest.raises(TurnDeadlineError):
        asyncio.run(wait(Deadline(-1), seen))
    assert seen == ["waits"]


def test_nothing_is_begun_in_a_stopped_turn():
    async def main(seen):
        deadline = Deadline(60)
        deadline.stop()
        await wait(deadline, seen)

    seen = []
    with pytest.raises(TurnStoppedError):
        asyncio.run(main(seen))
    assert seen == []


def test_what_ends_in_time_leaves_no_timer():
    async def main():
        async with Deadline(0.02).limit() as timeout:
            await asyncio.sleep(0)
        await asyncio.sleep(0.05)
        return timeout.expired(), asyncio.current_task().cancelling()

    assert asyncio.run(main()) == (False, 0)


def test_another_timeout_is_none_of_the_turn():
    async def main():
        async with Deadline(60).limit():
            raise TimeoutError("of a socket")

    with pytest.raises(TimeoutError, match="of a socket"):
        asyncio.run(main())


def test_a_cancellation_by_somebody_else_stays_one():
    async def main():
        task = asyncio.create_task(wait(Deadline(60), []))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_a_cancellation_at_the_same_moment_as_the_deadline_is_not_lost():
    async def main():
        task = asyncio.create_task(wait(Deadline(0.02), []))
        await asyncio.sleep(0)
        # After the alarm, before the task runs again.
        asyncio.get_running_loop().call_at(time.monotonic() + 0.02, task.cancel)
        time.sleep(0.05)  # both are due when the loop looks next
        with pytest.raises(asyncio.CancelledError):
            await task
        return task.cancelling()

    assert asyncio.run(main()) == 1


def test_code_that_swallows_the_cancellation_can_see_it():
    async def main():
        async with Deadline(0.02).limit() as timeout:
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            assert timeout.expired()
        raise AssertionError("the deadline is over")

    with pytest.raises(TurnDeadlineError):
        asyncio.run(main())
