"""The tasks in the database: functions of a connection, each a part of a transaction."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, insert, or_, select, update

from oneclaw_core import NotFoundError, UsageError
from oneclaw_scheduled_tasks.occurrences import Due, MissedPolicy, due
from oneclaw_scheduled_tasks.stored_runs import has_unfinished, stop_runs
from oneclaw_scheduled_tasks.tables import runs, tasks, to_row
from oneclaw_scheduled_tasks.task import OverlapPolicy, Run, RunStatus, Task, run_id

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection

# What is worked off in one transaction, so that no other process waits long.
_MOST_DUE_TASKS = 100
# Clocks of several machines are not quite the same.
_CLOCK_TOLERANCE = timedelta(minutes=1)
# Longer than any pause between attempts.
_MOST_DELAY = timedelta(hours=25)
_log = logging.getLogger("oneclaw.tasks")
MISSED = "no one ran it in time"
SKIPPED = "the run before it had not ended; see --overlap of: oneclaw tasks edit"
REPLACED = "it was stopped when the next one was due, as the task's overlap says"


def add_task(connection: Connection, task: Task) -> None:
    """Store a new task."""
    connection.execute(insert(tasks).values(to_row(task)))


def change_task(connection: Connection, before: Task, after: Task) -> None:
    """Store what is to be different about a task; the rest stays as it is by now."""
    old, new = to_row(before), to_row(after)
    row = {name: value for name, value in new.items() if value != old[name]}
    if "planned_at" in row:
        # A worker may have gone by the old schedule meanwhile.
        row |= {name: new[name] for name in ("next_at", "is_enabled")}
    if row and not connection.execute(update(tasks).where(tasks.c.id == after.id).values(row)).rowcount:
        raise no_task(after.id)


def remove_task(connection: Connection, task_id: str) -> None:
    """Delete a task with its log."""
    connection.execute(delete(runs).where(runs.c.task_id == task_id))
    if not connection.execute(delete(tasks).where(tasks.c.id == task_id)).rowcount:
        raise no_task(task_id)


def find_task(connection: Connection, task_id: str) -> Task | None:
    """A task, ``None`` if there is none of that id."""
    row = connection.execute(select(tasks).where(tasks.c.id == task_id)).mappings().one_or_none()
    return None if row is None else Task(**row)


def get_task(connection: Connection, task_id: str) -> Task:
    """A task."""
    found = find_task(connection, task_id)
    if found is None:
        raise no_task(task_id)
    return found


def list_tasks(connection: Connection) -> list[tuple[Task, Run | None]]:
    """All tasks, the newest first, each with its last run that has begun or was missed."""
    rows = connection.execute(select(tasks).order_by(tasks.c.created_at.desc(), tasks.c.id)).mappings().all()
    newest = (
        select(runs.c.task_id, func.max(runs.c.scheduled_at).label("scheduled_at"))
        .where(runs.c.status != RunStatus.WAITING)
        .group_by(runs.c.task_id)
        .subquery()
    )
    last = select(runs).join(
        newest, (runs.c.task_id == newest.c.task_id) & (runs.c.scheduled_at == newest.c.scheduled_at)
    )
    last_of = {row["task_id"]: Run(**row) for row in connection.execute(last).mappings()}
    return [(Task(**row), last_of.get(row["id"])) for row in rows]


def count_tasks(connection: Connection) -> int:
    """Return the number of tasks."""
    return int(connection.execute(select(func.count()).select_from(tasks)).scalar_one())


def plan_due(connection: Connection, now: datetime, *, has_jumped: bool = False) -> int:
    """Make the runs of all tasks that have come due, and find out when these are due next.

    However many workers do this at once, each occurrence gets one run.

    Args:
        connection: of the transaction.
        now: the time.
        has_jumped: True if the clock was put forward since the last time: what it jumped over is run once at most.
    """
    query = (
        select(tasks)
        .where(tasks.c.is_enabled, tasks.c.next_at <= now)
        .order_by(tasks.c.next_at, tasks.c.id)
        .limit(_MOST_DUE_TASKS)
        # Of two workers, each takes the tasks that the other has not.
        .with_for_update(skip_locked=True)
    )
    rows = connection.execute(query).mappings().all()
    planned = 0
    for row in rows:
        try:
            task = Task(**row)
            next_at = task.next_after(now)
        except (UsageError, ValueError) as error:
            # Such as a time zone that this machine does not know yet: no reason to let the others wait.
            _log.error("the task %s cannot be planned: %s", row["id"], error)
            continue
        _plan(connection, task, next_at, now, has_jumped=has_jumped)
        planned += 1
    return planned


def replan(connection: Connection, now: datetime) -> int:
    """Find out anew when tasks are due whose plan cannot be relied on any more.

    That is so after the clock has been put back, and where another version of the time zone database was used. Runs
    that there have been are not made again, for their ids are the same. A task that is due once stays due when it was.
    """
    changed = _undo_what_lies_ahead(connection, now)
    query = (
        select(tasks)
        # What is due by now is planned by plan_due.
        .where(tasks.c.is_enabled, or_(tasks.c.next_at > now, tasks.c.next_at.is_(None) & (tasks.c.planned_at > now)))
        .order_by(tasks.c.id)
        .with_for_update(skip_locked=True)
    )
    for row in connection.execute(query).mappings().all():
        try:
            task = Task(**row)
            if task.anchor > now + _CLOCK_TOLERANCE:
                # Whether the clock is wrong now or was wrong then cannot be told, and no run is better than wrong ones.
                _log.warning(
                    "the schedule of the task %s was set at a time that has not come yet, %s; it is not due before. If "
                    "the clock was wrong then, set the schedule again",
                    task.id,
                    task.local_text(task.anchor),
                )
            next_at = task.next_at if task.is_one_time else _unplanned_after(connection, task, now)
        except (UsageError, ValueError) as error:
            # As in plan_due; not looked at again before the clock is put back once more.
            _log.error("the task %s cannot be planned: %s", row["id"], error)
            connection.execute(update(tasks).where(tasks.c.id == row["id"]).values(planned_at=now))
            continue
        if next_at != task.next_at or (task.planned_at is not None and task.planned_at > now):
            changed += 1
            _set_plan(connection, task.id, next_at, now)
    return changed


def _unplanned_after(connection: Connection, task: Task, now: datetime) -> datetime | None:
    """The next occurrence that there is no run of."""
    moment = now
    while (found := task.next_after(moment)) is not None:
        there = select(runs.c.id).where(runs.c.id == run_id(task.id, found))
        if connection.execute(there).first() is None:
            return found
        moment = found
    return None


def was_planned_later(connection: Connection, now: datetime) -> bool:
    """Return True if a plan was made at a future time: the clock has been put back."""
    tasks_ahead = select(tasks.c.id).where(tasks.c.is_enabled, tasks.c.planned_at > now).limit(1)
    runs_ahead = select(runs.c.id).where(_lies_ahead(now)).limit(1)
    return any(connection.execute(query).first() is not None for query in (tasks_ahead, runs_ahead))


def _lies_ahead(now: datetime) -> ColumnElement[bool]:
    """Return the future occurrences that a clock running ahead has recorded and no run has begun."""
    return (
        (runs.c.scheduled_at > now + _CLOCK_TOLERANCE)
        & ~runs.c.is_manual
        & (
            runs.c.status.in_((RunStatus.MISSED, RunStatus.SKIPPED))
            | (runs.c.status == RunStatus.WAITING) & runs.c.started_at.is_(None)
        )
    )


def _undo_what_lies_ahead(connection: Connection, now: datetime) -> int:
    """Take back what a clock that was ahead has done; a task that is due once is due again."""
    rows = connection.execute(select(runs.c.id, runs.c.task_id, runs.c.scheduled_at).where(_lies_ahead(now))).all()
    connection.execute(delete(runs).where(runs.c.id.in_([row.id for row in rows])))
    # What waits for another attempt, or was asked for, waits no longer than it would have.
    connection.execute(
        update(runs)
        .where(runs.c.status == RunStatus.WAITING, runs.c.not_before > now + _MOST_DELAY)
        .values(not_before=now)
    )
    changed = 0
    for row in rows:
        task = find_task(connection, row.task_id)
        if task is not None and task.is_one_time and not task.is_enabled and task.next_at is None:
            values = {"is_enabled": True, "next_at": row.scheduled_at, "planned_at": now}
            connection.execute(update(tasks).where(tasks.c.id == task.id).values(values))
            changed += 1
    return changed


def _plan(connection: Connection, task: Task, next_at: datetime | None, now: datetime, *, has_jumped: bool) -> None:
    # Nothing was due before the task was made or last changed, whatever a wrong clock has planned.
    first = task.next_at if task.next_at is not None and task.next_at > task.anchor else task.next_after(task.anchor)
    policy = MissedPolicy.RUN_ONCE if has_jumped and task.missed is MissedPolicy.ALL else task.missed
    catch_up = timedelta(seconds=task.catch_up_seconds)
    found = due(task.occurrences, first, now, policy, catch_up) if first is not None else Due()
    is_run = bool(found.run) and may_begin(connection, task, now)
    for at in found.run:
        run = Run(id=run_id(task.id, at), task_id=task.id, scheduled_at=at, not_before=max(now, task.begin_of(at)))
        add_run(connection, run if is_run else run.not_run(now, RunStatus.SKIPPED, SKIPPED))
    for at in found.missed:
        run = Run(id=run_id(task.id, at), task_id=task.id, scheduled_at=at, not_before=now)
        add_run(connection, run.not_run(now, RunStatus.MISSED, MISSED))
    _set_plan(connection, task.id, next_at, now)
    if task.is_one_time:
        connection.execute(update(tasks).where(tasks.c.id == task.id).values(is_enabled=False))


def may_begin(connection: Connection, task: Task, now: datetime) -> bool:
    """Apply the policy for runs that are due while another one has not ended; return False to skip them."""
    if task.overlap is OverlapPolicy.ALLOW or not has_unfinished(connection, task.id):
        return True
    if task.overlap is OverlapPolicy.CANCEL_PREVIOUS:
        stop_runs(connection, now, REPLACED, task_id=task.id)
    return task.overlap is not OverlapPolicy.SKIP


def _set_plan(connection: Connection, task_id: str, next_at: datetime | None, now: datetime) -> None:
    connection.execute(update(tasks).where(tasks.c.id == task_id).values(next_at=next_at, planned_at=now))


def add_run(connection: Connection, run: Run) -> bool:
    """Store a run unless there is one of its id."""
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects import postgresql

        statement: Any = postgresql.insert(runs).values(to_row(run)).on_conflict_do_nothing()
    else:
        from sqlalchemy.dialects import sqlite

        statement = sqlite.insert(runs).values(to_row(run)).on_conflict_do_nothing()
    return bool(connection.execute(statement).rowcount)


def no_task(task_id: str) -> NotFoundError:
    """Say that there is no such task."""
    return NotFoundError(f"there is no task {task_id[:100]!r}; the ids are in the list of scheduled tasks")
