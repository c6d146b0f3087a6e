"""The queue in this process, on SQLite and on PostgreSQL."""

from __future__ import annotations

import asyncio
import os
import queue
import sys
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from oneclaw_scheduled_tasks.database import TaskDatabase, tasks_database_url
from oneclaw_scheduled_tasks.engine import Engine, HandedBack
from oneclaw_scheduled_tasks.service import TaskService
from oneclaw_scheduled_tasks.stored import runs_of
from oneclaw_scheduled_tasks.task import Run
from oneclaw_scheduled_tasks.worker import Worker, WorkerOptions
from tasks_rig import DEADLINE_SECONDS, until

pytestmark = pytest.mark.one_python

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def database(any_database, tmp_path):
    opened = TaskDatabase.open_here(os.environ.get("ONECLAW_DATABASE_URL") or f"sqlite:///{tmp_path}/tasks.db")
    yield opened
    opened.close()


@pytest.fixture
def engine_of(database):
    made = []

    def make(work, name="worker"):
        made.append(Engine(database.url, name, 2, work))
        return made[-1]

    yield make
    for each in made:
        each.stop()
        each.close()


def run(number, dispatches=0):
    return Run(id=f"run-{number}", task_id="t", scheduled_at=NOW, not_before=NOW, dispatches=dispatches)


def test_an_entry_is_there_if_the_transaction_is_and_is_done_once(database, engine_of):
    done = queue.Queue()
    engine = engine_of(lambda *what: done.put(what))
    engine.start()

    def enqueue(connection, run, *, fails=False):
        engine.enqueue(connection, run)
        if fails:
            raise KeyError

    with pytest.raises(KeyError):
        database.run_here(enqueue, run(1), fails=True)
    for _ in range(2):
        database.run_here(enqueue, run(2))
    database.run_here(enqueue, run(2, dispatches=1))

    assert sorted(done.get(timeout=DEADLINE_SECONDS) for _ in range(2)) == [("run-2", 0), ("run-2", 1)]
    until(lambda: engine.taken() == [], "the end of both")
    assert done.empty()
    assert engine.remove_old(NOW) == 0
    assert engine.remove_old(datetime.now(UTC) + timedelta(days=1)) == 2


@pytest.mark.long
def test_what_is_handed_back_comes_again_when_the_queue_is_started_again(database, engine_of):
    asked = queue.Queue()

    def work(*what):
        asked.put(what)
        if asked.qsize() == 1 and not engine_is_old:
            raise HandedBack

    engine_is_old = False
    engine = engine_of(work)
    engine.start()
    database.run_here(engine.enqueue, run(1))
    until(lambda: asked.qsize() == 1, "the run")
    engine.stop()
    assert not engine.is_running
    assert engine.taken() == [("run-1", 0, "worker")]

    engine_is_old = True
    engine.start()
    until(lambda: asked.qsize() == 2, "the run again")
    until(lambda: engine.taken() == [], "its end")


def test_an_entry_of_a_worker_that_is_gone_can_be_removed(database, engine_of):
    asked = queue.Queue()

    def work(*what):
        asked.put(what)
        raise HandedBack

    gone = engine_of(work, "gone")
    gone.start()
    database.run_here(gone.enqueue, run(1))
    until(lambda: asked.qsize() == 1, "the run")
    gone.stop()
    other = engine_of(work, "other")
    assert other.taken() == []
    other.start()

    assert other.taken() == [("run-1", 0, "gone")]
    other.remove([("run-1", 0)])
    assert other.taken() == []


@pytest.mark.long
def test_a_worker_at_rest_has_not_imported_the_queue(home):
    import subprocess

    program = (
        "import sys, oneclaw_scheduled_tasks.worker, oneclaw_scheduled_tasks.commands; print('dbos' in sys.modules)"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert printed.stdout == "False\n"


@pytest.mark.long
def test_what_comes_due_is_put_into_the_queue_at_the_same_look(oneclaw_factory):
    """Else it would wait for the next one, a second later."""
    moments = (datetime(2026, 1, 1, 12, tzinfo=UTC) + timedelta(milliseconds=each) for each in count())

    async def work():
        async with oneclaw_factory(["scheduled_tasks"]).opened() as claw:
            url = tasks_database_url(claw.home.database_url)
            async with await TaskDatabase.open(url) as database:
                worker = Worker(claw, database, WorkerOptions(), clock=lambda: next(moments))
                await worker._wake_queue()
                service = TaskService(claw.services, database, lambda: NOW - timedelta(minutes=1))
                every = {"schedule_type": "interval", "interval_minutes": 1}
                task = await service.new(dict(name="x", prompt="x", **every, is_notified=False))
                await service.add(task)
                await worker._tick()
                runs = await service.database.run(runs_of, task.id)
                worker._engine.stop()
                worker._engine.close()
                return runs

    (run,) = asyncio.run(work())
    assert run.scheduled_at == NOW
    assert run.is_queued
