"""Having runs done by hand that a task did not have in some time, such as before it was made."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING

from sqlalchemy import delete, select

from oneclaw_core import UsageError
from oneclaw_scheduled_tasks.occurrences import FIRST_DAY, LAST_DAY
from oneclaw_scheduled_tasks.stored_tasks import add_run
from oneclaw_scheduled_tasks.tables import runs
from oneclaw_scheduled_tasks.task import Run, RunStatus, run_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from oneclaw_scheduled_tasks.task import Task

MOST_RUNS = 100
_FORMS = ("%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M")


def read_moment(text: str, task: Task, *, is_end: bool = False) -> datetime:
    """Read a day or a time by the wall clock of a task; of a day, its beginning.

    It is ``YYYY-MM-DD``, with or without ``HH:MM``. With ``is_end``, it is the end of the day or minute.
    """
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
    ids = [run_id(task.id, at) for at in moments]
    passed_over = (RunStatus.MISSED, RunStatus.SKIPPED)
    query = select(runs.c.id).where(runs.c.id.in_(ids), runs.c.status.not_in(passed_over))
    done = set(connection.execute(query).scalars())
    return [at for at in moments if run_id(task.id, at) not in done]


def make_up(connection: Connection, task: Task, moments: Sequence[datetime], now: datetime) -> list[Run]:
    """Make the runs of occurrences that are not done."""
    to_do = not_done(connection, task, moments)
    connection.execute(delete(runs).where(runs.c.id.in_([run_id(task.id, at) for at in to_do])))
    made = [
        Run(id=run_id(task.id, at), task_id=task.id, scheduled_at=at, not_before=now, is_manual=True) for at in to_do
    ]
    return [each for each in made if add_run(connection, each)]
