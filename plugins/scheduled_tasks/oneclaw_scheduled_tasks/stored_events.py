"""The events that start tasks: functions of a connection, each a part of a transaction."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import replace
from datetime import UTC, datetime, time
from typing import TYPE_CHECKING

from sqlalchemy import func, select, update

from oneclaw_scheduled_tasks.stored_runs import find_run
from oneclaw_scheduled_tasks.stored_tasks import SKIPPED, add_run, may_begin
from oneclaw_scheduled_tasks.tables import runs, tasks
from oneclaw_scheduled_tasks.task import Run, RunStatus, Task

if TYPE_CHECKING:
    from sqlalchemy import Connection

_MOST_CHARACTERS = 20_000
_DIGITS = 12
ENOUGH = "events have started the task as often as it may run a day; see --per-day of: oneclaw tasks edit"


def triggered_tasks(connection: Connection) -> list[Task]:
    """Return the enabled tasks that events start."""
    # Any other task that is enabled is due some time, or has ended.
    query = select(tasks).where(tasks.c.is_enabled, tasks.c.next_at.is_(None))
    found = [Task(**row) for row in connection.execute(query).mappings()]
    return [each for each in found if each.is_triggered]


def note_trigger(connection: Connection, task_id: str, error: str | None) -> None:
    """Note why the trigger of a task does not work, or that it does."""
    connection.execute(update(tasks).where(tasks.c.id == task_id).values(trigger_error=error))


def add_event(connection: Connection, task_id: str, now: datetime, text: str, key: str | None) -> bool:
    """Make the run that an event starts, if it starts one.

    Returns:
        Whether there is a run now that was not there before.
    """
    # Of two events of a task, one waits for the other, and is counted with it.
    row = connection.execute(select(tasks).where(tasks.c.id == task_id).with_for_update()).mappings().one_or_none()
    task = None if row is None else Task(**row)
    if task is None or not task.is_enabled or task.schedule.per_day is None:
        return False
    today = now.astimezone(task.zone).date()
    if task.end_date is not None and today > task.end_date:
        return False
    run_id = _id(task, key or uuid.uuid4().hex)
    if find_run(connection, run_id) is not None:
        return False
    run = Run(id=run_id, task_id=task.id, scheduled_at=now, not_before=now, event=text[:_MOST_CHARACTERS])
    if _count_since(connection, task, datetime.combine(today, time(), task.zone)) >= task.schedule.per_day:
        # Noted once a day: events can come in thousands.
        enough = run.not_run(now, RunStatus.SKIPPED, ENOUGH)
        add_run(connection, replace(enough, id=_id(task, f"enough {today}")))
        return False
    if not may_begin(connection, task, now):
        add_run(connection, run.not_run(now, RunStatus.SKIPPED, SKIPPED))
        return False
    return add_run(connection, run)


def _id(task: Task, key: str) -> str:
    return f"{task.id}-event-{hashlib.sha256(key.encode()).hexdigest()[:_DIGITS]}"


def _count_since(connection: Connection, task: Task, begin: datetime) -> int:
    query = select(func.count()).where(
        runs.c.task_id == task.id,
        runs.c.scheduled_at >= begin.astimezone(UTC),
        runs.c.event.is_not(None),
        runs.c.status != RunStatus.SKIPPED,
    )
    return int(connection.execute(query).scalar_one())
