"""Passing items on until a deadline: it comes at once, it ends the waiting only, and it takes no other's place."""

import asyncio
import time

import pytest

from oneclaw_core.turn.deadline import until


class TooLateError(Exception):
    pass


class Source:
    """Yields numbers, then waits for ever; knows how it ended."""

    def __init__(self, count, swallows=False):
        self.count = count
        self.swallows = swallows
        self.closed = 0

    async def items(self):
        try:
            for number in range(self.count):
                yield number
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if not self.swallows:
                    raise
                yield "late"
        finally:
            self.closed += 1


def in_seconds(seconds):
    return time.monotonic() + seconds


def test_a_silent_source_is_broken_off_at_the_deadline_and_the_task_goes_on():
    source = Source(2)

    async def main():
        seen = []

        async def listen():
            async for item in until(in_seconds(0.05), source.items(), TooLateError):
                seen.append(item)

        with pytest.raises(TooLateError):
            await listen()
        assert asyncio.current_task().cancelling() == 0
        await asyncio.sleep(0)
        return seen

    started = time.monotonic()
    assert asyncio.run(main()) == [0, 1]
    assert 0.05 <= time.monotonic() - started < 1
    assert source.closed == 1


def test_whoever_listens_is_never_cancelled_and_gets_nothing_after_the_deadline():
    source = Source(2)

    async def main():
        timely = until(in_seconds(0.02), source.items(), TooLateError)
        seen = [await anext(timely)]
        await asyncio.sleep(0.05)
        seen.append("slept")
        with pytest.raises(TooLateError):
            await anext(timely)
        return seen

    assert asyncio.run(main()) == [0, "slept"]
    assert source.closed == 1


def test_a_deadline_that_has_passed_already_ends_the_first_waiting():
    source = Source(0)

    async def main():
        with pytest.raises(TooLateError):
            await anext(until(in_seconds(-1), source.items(), TooLateError))

    asyncio.run(main())
    assert source.closed == 1


def test_items_that_come_in_time_all_arrive_and_no_timer_is_left():
    async def three():
        for number in range(3):
            await asyncio.sleep(0)
            yield number

    async def main():
        seen = [item async for item in until(in_seconds(0.02), three(), TooLateError)]
        await asyncio.sleep(0.05)
        return seen, asyncio.current_task().cancelling()

    assert asyncio.run(main()) == ([0, 1, 2], 0)


def test_a_cancellation_by_somebody_else_stays_one():
    source = Source(0)

    async def main():
        async def listen():
            await anext(until(in_seconds(60), source.items(), TooLateError))

        task = asyncio.create_task(listen())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert source.closed == 1


def test_a_cancellation_at_the_same_moment_as_the_deadline_is_not_lost():
    source = Source(0)

    async def main():
        async def listen():
            await anext(until(in_seconds(0.02), source.items(), TooLateError))

        task = asyncio.create_task(listen())
        await asyncio.sleep(0)
        # After the alarm, before the task runs again.
        asyncio.get_running_loop().call_at(in_seconds(0.02), task.cancel)
        time.sleep(0.05)  # both are due when the loop looks next
        with pytest.raises(asyncio.CancelledError):
            await task
        return task.cancelling()

    assert asyncio.run(main()) == 1
    assert source.closed == 1


def test_a_source_that_goes_on_in_spite_of_it_is_ended_after_its_item():
    source = Source(0, swallows=True)

    async def main():
        timely = until(in_seconds(0.02), source.items(), TooLateError)
        assert await anext(timely) == "late"
        assert asyncio.current_task().cancelling() == 0
        with pytest.raises(TooLateError):
            await anext(timely)

    asyncio.run(main())
    assert source.closed == 1


def test_each_item_may_be_asked_for_by_another_task():
    source = Source(1)

    async def main():
        timely = until(in_seconds(0.05), source.items(), TooLateError)
        first = await asyncio.create_task(anext_of(timely))
        with pytest.raises(TooLateError):
            await asyncio.create_task(anext_of(timely))
        return first

    async def anext_of(timely):
        return await anext(timely)

    assert asyncio.run(main()) == 0
