"""Doing the runs that a worker has taken, and noting how they end."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from oneclaw_core import StoreError
from oneclaw_scheduled_tasks import stored
from oneclaw_scheduled_tasks.attempt import Outcome, attempt
from oneclaw_scheduled_tasks.delivery import deliver
from oneclaw_scheduled_tasks.tables import change, find, read, runs
from oneclaw_scheduled_tasks.task import Run, RunStatus, Task

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from typing import Any

    from sqlalchemy import Connection

    from oneclaw_core import OneClaw
    from oneclaw_scheduled_tasks.database import TaskDatabase

# A run in the middle of which so many workers died is likely to be what killed them.
MOST_INTERRUPTIONS = 5
_BUSY_PAUSE = timedelta(seconds=15)
_log = logging.getLogger("oneclaw.tasks")


class Doing:
    """The runs that a worker does.

    ``report`` is called with each run that begins or ends. In ``app`` no one is asked for permissions.
    """

    def __init__(
        self,
        app: OneClaw,
        database: TaskDatabase,
        worker_id: str,
        report: Callable[[Task, Run], None],
        clock: Callable[[], datetime],
    ) -> None:
        self._app = app
        self._database = database
        self._worker_id = worker_id
        self._report = report
        self._clock = clock
        self._attempts: dict[str, asyncio.Task[Outcome]] = {}
        self._has_attempts = asyncio.Event()

    async def let_go_of_stopped(self) -> None:
        """Let go of runs that somebody has stopped, or whose task is deleted; waits while there are no runs."""
        await self._has_attempts.wait()
        attempts = dict(self._attempts)
        is_running = (runs.c.worker == self._worker_id) & (runs.c.status == RunStatus.RUNNING)
        running = {run.id for run in await self._database.run(read, Run, is_running)}
        for run_id in attempts.keys() - running:
            attempts[run_id].cancel()

    async def do(self, run_id: str, dispatch: int) -> None:
        """Do a run that was taken from the queue.

        ``dispatch`` says how often it had been put into the queue when this entry was.

        Raises:
            asyncio.CancelledError: the worker stops; the run is noted as interrupted.
            Exception: nothing can be noted of it, so nothing is sure.
        """
        now = self._clock()

        def begin(connection: Connection) -> tuple[Run | None, Task | None]:
            run = stored.begin_run(connection, run_id, dispatch, self._worker_id, now)
            return run, find(connection, Task, run.task_id) if run is not None else None

        run, task = await self._database.run(begin)
        if run is None or task is None:
            return
        if run.status.is_final:
            await self._deliver(task, run)
            return
        self._report(task, replace(run, status=RunStatus.RUNNING))
        if run.interruptions >= MOST_INTERRUPTIONS:
            error = f"workers died in the middle of it {run.interruptions} times; it is not tried again"
            await self._finish(task, run, Outcome(error=error, may_retry=False))
            return
        record = partial(self._database.run, stored.change_run, run.id, self._worker_id)
        attempting = self._attempts[run.id] = asyncio.create_task(attempt(self._app, task, run, record))
        self._has_attempts.set()
        try:
            await asyncio.wait([attempting])
        except asyncio.CancelledError:
            await self._hand_back(run.id, attempting)
            raise
        finally:
            del self._attempts[run.id]
            if not self._attempts:
                self._has_attempts.clear()
        if attempting.cancelled():
            await self._let_go(task, run)
        else:
            await self._finish(task, run, attempting.result())

    async def _let_go(self, task: Task, run: Run) -> None:
        """Note what a run has used that was stopped; of a deleted task there is nothing to note it in."""
        if used := await self._used(run.id):
            is_stopped = (runs.c.id == run.id) & (runs.c.status == RunStatus.STOPPED)
            await self._database.run(change, Run, is_stopped, **used)
        found = await self._database.run(find, Run, run.id)
        if found is not None and found.status is RunStatus.STOPPED:
            self._report(task, found)

    async def _hand_back(self, run_id: str, attempting: asyncio.Task[Outcome]) -> None:
        left = "the worker was stopped in the middle; another one takes it up"
        values = {"status": RunStatus.INTERRUPTED, "is_cut_off": True, "error": left}
        attempting.cancel()
        await asyncio.wait([attempting])
        with suppress(StoreError):
            await self._database.run(stored.change_run, run_id, self._worker_id, **values)

    async def _finish(self, task: Task, run: Run, outcome: Outcome) -> None:
        now = self._clock()
        again = {"status": RunStatus.WAITING, "is_queued": False, "dispatches": run.dispatches + 1}
        columns: dict[str, Any] = {"status": RunStatus.FAILED, "ended_at": now}
        if outcome.answer is not None:
            columns["status"] = RunStatus.NEEDS_PERMISSION if outcome.is_denied else RunStatus.SUCCESS
            columns["answer"] = outcome.answer
        elif outcome.is_busy:
            columns = {**again, "not_before": now + _BUSY_PAUSE}
        elif outcome.may_retry and run.attempt <= task.retries:
            later = now + task.retry_delay(run.attempt)
            columns = {**again, "not_before": later, "attempt": run.attempt + 1, "is_cut_off": True}
        notes = dict.fromkeys(each for each in (run.notes, *outcome.notes) if each)
        columns |= {"error": outcome.error, "notes": "; ".join(notes) or None, **await self._used(run.id)}

        def store(connection: Connection) -> Run | None:
            is_mine = stored.change_run(connection, run.id, self._worker_id, **columns)
            return find(connection, Run, run.id) if is_mine else None

        finished = await self._database.run(store)
        if finished is None:  # somebody has taken it up, or stopped it, or deleted the task
            await self._let_go(task, run)
            return
        self._report(task, finished)
        if finished.status.is_final:
            await self._deliver(task, finished)

    async def _used(self, run_id: str) -> dict[str, Any]:
        session = await self._app.store.find_session(f"scheduled-{run_id}")
        if session is None:
            return {}
        totals = await self._app.store.usage_totals(session.id)
        return {
            "input_tokens": totals.input_tokens or 0,
            "output_tokens": totals.output_tokens or 0,
            "cost": totals.cost,
        }

    async def _deliver(self, task: Task, run: Run) -> None:
        try:
            problem = await deliver(task, run, self._app.services.channel)
        except Exception as error:  # noqa: BLE001  # the run is complete even if its message fails
            _log.error("the result of the run %s was not delivered", run.id, exc_info=error)
            problem = f"the result was not delivered: unexpected {type(error).__name__}"
        notes = {"notes": "; ".join(each for each in (run.notes, problem) if each)} if problem is not None else {}
        await self._database.run(change, Run, runs.c.id == run.id, is_delivered=True, **notes)
