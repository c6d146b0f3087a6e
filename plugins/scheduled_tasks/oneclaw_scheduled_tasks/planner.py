"""Making runs of what is due, by a clock that can be wrong."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import or_, select

from oneclaw_core import UsageError
from oneclaw_scheduled_tasks.occurrences import Due, MissedPolicy, due
from oneclaw_scheduled_tasks.stored import stop_runs
from oneclaw_scheduled_tasks.tables import add, change, find, read, remove, runs, tasks
from oneclaw_scheduled_tasks.task import UNFINISHED, OverlapPolicy, Run, RunStatus, Task, run_id, unseen_end

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection

    from oneclaw_scheduled_tasks.database import TaskDatabase

STEADY_SECONDS = 30.0
_JUMP = timedelta(seconds=10)
# What is worked off in one transaction, so that no other process waits long.
_MOST_DUE_TASKS = 100
# Clocks of several machines are not quite the same.
_CLOCK_TOLERANCE = timedelta(minutes=1)
# Longer than any pause between attempts.
_MOST_DELAY = timedelta(hours=25)
MISSED = "no one ran it in time"
SKIPPED = "the run before it had not ended; see --overlap of: oneclaw tasks edit"
REPLACED = "it was stopped when the next one was due, as the task's overlap says"

_log = logging.getLogger("oneclaw.tasks")


class Planner:
    """Plans the tasks, tick by tick.

    A clock that was set is noticed. Nothing is planned before it has been steady for a while, since a clock that is
    wrong for a moment, such as one without a battery after a start, would make runs of times that never were.

    Args:
        database: the tasks'.
        clock: tells the time, and can be set.
        elapsed: seconds by a clock that no one sets, and that goes on while the machine sleeps.
    """

    def __init__(
        self, database: TaskDatabase, clock: Callable[[], datetime], elapsed: Callable[[], float] | None = None
    ) -> None:
        self._database = database
        self._clock = clock
        self._elapsed = elapsed or _seconds_since_boot
        self._seen: tuple[datetime, float] | None = None
        self._jump = timedelta()
        self._steady_at: float | None = None

    def is_steady(self) -> bool:
        """Look at the clocks; False if the one that can be set was set a moment ago."""
        now, elapsed = self._clock(), self._elapsed()
        if self._seen is not None:
            then, elapsed_then = self._seen
            jump = now - then - timedelta(seconds=elapsed - elapsed_then)
            if abs(jump) >= _JUMP:
                self._jump += jump
                self._steady_at = elapsed + STEADY_SECONDS
                message = "the clock was set, %s; no task is planned before it has been steady for %g seconds"
                _log.warning(message, _described(jump), STEADY_SECONDS)
        self._seen = now, elapsed
        return self._steady_at is None or elapsed >= self._steady_at

    async def tick(self) -> bool:
        """Make the runs of what is due; False if the clock was set a moment ago, so that nothing was planned."""
        if not self.is_steady():
            return False
        now = self._clock()
        has_jumped = self._jump >= _JUMP
        if self._steady_at is not None:
            _log.warning("the clock is steady again, %s; tasks are planned", _described(self._jump))
            self._steady_at, self._jump = None, timedelta()

        def plan(connection: Connection) -> int:
            if was_planned_later(connection, now):
                replan(connection, now)
            return plan_due(connection, now, has_jumped=has_jumped)

        while await self._database.run(plan):
            pass
        return True


def _seconds_since_boot() -> float:
    """Read a clock that no one sets; where the system has one, it counts the time that the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


def _described(jump: timedelta) -> str:
    if abs(jump) < _JUMP:
        return "as if it had not been set"
    return f"{abs(jump)} {'forward' if jump > timedelta() else 'back'}"


def plan_due(connection: Connection, now: datetime, *, has_jumped: bool = False) -> int:
    """Make the runs of all tasks that have come due, and find out when these are due next.

    However many workers do this at once, each occurrence gets one run. What a clock jumped over is run once at most.
    """

    def plan(task: Task) -> bool:
        next_at = task.next_after(now)
        _make_runs(connection, task, now, has_jumped=has_jumped)
        is_enabled = not task.is_one_time
        change(connection, Task, tasks.c.id == task.id, next_at=next_at, planned_at=now, is_enabled=is_enabled)
        return True

    return _plan_each(connection, now, tasks.c.next_at <= now, plan, limit=_MOST_DUE_TASKS)


def replan(connection: Connection, now: datetime) -> int:
    """Find out anew when tasks are due whose plan cannot be relied on any more.

    That is so after the clock has been put back, and where another version of the time zone database was used. Runs
    that there have been are not made again, for their ids are the same. A task that is due once stays due when it was.
    """

    def plan(task: Task) -> bool:
        if task.anchor > now + _CLOCK_TOLERANCE:
            # Whether the clock is wrong now or was wrong then cannot be told, and no run is better than wrong ones.
            _log.warning(
                "the schedule of the task %s was set at a time that has not come yet, %s; it is not due before. If "
                "the clock was wrong then, set the schedule again",
                task.id,
                task.local_text(task.anchor),
            )
        next_at = task.next_at if task.is_one_time else task.next_after(now)
        # The next occurrence that there is no run of.
        while next_at is not None and not task.is_one_time and find(connection, Run, run_id(task.id, next_at)):
            next_at = task.next_after(next_at)
        if next_at == task.next_at and (task.planned_at is None or task.planned_at <= now):
            return False
        change(connection, Task, tasks.c.id == task.id, next_at=next_at, planned_at=now)
        return True

    changed = _undo_what_lies_ahead(connection, now)
    # What is due by now is planned by plan_due.
    which = or_(tasks.c.next_at > now, tasks.c.next_at.is_(None) & (tasks.c.planned_at > now))
    return changed + _plan_each(connection, now, which, plan)


def _plan_each(
    connection: Connection,
    now: datetime,
    which: ColumnElement[bool],
    plan: Callable[[Task], bool],
    limit: int | None = None,
) -> int:
    """Plan the enabled tasks that no other worker plans now; return for how many it made a difference."""
    query = select(tasks).where(tasks.c.is_enabled, which).order_by(tasks.c.next_at, tasks.c.id).limit(limit)
    changed = 0
    for row in connection.execute(query.with_for_update(skip_locked=True)).mappings().all():
        try:
            changed += plan(Task(**row))
        except (UsageError, ValueError) as error:
            # Such as a time zone that this machine does not know yet: no reason to let the others wait.
            _log.error("the task %s cannot be planned: %s", row["id"], error)
            change(connection, Task, tasks.c.id == row["id"], planned_at=now)
    return changed


def was_planned_later(connection: Connection, now: datetime) -> bool:
    """Return True if a plan was made at a future time: the clock has been put back."""
    tasks_ahead = select(tasks.c.id).where(tasks.c.is_enabled, tasks.c.planned_at > now).limit(1)
    runs_ahead = select(runs.c.id).where(_lies_ahead(now)).limit(1)
    return any(connection.execute(query).first() is not None for query in (tasks_ahead, runs_ahead))


def _lies_ahead(now: datetime) -> ColumnElement[bool]:
    """Return the future occurrences that a clock running ahead has recorded and no run has begun."""
    is_passed_over = runs.c.status.in_((RunStatus.MISSED, RunStatus.SKIPPED))
    is_not_begun = (runs.c.status == RunStatus.WAITING) & runs.c.started_at.is_(None)
    return (runs.c.scheduled_at > now + _CLOCK_TOLERANCE) & ~runs.c.is_manual & (is_passed_over | is_not_begun)


def _undo_what_lies_ahead(connection: Connection, now: datetime) -> int:
    """Take back what a clock that was ahead has done; a task that is due once is due again."""
    ahead = read(connection, Run, _lies_ahead(now))
    remove(connection, Run, runs.c.id.in_([run.id for run in ahead]))
    # What waits for another attempt, or was asked for, waits no longer than it would have.
    waits_long = (runs.c.status == RunStatus.WAITING) & (runs.c.not_before > now + _MOST_DELAY)
    change(connection, Run, waits_long, not_before=now)
    changed = 0
    for run in ahead:
        task = find(connection, Task, run.task_id)
        if task is not None and task.is_one_time and not task.is_enabled and task.next_at is None:
            values = {"is_enabled": True, "next_at": run.scheduled_at, "planned_at": now}
            changed += change(connection, Task, tasks.c.id == task.id, **values)
    return changed


def _make_runs(connection: Connection, task: Task, now: datetime, *, has_jumped: bool) -> None:
    # Nothing was due before the task was made or last changed, whatever a wrong clock has planned.
    first = task.next_at if task.next_at is not None and task.next_at > task.anchor else task.next_after(task.anchor)
    policy = MissedPolicy.RUN_ONCE if has_jumped and task.missed is MissedPolicy.ALL else task.missed
    catch_up = timedelta(seconds=task.catch_up_seconds)
    found = due(task.occurrences, first, now, policy, catch_up) if first is not None else Due()
    skipped = found.run if found.run and not may_begin(connection, task, now) else ()
    for at in (*found.run, *found.missed):
        run = Run(id=run_id(task.id, at), task_id=task.id, scheduled_at=at, not_before=max(now, task.begin_of(at)))
        if at in found.missed:
            run = replace(run, **unseen_end(now, RunStatus.MISSED, MISSED))
        elif at in skipped:
            run = replace(run, **unseen_end(now, RunStatus.SKIPPED, SKIPPED))
        add(connection, run)


def may_begin(connection: Connection, task: Task, now: datetime) -> bool:
    """Apply the policy for runs that are due while another one has not ended; return False to skip them."""
    is_unfinished = (runs.c.task_id == task.id) & runs.c.status.in_(UNFINISHED)
    if task.overlap is OverlapPolicy.ALLOW or not read(connection, Run, is_unfinished, limit=1):
        return True
    if task.overlap is OverlapPolicy.CANCEL_PREVIOUS:
        stop_runs(connection, now, REPLACED, runs.c.task_id == task.id)
    return task.overlap is not OverlapPolicy.SKIP
