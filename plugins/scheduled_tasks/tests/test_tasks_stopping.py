"""Runs that are stopped in the middle of a call, of an answer and of a question, by a worker in this process.

A model that is asked once more than its script says is a fault.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import asynccontextmanager

import pytest
from oneclaw_scheduled_tasks.database import TaskDatabase, tasks_database_url
from oneclaw_scheduled_tasks.service import TaskService
from oneclaw_scheduled_tasks.stored import get_run, stop_runs
from oneclaw_scheduled_tasks.tables import runs
from oneclaw_scheduled_tasks.task import RunStatus
from oneclaw_scheduled_tasks.worker import Worker, WorkerOptions

from oneclaw_core import hookimpl, tool
from oneclaw_core.providers import TextDelta
from oneclaw_core.testing.scripted import ScriptedModel

pytestmark = pytest.mark.one_python

SECONDS = 90


class Held:
    """Something that is under way, and does not end by itself."""

    def __init__(self):
        self.begun = threading.Event()  # a tool runs on the loop of its plugin
        self.has_ended = False

    async def forever(self):
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.has_ended = True


class Tools:
    """A plugin with a tool that is held, and one that asks first."""

    def __init__(self):
        self.held = Held()
        self.calls = []

    @hookimpl
    def register_tools(self, register):
        @tool
        async def hold() -> str:
            """Hold on."""
            await self.held.forever()

        @tool(required_permissions=("network.private",))
        async def ask_first() -> str:
            """Ask first."""
            self.calls.append("ask_first")
            return "done"

        for each in (hold, ask_first):
            register(each)


@asynccontextmanager
async def worker_of(claw, database):
    worker = Worker(claw, database, WorkerOptions(grace_seconds=0))
    stop = asyncio.Event()
    working = asyncio.create_task(worker.run(stop))
    try:
        yield worker
    finally:
        stop.set()
        await working


async def stopped_in_the_middle(under, plugin, in_the_middle, by):
    """Have a run begin, stop it, and give the run and its messages."""
    async with under.opened() as claw:
        url = tasks_database_url(claw.home.database_url)
        async with TaskService.open(claw.services) as service, await TaskDatabase.open(url) as database:
            daily = {"schedule_type": "daily", "hour": 9}
            words = dict(name="x", prompt="x", **daily, model="scripted/model", is_notified=False)
            task = await service.new(words)
            await service.add(task)
            async with worker_of(claw, database) as worker, asyncio.timeout(SECONDS):
                run = await service.run(task.id)
                await asyncio.to_thread(in_the_middle.begun.wait)
                if by == "a command":
                    await service.stop_run(run.id)
                else:  # as another machine does
                    await database.run(stop_runs, service._now(), "it was stopped", runs.c.id == run.id)
                while not in_the_middle.has_ended or worker._running:
                    await asyncio.sleep(0.01)
                found = await service.database.run(get_run, run.id)
                messages = await claw.store.messages(found.session)
    return found, [(str(each.type), each.error_type or "") for each in messages]


@pytest.mark.parametrize(
    ("middle", "by"),
    [
        ("call", "another machine"),
        ("answer", "a command"),
        pytest.param("question", "another machine", marks=pytest.mark.long),
        pytest.param("call", "a command", marks=pytest.mark.long),
        pytest.param("answer", "another machine", marks=pytest.mark.long),
        pytest.param("question", "a command", marks=pytest.mark.long),
    ],
)
def test_a_stop_takes_effect_in_the_middle(oneclaw_factory, monkeypatch, tmp_path, middle, by):
    plugin = Tools()
    under = oneclaw_factory(["scheduled_tasks", plugin], home=tmp_path / "home")
    if middle == "call":
        under.model.calls("hold")
    elif middle == "question":
        under.model.calls("ask_first")

        async def hang(request):
            await plugin.held.forever()

        monkeypatch.setattr(under.user, "answer", hang)
    else:

        async def stream(provider, request):
            yield TextDelta("The beginning of")
            await plugin.held.forever()

        monkeypatch.setattr(ScriptedModel, "stream", stream)
    run, messages = asyncio.run(stopped_in_the_middle(under, plugin, plugin.held, by))

    assert run.status is RunStatus.STOPPED
    assert plugin.calls == []
    if middle != "answer":
        assert messages[-1] == ("tool_result", "interrupted")
