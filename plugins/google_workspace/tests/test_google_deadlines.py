"""A tool call ends by itself before its timeout, and says whether anything was changed."""

import asyncio
import time

import pytest
from oneclaw_google_workspace import failures
from oneclaw_google_workspace.answers import google_tool
from oneclaw_google_workspace.failures import MARGIN_SECONDS

from oneclaw_core import PermissionDeniedError, ToolContext


class Clock:
    """Stands for the context of a call that has some seconds left."""

    def __init__(self, seconds):
        self.deadline = time.monotonic() + MARGIN_SECONDS + seconds
        self.is_asking = False

    def remaining_seconds(self):
        return float("inf") if self.is_asking else self.deadline - time.monotonic()


def result_of(work, seconds=0.1):
    @google_tool
    async def tool(*, context: ToolContext):
        return await work(context)

    return asyncio.run(tool(context=Clock(seconds)))


def test_a_call_whose_work_goes_on_after_a_change_says_where_to_look():
    async def work(context):
        failures.note_change("tasks.tasks.insert")
        await asyncio.sleep(60)

    result = result_of(work)
    assert result.error_type == "unknown_outcome"
    assert result.error_message.endswith("Look whether it was done with tasks_list before trying again.")


def test_a_call_whose_work_goes_on_without_a_change_has_changed_nothing():
    result = result_of(lambda context: asyncio.sleep(60))
    assert result.error_type == "timeout"
    assert "nothing was changed" in result.error_message


def test_the_work_is_stopped_then():
    stopped = []

    async def work(context):
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            stopped.append(True)
            raise

    result_of(work)
    assert stopped == [True]


def test_while_the_user_is_asked_no_time_passes():
    async def work(context):
        context.is_asking = True
        await asyncio.sleep(0.3)
        context.deadline = time.monotonic() + 60
        context.is_asking = False
        return "done"

    assert result_of(work).result == "done"


@pytest.mark.parametrize("error", [PermissionDeniedError("no", "google.tasks.write"), asyncio.CancelledError()])
def test_what_ends_the_work_otherwise_is_passed_on(error):
    async def work(context):
        raise error

    with pytest.raises(type(error)):
        result_of(work, 60)


def test_a_call_that_is_stopped_from_outside_stops_its_work():
    stopped = []

    @google_tool
    async def tool(*, context: ToolContext):
        try:
            await asyncio.sleep(60)
        finally:
            stopped.append(True)

    async def run():
        call = asyncio.ensure_future(tool(context=Clock(60)))
        await asyncio.sleep(0.05)
        call.cancel()
        await asyncio.wait({call})

    asyncio.run(run())
    assert stopped == [True]
