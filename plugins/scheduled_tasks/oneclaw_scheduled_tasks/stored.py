"""Tasks, runs and workers in the database: functions of a connection, each a part of a transaction."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import case, func, literal, select, tuple_, update

from oneclaw_core import NotFoundError, UsageError
from oneclaw_scheduled_tasks.tables import Moment, change, find, read, remove, runs, tasks, to_row, workers
from oneclaw_scheduled_tasks.task import (
    UNFINISHED,
    WITH_RESULT,
    OverlapPolicy,
    Run,
    RunStatus,
    Task,
    WorkerState,
    unseen_end,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import ColumnElement, Connection

KEPT_DAYS = 90
BEAT_SECONDS = 3.0
DEAD_SECONDS = 15.0
SHOWN_RUNS = 50
_MOST_QUEUED = 50
HAS_RESULT = runs.c.ended_at.is_not(None) & runs.c.status.in_(WITH_RESULT)
IS_UNREAD = ~runs.c.is_read & HAS_RESULT
_TO_BEGIN = (RunStatus.WAITING, RunStatus.INTERRUPTED)
_LONG_AGO = literal(datetime(1970, 1, 1, tzinfo=UTC), Moment())
# Asked for once a second by every worker, so it is one statement that is made once.
_NEXT_MOMENTS = select(
    select(func.min(tasks.c.next_at)).where(tasks.c.is_enabled).scalar_subquery(),
    select(func.min(case((runs.c.is_queued, _LONG_AGO), else_=runs.c.not_before)))
    .where(runs.c.ended_at.is_(None), runs.c.status.in_(_TO_BEGIN))
    .scalar_subquery(),
)


# Tasks


def get_task(connection: Connection, task_id: str) -> Task:
    """Read a task."""
    found = find(connection, Task, task_id.strip())
    if found is None:
        raise NotFoundError(f"there is no task {task_id[:100]!r}; the ids are in the list of scheduled tasks")
    return found


def find_task_id(connection: Connection, wanted: str) -> str | None:
    """Find the id of a task by its id or name; ``None`` if there is none."""
    names = {row.id: row.name for row in connection.execute(select(tasks.c.id, tasks.c.name))}
    if wanted in names:
        return wanted
    found = [task_id for task_id, name in names.items() if name.casefold() == wanted.casefold()]
    if len(found) > 1:
        raise UsageError(f"{len(found)} tasks have the name {wanted!r}: give an id, {' or '.join(found)}")
    return found[0] if found else None


def require_task_id(connection: Connection, wanted: str) -> str:
    """Find the id of a task by its id or name; the task itself need not be readable."""
    task_id = find_task_id(connection, wanted.strip())
    if task_id is None:
        raise NotFoundError(f"there is no task {wanted[:100]!r}; list them with: oneclaw tasks list")
    return task_id


def find_task(connection: Connection, wanted: str) -> Task:
    """Read a task by its id or name."""
    return get_task(connection, require_task_id(connection, wanted))


def count_tasks(connection: Connection) -> int:
    """Return the number of tasks."""
    return int(connection.execute(select(func.count()).select_from(tasks)).scalar_one())


def list_tasks(connection: Connection) -> list[tuple[Task, Run | None]]:
    """List all tasks, the newest first, each with its last run that has begun or was missed."""
    newest = (
        select(runs.c.task_id, func.max(runs.c.scheduled_at))
        .where(runs.c.status != RunStatus.WAITING)
        .group_by(runs.c.task_id)
    )
    last = {run.task_id: run for run in read(connection, Run, tuple_(runs.c.task_id, runs.c.scheduled_at).in_(newest))}
    found = read(connection, Task, order=(tasks.c.created_at.desc(), tasks.c.id))
    return [(task, last.get(task.id)) for task in found]


def change_task(connection: Connection, before: Task, after: Task) -> None:
    """Store what is to be different about a task; the rest stays as it is by now."""
    old, new = to_row(before), to_row(after)
    row = {name: value for name, value in new.items() if value != old[name]}
    if "planned_at" in row:
        # A worker may have gone by the old schedule meanwhile.
        row |= {name: new[name] for name in ("next_at", "is_enabled")}
    if row and not change(connection, Task, tasks.c.id == after.id, **row):
        get_task(connection, after.id)
    if before.is_enabled and not after.is_enabled:
        has_begun = runs.c.is_manual | (runs.c.status != RunStatus.WAITING) | runs.c.started_at.is_not(None)
        remove(connection, Run, runs.c.task_id == after.id, ~has_begun)


def remove_task(connection: Connection, task_id: str, now: datetime) -> list[Run]:
    """Delete a task with its log; return the runs that this has stopped."""
    stopped = stop_runs(connection, now, "its task was deleted", runs.c.task_id == task_id)
    remove(connection, Run, runs.c.task_id == task_id)
    if not remove(connection, Task, tasks.c.id == task_id):
        get_task(connection, task_id)
    return stopped


# Runs, as users see them


def get_run(connection: Connection, run_id: str) -> Run:
    """Read a run."""
    found = find(connection, Run, run_id.strip())
    if found is None:
        raise NotFoundError(f"there is no run {run_id[:100]!r}; the ids are in: oneclaw tasks log TASK_ID --json")
    return found


def runs_of(connection: Connection, task_id: str, limit: int = SHOWN_RUNS) -> list[Run]:
    """Read a task's log, the newest first."""
    order = (runs.c.scheduled_at.desc(), runs.c.id.desc())
    return read(connection, Run, runs.c.task_id == task_id, order=order, limit=limit)


def results(
    connection: Connection, which: ColumnElement[bool], *order: ColumnElement[Any], limit: int | None = None
) -> list[tuple[Run, str]]:
    """Read runs with the names of their tasks."""
    query = select(runs, tasks.c.name.label("name_of_task")).join(tasks, tasks.c.id == runs.c.task_id)
    found = connection.execute(query.where(which).order_by(*order, runs.c.id).limit(limit)).mappings()
    return [(Run(**{key: row[key] for key in row if key != "name_of_task"}), row["name_of_task"]) for row in found]


def finished_since(connection: Connection, since: datetime) -> list[tuple[Run, str]]:
    """List the runs that ended with a result at a time or after, with the names of their tasks."""
    return results(connection, HAS_RESULT & (runs.c.ended_at >= since), runs.c.ended_at)


def unread(connection: Connection) -> list[tuple[Run, str]]:
    """List the results that the user has not seen, the oldest first, with the names of their tasks."""
    return results(connection, IS_UNREAD, runs.c.ended_at)


def mark_read(connection: Connection, found: Iterable[tuple[Run, str]]) -> None:
    """Note that the user has seen results."""
    change(connection, Run, runs.c.id.in_([run.id for run, _ in found]), is_read=True)


# Runs, from the queue to their end


def next_moments(connection: Connection) -> tuple[datetime | None, datetime | None]:
    """When a task is due next, and when a run may begin; long ago for one that is in the queue."""
    due, begin = connection.execute(_NEXT_MOMENTS).one()
    return due, begin


def to_queue(connection: Connection, now: datetime) -> list[Run]:
    """Read the runs that may begin and are not in the queue; unless runs of a task may overlap, one of each task."""
    earlier = runs.alias()
    comes_before = tuple_(earlier.c.not_before, earlier.c.id) < tuple_(runs.c.not_before, runs.c.id)
    in_the_way = (
        select(earlier.c.id)
        .where(
            earlier.c.task_id == runs.c.task_id,
            earlier.c.id != runs.c.id,
            earlier.c.status.in_(UNFINISHED),
            earlier.c.is_queued | comes_before,
        )
        .exists()
    )
    query = (
        select(runs)
        .join(tasks, tasks.c.id == runs.c.task_id)
        .where(~runs.c.is_queued, runs.c.not_before <= now, (tasks.c.overlap == OverlapPolicy.ALLOW) | ~in_the_way)
        .order_by(runs.c.not_before, runs.c.id)
        .limit(_MOST_QUEUED)
        # Of two workers, each takes the runs that the other has not.
        .with_for_update(skip_locked=True, of=runs)
    )
    return [Run(**row) for row in connection.execute(query).mappings()]


def note_queued(connection: Connection, queued: Iterable[Run]) -> None:
    """Note that runs are in the queue."""
    change(connection, Run, runs.c.id.in_([run.id for run in queued]), is_queued=True)


def begin_run(connection: Connection, run_id: str, dispatch: int, worker: str, now: datetime) -> Run | None:
    """Take a run over from the queue.

    ``dispatch`` says how often it had been put into the queue when this entry was.

    Returns:
        The run as it was before; ``None`` if there is nothing to do any more.
    """
    run = find(connection, Run, run_id, is_locked=True)
    if run is None or run.dispatches != dispatch or run.status.is_final:
        return run if run is not None and run.status.is_final and not run.is_delivered else None
    # A worker that was stopped in good order has said so.
    was_killed = run.status in (RunStatus.RUNNING, RunStatus.INTERRUPTED) and not run.is_cut_off
    change(
        connection,
        Run,
        runs.c.id == run_id,
        status=RunStatus.RUNNING,
        worker=worker,
        is_queued=True,
        error=None,
        interruptions=run.interruptions + was_killed,
        started_at=run.started_at or now,
    )
    return run


def change_run(connection: Connection, /, run_id: str, worker: str, **columns: Any) -> bool:
    """Change a run that a worker has; return False if it is not this worker's any more."""
    is_mine = (runs.c.id == run_id) & (runs.c.worker == worker) & (runs.c.status == RunStatus.RUNNING)
    return bool(change(connection, Run, is_mine, **columns))


def stop_runs(connection: Connection, now: datetime, reason: str, which: ColumnElement[bool]) -> list[Run]:
    """End runs, and return them as they were; the worker that has one finds out and lets go of it."""
    found = read(connection, Run, which, runs.c.status.in_(UNFINISHED), is_locked=True)
    ended = unseen_end(now, RunStatus.STOPPED, reason)
    change(connection, Run, runs.c.id.in_([each.id for each in found]), **ended)
    return found


def begin_again(connection: Connection, run_id: str, now: datetime) -> Run:
    """Have a run that has ended go on as soon as a worker is free."""
    run = get_run(connection, run_id)
    get_task(connection, run.task_id)
    if not run.status.can_go_on:
        raise UsageError(f"the run {run.id} cannot go on: it is {run.status}")
    change(
        connection,
        Run,
        (runs.c.id == run.id) & (runs.c.status == run.status),
        status=RunStatus.WAITING,
        not_before=now,
        attempt=run.attempt + 1,
        dispatches=run.dispatches + 1,
        is_queued=False,
        is_cut_off=True,
        interruptions=0,
        ended_at=None,
        error=None,
        notes=None,
        is_delivered=False,
        is_read=False,
    )
    return run


def take_up(connection: Connection, taken: Iterable[tuple[str, int, str]] | None = ()) -> list[tuple[str, int]]:
    """Have runs go on whose workers are gone: each is put into the queue once more, with a number that counts up.

    However many workers do so, each run is taken up once.

    Args:
        connection: of the transaction.
        taken: what has been taken from the queue and not ended, as runs, their dispatches and the workers that took
            them; ``None`` if there is no such queue any more.

    Returns:
        The entries of the queue that mean nothing any more, as runs and their dispatches.
    """
    known = set(connection.execute(select(workers.c.id)).scalars())
    is_begun = runs.c.status == RunStatus.RUNNING
    is_waiting = runs.c.is_queued & runs.c.status.in_(_TO_BEGIN)
    stale = [(run_id, dispatch) for run_id, dispatch, worker in taken or () if worker not in known]
    is_lost = is_waiting if taken is None else is_waiting & tuple_(runs.c.id, runs.c.dispatches).in_(stale)
    connection.execute(
        update(runs)
        .where((is_begun & runs.c.worker.not_in(known)) | is_lost)
        .values(
            status=case((runs.c.started_at.is_(None), str(RunStatus.WAITING)), else_=str(RunStatus.INTERRUPTED)),
            error=case((is_begun, "the worker stopped in the middle; another one takes it up"), else_=runs.c.error),
            is_queued=False,
            dispatches=runs.c.dispatches + 1,
        )
    )
    return stale


def remove_old(connection: Connection, now: datetime) -> int:
    """Delete what is older than the log is kept."""
    return remove(connection, Run, runs.c.ended_at < now - timedelta(days=KEPT_DAYS))


# Workers: one that lives counts up. No clocks of different machines are compared, and setting a clock kills no one.


def list_workers(connection: Connection) -> list[WorkerState]:
    """List all workers that have announced themselves and not gone, the oldest first."""
    is_its_own = (runs.c.worker == workers.c.id) & (runs.c.status == RunStatus.RUNNING)
    running = select(func.count()).where(is_its_own).correlate(workers).scalar_subquery().label("running")
    query = select(workers, running).order_by(workers.c.started_at, workers.c.id)
    return [WorkerState(**row) for row in connection.execute(query).mappings()]


class Watch:
    """One observer of the workers, who notes by a monotonic clock when it last saw a worker's count change."""

    def __init__(self, dead_seconds: float = DEAD_SECONDS) -> None:
        self._dead_seconds = dead_seconds
        self._seen: dict[str, tuple[int, float]] = {}

    def dead(self, beats: Mapping[str, int], now: float) -> frozenset[str]:
        """Look at the counts, and return the workers that have been still for too long."""
        self._seen = {
            worker: seen if (seen := self._seen.get(worker)) is not None and seen[0] == count else (count, now)
            for worker, count in beats.items()
        }
        return frozenset(worker for worker, (_, since) in self._seen.items() if now - since > self._dead_seconds)
