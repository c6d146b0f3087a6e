"""Having runs done by hand that a task did not have in some time, such as before it was made."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING

from oneclaw_core import UsageError
from oneclaw_scheduled_tasks.occurrences import FIRST_DAY, LAST_DAY
from oneclaw_scheduled_tasks.tables import add, read, remove, runs
from oneclaw_scheduled_tasks.task import Run, RunStatus, run_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from oneclaw_scheduled_tasks.task import Task

MOST_RUNS = 100
_FORMS = ("%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M")


def missing_runs(connection: Connection, task: Task, first: str, last: str) -> list[datetime]:
    """List the occurrences in a time that has passed that there is no run of, or one that was missed or skipped.

    A day or time is ``YYYY-MM-DD`` or ``YYYY-MM-DD HH:MM`` by the task's wall clock.
    """
    begin, end = read_moment(first, task), read_moment(last, task, is_end=True)
    if end < begin:
        raise UsageError(f"{last} lies before {first}")
    return not_done(connection, task, occurrences_between(task, begin, min(end, datetime.now(UTC))))


def read_moment(text: str, task: Task, *, is_end: bool = False) -> datetime:
    """Read the beginning of a day or a minute by the wall clock of a task, or its end."""
    for form in _FORMS:
        try:
            wall = datetime.strptime(text.strip(), form)
        except ValueError:
            continue
        if not FIRST_DAY <= wall.date() <= LAST_DAY:
            break
        if is_end:
            rest = timedelta(seconds=59, milliseconds=999)
            wall = (datetime.combine(wall, time(23, 59)) if form == _FORMS[0] else wall) + rest
        return wall.replace(tzinfo=task.zone, fold=int(is_end)).astimezone(UTC)
    raise UsageError(f"{text[:50]!r} is not a time: write YYYY-MM-DD, or YYYY-MM-DD HH:MM")


def occurrences_between(task: Task, first: datetime, last: datetime) -> list[datetime]:
    """List when a task was due from a moment to another one, both included."""
    found: list[datetime] = []
    moment = first - timedelta(microseconds=1)
    while (due := task.next_after(moment)) is not None and due <= last:
        if len(found) == MOST_RUNS:
            raise UsageError(f"these are more than {MOST_RUNS} runs, the most that can be made up for at once")
        found.append(due)
        moment = due
    return found


def not_done(connection: Connection, task: Task, moments: Sequence[datetime]) -> list[datetime]:
    """Return those of some occurrences that have no run, or one that was missed or skipped."""
    is_one = runs.c.id.in_([run_id(task.id, at) for at in moments])
    is_done = runs.c.status.not_in((RunStatus.MISSED, RunStatus.SKIPPED))
    done = {run.id for run in read(connection, Run, is_one, is_done)}
    return [at for at in moments if run_id(task.id, at) not in done]


def make_up(connection: Connection, task: Task, moments: Sequence[datetime], now: datetime) -> list[Run]:
    """Make the runs of occurrences that are not done."""
    to_do = {run_id(task.id, at): at for at in not_done(connection, task, moments)}
    remove(connection, Run, runs.c.id.in_(to_do))
    new = [Run(id=key, task_id=task.id, scheduled_at=at, not_before=now, is_manual=True) for key, at in to_do.items()]
    return [run for run in new if add(connection, run)]
