"""Doing the runs that a worker has taken, and noting how they end."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
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
        # The attempts under way, by the ids of their runs.
        self._attempts: dict[str, asyncio.Task[Any]] = {}
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
        try:
            if run.interruptions >= MOST_INTERRUPTIONS:
                error = f"workers died in the middle of it {run.interruptions} times; it is not tried again"
                outcome = Outcome(error=error, may_retry=False)
            else:
                attempting = asyncio.create_task(self._attempt(task, run))
                self._attempts[run_id] = attempting
                self._has_attempts.set()
                try:
                    await asyncio.wait([attempting])
                finally:
                    del self._attempts[run_id]
                    if not self._attempts:
                        self._has_attempts.clear()
                    attempting.cancel()
                    await asyncio.wait([attempting])
                if attempting.cancelled():
                    await self._let_go(task, run)
                    return
                outcome = attempting.result()
        except asyncio.CancelledError:
            await self._hand_back(run_id)
            raise
        await self._finish(task, run, outcome)

    async def _attempt(self, task: Task, run: Run) -> Outcome:
        async def record(**columns: Any) -> None:
            await self._database.run(stored.change_run, run.id, self._worker_id, **columns)

        try:
            return await attempt(self._app, task, run, record)
        except (asyncio.CancelledError, StoreError):
            raise
        except Exception as error:  # noqa: BLE001  # a run that broke is a run that failed, and no reason to stop
            _log.error("unexpected %s in the run %s", type(error).__name__, run.id, exc_info=error)
            return Outcome(error=f"unexpected {type(error).__name__}; the traceback is in the log")

    async def _let_go(self, task: Task, run: Run) -> None:
        """Note what a run has used that was stopped; of a deleted task there is nothing to note it in."""
        if used := await self._used(run.id):
            is_stopped = (runs.c.id == run.id) & (runs.c.status == RunStatus.STOPPED)
            await self._database.run(change, Run, is_stopped, **used)
        if (found := await self._database.run(find, Run, run.id)) is not None:
            self._report(task, found)

    async def _hand_back(self, run_id: str) -> None:
        left = "the worker was stopped in the middle; another one takes it up"
        values = {"status": RunStatus.INTERRUPTED, "is_cut_off": True, "error": left}
        with suppress(StoreError):
            await self._database.run(stored.change_run, run_id, self._worker_id, **values)

    async def _finish(self, task: Task, run: Run, outcome: Outcome) -> None:
        now = self._clock()
        columns: dict[str, Any] = {"error": outcome.error}
        notes = [run.notes or "", *outcome.notes]
        columns["notes"] = "; ".join(dict.fromkeys(each for each in notes if each)) or None
        if outcome.is_busy:
            columns |= {"status": RunStatus.WAITING, "not_before": now + _BUSY_PAUSE}
        elif outcome.answer is not None:
            status = RunStatus.NEEDS_PERMISSION if outcome.is_denied else RunStatus.SUCCESS
            columns |= {"status": status, "answer": outcome.answer, "ended_at": now}
        elif outcome.may_retry and run.attempt <= task.retries:
            later = now + task.retry_delay(run.attempt)
            columns |= {"status": RunStatus.WAITING, "not_before": later, "attempt": run.attempt + 1}
            columns["is_cut_off"] = True
        else:
            columns |= {"status": RunStatus.FAILED, "ended_at": now}
        if columns["status"] == RunStatus.WAITING:
            columns |= {"is_queued": False, "dispatches": run.dispatches + 1}
        columns |= await self._used(run.id)

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
