"""A worker: finds what is due, takes runs from the queue and does them, and takes up what dead workers have left.

While there is nothing to do, it asks the database once a second when there will be, and the queue is not even imported.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import socket
import time
import uuid
from concurrent.futures import CancelledError as FutureCancelledError
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

from oneclaw_core import OneClaw, StoreError
from oneclaw_scheduled_tasks import stored
from oneclaw_scheduled_tasks.database import TaskDatabase, tasks_database_url
from oneclaw_scheduled_tasks.doing import Doing
from oneclaw_scheduled_tasks.engine import Engine, HandedBack
from oneclaw_scheduled_tasks.planner import Planner, replan
from oneclaw_scheduled_tasks.tables import add, change, remove, workers
from oneclaw_scheduled_tasks.task import WorkerState
from oneclaw_scheduled_tasks.triggers import Watchers

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from oneclaw_scheduled_tasks.task import Run, Task

TICK_SECONDS = 1.0
STOP_SECONDS = 0.4
# What clocks that are wrong have planned, also on other machines, is looked for so often.
PLAN_SECONDS = 10.0
# The queue is got ready so long before something is due, and is stopped so long after all is done.
READY = timedelta(seconds=10)
LINGER_SECONDS = 15.0
HOUSEKEEPING_SECONDS = 3600.0
_RESTART_SECONDS = 5.0

_log = logging.getLogger("oneclaw.tasks")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """The options of a worker.

    Attributes:
        grace_seconds: how long its runs have to finish when it is stopped.
        beat_seconds: how often it says that it lives.
        dead_seconds: how long another worker may be still before its runs are taken up.
    """

    concurrency: int = 4
    grace_seconds: float = 30.0
    beat_seconds: float = stored.BEAT_SECONDS
    dead_seconds: float = stored.DEAD_SECONDS


class Worker:
    """A worker in this process, of which there can be one.

    ``report`` is called with each run that begins or ends. In ``app`` no one is asked for permissions.
    """

    def __init__(
        self,
        app: OneClaw,
        database: TaskDatabase,
        options: WorkerOptions,
        report: Callable[[Task, Run], None] = lambda task, run: None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.id = uuid.uuid4().hex
        self._database = database
        self._options = options
        self._clock = clock
        self._planner = Planner(database, clock)
        self._watchers = Watchers(app.services, database, clock)
        self._doing = Doing(app, database, self.id, report, clock)
        self._lost = asyncio.Event()
        self._is_stopping = False
        self._planned_at = -math.inf
        self._busy_at = -math.inf
        self._cleaned_at = -math.inf
        self._running: set[asyncio.Task[Any]] = set()
        self._watch = stored.Watch(options.dead_seconds)
        self._engine = Engine(database.url, self.id, options.concurrency, self._work)
        self._loop: asyncio.AbstractEventLoop | None = None

    async def run(self, stop: asyncio.Event) -> None:
        """Work until told to stop, or until others have taken it for dead or the database was out of reach.

        Runs under way may finish in the time that the options give them.
        """
        self._loop = asyncio.get_running_loop()
        # Announced first: what a worker has taken that is not announced is taken up by others.
        state = WorkerState(
            id=self.id,
            host=socket.gethostname(),
            pid=os.getpid(),
            version=version("oneclaw-scheduled-tasks"),
            concurrency=self._options.concurrency,
            started_at=self._clock(),
            beats=0,
            beat_at=self._clock(),
        )
        await self._database.run(add, state)
        loops: list[asyncio.Task[Any]] = []
        try:
            await self._database.run(replan, self._clock())
            await self._database.run(stored.take_up)
            loops = [
                asyncio.create_task(self._repeat(self._options.beat_seconds, self._beat)),
                asyncio.create_task(self._repeat(TICK_SECONDS, self._tick)),
                asyncio.create_task(self._repeat(STOP_SECONDS, self._doing.let_go_of_stopped)),
            ]
            waits = [asyncio.create_task(stop.wait()), asyncio.create_task(self._lost.wait())]
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                await _cancel(waits)
        finally:
            await self._shut_down(loops)

    async def _shut_down(self, loops: list[asyncio.Task[Any]]) -> None:
        grace = 0.0 if self._lost.is_set() else self._options.grace_seconds
        self._is_stopping = True
        # Others must not take this worker for dead while its runs finish: it goes on beating.
        beating, others = loops[:1], loops[1:]
        await _cancel(others)
        await self._watchers.close()
        ending = asyncio.create_task(asyncio.to_thread(self._engine.stop, grace))
        try:
            deadline = time.monotonic() + grace
            while self._running and not self._lost.is_set() and (left := deadline - time.monotonic()) > 0:
                await asyncio.wait(self._running, timeout=min(left, 0.5), return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _cancel(list(self._running))
            await _cancel(beating)
            await ending
            try:
                await self._database.run(remove, WorkerState, workers.c.id == self.id)
                await self._take_up()
            except Exception as error:  # noqa: BLE001  # others find out by themselves that this worker is gone
                _log.warning("this worker's runs were not handed back: %s", error)
            await asyncio.to_thread(self._engine.close)

    async def _repeat(self, seconds: float, step: Callable[[], Coroutine[Any, Any, float | None]]) -> None:
        while True:
            pause: float | None = None
            try:
                pause = await step()
            except asyncio.CancelledError:
                raise
            except Exception as error:  # noqa: BLE001  # a database that is away for a while must not end the worker
                _log.error("a worker's step failed: %s", error, exc_info=error)
            await asyncio.sleep(seconds if pause is None else min(seconds, pause))

    async def _tick(self) -> float | None:
        """Make runs of what is due, and queue what may begin; return in how many seconds something is due, if known."""
        if not self._planner.is_steady():
            return None
        now = self._clock()
        due, begin = await self._database.run(stored.next_moments)
        if (due is not None and due <= now) or time.monotonic() - self._planned_at >= PLAN_SECONDS:
            await self._planner.tick()
            self._planned_at = time.monotonic()
            due, begin = await self._database.run(stored.next_moments)
            now = self._clock()  # or the run that was just made would wait for the next look
        upcoming = due if due is not None and due > now else None
        if self._running or any(each is not None and each <= now + READY for each in (upcoming, begin)):
            self._busy_at = time.monotonic()
            await self._wake_queue()
        elif self._engine.is_running and time.monotonic() - self._busy_at >= LINGER_SECONDS:
            await asyncio.to_thread(self._engine.stop)
        while begin is not None and begin <= now and await self._database.run(self._queue_ready, now):
            pass
        if self._engine.is_running and time.monotonic() - self._cleaned_at >= HOUSEKEEPING_SECONDS:
            self._cleaned_at = time.monotonic()
            await self._database.run(stored.remove_old, now)
            await asyncio.to_thread(self._engine.remove_old, now - timedelta(days=stored.KEPT_DAYS))
        return max(0.0, (upcoming - self._clock()).total_seconds()) if upcoming is not None else None

    async def _wake_queue(self) -> None:
        if not self._engine.is_running:
            await asyncio.to_thread(_import_what_runs_need)
            await asyncio.to_thread(self._engine.start)
            await self._take_up()

    def _queue_ready(self, connection: Any, now: datetime) -> bool:
        ready = stored.to_queue(connection, now)
        for run in ready:
            self._engine.enqueue(connection, run)
        stored.note_queued(connection, ready)
        return bool(ready)

    async def _beat(self) -> None:
        """Say that this worker lives, and take up what others have left that do not."""

        def beat(connection: Any) -> tuple[int, list[WorkerState]]:
            said = {"beats": workers.c.beats + 1, "beat_at": self._clock(), "is_stopping": self._is_stopping}
            is_known = change(connection, WorkerState, workers.c.id == self.id, **said)
            return is_known, stored.list_workers(connection)

        is_known, listed = await self._database.run(beat)
        if not is_known:
            _log.warning("this worker was still for so long that others took it for dead; it lets go of its runs")
            self._lost.set()
            return
        dead = self._watch.dead({each.id: each.beats for each in listed if each.id != self.id}, time.monotonic())
        if self._is_stopping:
            return
        if dead:
            await self._database.run(remove, WorkerState, workers.c.id.in_(dead))
            await self._take_up()
        # The one that has worked for longest; all list them in the same order.
        first = next(each.id for each in listed if not each.is_stopping)
        await self._watchers.refresh(is_first=first == self.id)

    async def _take_up(self) -> None:
        """Have the runs of workers that are gone go on."""
        # Read before the list of workers: one that has taken a run by then has announced itself before.
        taken = await asyncio.to_thread(self._engine.taken)
        if stale := await self._database.run(stored.take_up, taken):
            await asyncio.to_thread(self._engine.remove, stale)

    @property
    def _takes_runs(self) -> bool:
        return self._engine.is_running and not self._is_stopping and not self._lost.is_set()

    def _work(self, run_id: str, dispatch: int) -> None:
        """Do a run: called in a thread of the engine's, done in the event loop."""
        loop = self._loop
        if loop is None or not self._takes_runs:
            raise HandedBack
        coroutine = self._do(run_id, dispatch)
        try:
            asyncio.run_coroutine_threadsafe(coroutine, loop).result()
        except (FutureCancelledError, RuntimeError):
            coroutine.close()
            raise HandedBack from None

    async def _do(self, run_id: str, dispatch: int) -> None:
        this = asyncio.current_task()
        assert this is not None
        self._running.add(this)
        try:
            if not self._takes_runs:
                raise HandedBack
            await self._doing.do(run_id, dispatch)
        except Exception as error:
            # A worker that begins anew, this one or another, takes it up.
            _log.error("the run %s is let go: %s", run_id, error, exc_info=error)
            self._lost.set()
            raise HandedBack from error
        finally:
            self._running.discard(this)


async def work(
    options: WorkerOptions,
    stop: asyncio.Event,
    report: Callable[[Task, Run], None] = lambda task, run: None,
    began: Callable[[Worker], None] = lambda worker: None,
) -> None:
    """Work in the user's home until told to stop, beginning anew as often as need be.

    ``report`` is called with each run that begins or ends, ``began`` with each worker.
    """
    from oneclaw_core import find_home

    home = find_home()
    home.create()
    has_begun = False
    while not stop.is_set():
        try:
            # Tools may read in the workspace alone: where a worker happens to be started means nothing.
            async with (
                OneClaw.open(start_directory=home.workspace) as app,
                await TaskDatabase.open(tasks_database_url(app.home.database_url)) as database,
            ):
                worker = Worker(app, database, options, report)
                has_begun = True
                began(worker)
                await worker.run(stop)
        except StoreError as error:
            if not has_begun:
                raise
            _log.warning("the database is out of reach, and is tried again: %s", error)
        if not stop.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), _RESTART_SECONDS)


def _import_what_runs_need() -> None:
    """Take the time now, not in the middle of the first calls, where a kill would cost most."""
    for name in ("httpx", "jsonschema", "pydantic"):
        import_module(name)


async def _cancel(tasks: list[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
