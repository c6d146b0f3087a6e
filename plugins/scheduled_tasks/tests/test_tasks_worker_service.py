"""The worker that runs beside a chat and in ``oneclaw serve``."""

import asyncio
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from oneclaw_scheduled_tasks.inbox import result_text
from oneclaw_scheduled_tasks.stored import list_workers, unread
from oneclaw_scheduled_tasks.task import Run, RunStatus
from oneclaw_scheduled_tasks.worker_service import run_worker_beside

pytestmark = pytest.mark.one_python


def test_a_chat_has_what_is_due_done_and_shows_it(home, tasks):
    due = datetime.now(UTC) - timedelta(minutes=2)
    when = {"schedule_type": "one_time", "date": f"{due:%Y-%m-%d}", "hour": due.hour, "minute": due.minute}
    words = dict(name="Clock", prompt="What time is it?", **when, time_zone="UTC", is_notified=False)

    async def chat():
        shown = asyncio.Queue()
        context = SimpleNamespace(runs_in="chat", show=shown.put_nowait, ready=lambda: None)
        working = asyncio.create_task(run_worker_beside(context))
        # It waits for the first task.
        await asyncio.to_thread(tasks.add, words, at=due - timedelta(minutes=5))
        text = await asyncio.wait_for(shown.get(), 45)
        working.cancel()
        await asyncio.wait([working])
        return text

    assert asyncio.run(chat()).startswith("[Scheduled] Clock: `get_current_time` answers: ")
    assert tasks.call(list_workers) == []
    assert tasks.call(unread) == []  # the chat has shown it


def test_what_is_shown_of_a_failure():
    now = datetime.now(UTC)
    run = Run(id="r", task_id="t", scheduled_at=now, not_before=now, status=RunStatus.FAILED, error="no network")

    assert result_text(run, "Clock") == "[Scheduled] Clock failed: no network"
