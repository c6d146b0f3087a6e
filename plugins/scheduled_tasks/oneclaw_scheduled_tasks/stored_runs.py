"""The runs in the database: functions of a connection, each a part of a transaction."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import case, delete, func, literal, select, tuple_, update

from oneclaw_scheduled_tasks.tables import Moment, runs, tasks, workers
from oneclaw_scheduled_tasks.task import WITH_RESULT, OverlapPolicy, Run, RunStatus

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection

KEPT_DAYS = 90
SHOWN_RUNS = 50
_MOST_QUEUED = 50
_HAS_RESULT = runs.c.ended_at.is_not(None) & runs.c.status.in_(WITH_RESULT)
_IS_UNREAD = ~runs.c.is_read & _HAS_RESULT
_UNFINISHED = (RunStatus.WAITING, RunStatus.RUNNING, RunStatus.INTERRUPTED)
_TO_BEGIN = (RunStatus.WAITING, RunStatus.INTERRUPTED)
_LONG_AGO = literal(datetime(1970, 1, 1, tzinfo=UTC), Moment())
# Asked for once a second by every worker, so it is one statement that is made once.
_NEXT_MOMENTS = select(
    select(func.min(tasks.c.next_at)).where(tasks.c.is_enabled).scalar_subquery(),
    select(func.min(case((runs.c.is_queued, _LONG_AGO), else_=runs.c.not_before)))
    .where(runs.c.ended_at.is_(None), runs.c.status.in_(_TO_BEGIN))
    .scalar_subquery(),
)


def find_run(connection: Connection, run_id: str) -> Run | None:
    """A run, ``None`` if there is none of that id."""
    row = connection.execute(select(runs).where(runs.c.id == run_id)).mappings().one_or_none()
    return None if row is None else Run(**row)


def runs_of(connection: Connection, task_id: str, limit: int = SHOWN_RUNS) -> list[Run]:
    """A task's log, the newest first."""
    query = select(runs).where(runs.c.task_id == task_id).order_by(runs.c.scheduled_at.desc(), runs.c.id.desc())
    return [Run(**row) for row in connection.execute(query.limit(limit)).mappings()]


def finished_since(connection: Connection, since: datetime, known: Collection[str] = ()) -> list[tuple[Run, str]]:
    """List the runs that ended with a result at a time or after, but for known ones, with the names of their tasks."""
    has_ended = (runs.c.ended_at >= since) & runs.c.status.in_(WITH_RESULT)
    return [each for each in _with_names(connection, has_ended, runs.c.ended_at) if each[0].id not in known]


def _with_names(
    connection: Connection, condition: ColumnElement[bool], *order: ColumnElement[Any], limit: int | None = None
) -> list[tuple[Run, str]]:
    query = select(runs, tasks.c.name.label("name_of_task")).join(tasks, tasks.c.id == runs.c.task_id)
    query = query.where(condition).order_by(*order, runs.c.id).limit(limit)
    rows = [dict(row) for row in connection.execute(query).mappings()]
    names = [row.pop("name_of_task") for row in rows]
    return [(Run(**row), name) for row, name in zip(rows, names, strict=True)]


def next_moments(connection: Connection) -> tuple[datetime | None, datetime | None]:
    """When a task is due next, and when a run may begin; long ago for one that is in the queue."""
    due, begin = connection.execute(_NEXT_MOMENTS).one()
    return due, begin


def to_queue(connection: Connection, now: datetime) -> list[Run]:
    """The runs that may begin and are not in the queue; unless runs of a task may overlap, one of each task."""
    earlier = runs.alias()
    comes_before = (earlier.c.not_before < runs.c.not_before) | (
        (earlier.c.not_before == runs.c.not_before) & (earlier.c.id < runs.c.id)
    )
    in_the_way = (
        select(earlier.c.id)
        .where(
            earlier.c.task_id == runs.c.task_id,
            earlier.c.id != runs.c.id,
            earlier.c.status.in_(_UNFINISHED),
            earlier.c.is_queued | comes_before,
        )
        .exists()
    )
    query = (
        select(runs)
        .join(tasks, tasks.c.id == runs.c.task_id)
        .where(
            ~runs.c.is_queued,
            runs.c.not_before <= now,
            (tasks.c.overlap == OverlapPolicy.ALLOW) | ~in_the_way,
        )
        .order_by(runs.c.not_before, runs.c.id)
        .limit(_MOST_QUEUED)
        # Of two workers, each takes the runs that the other has not.
        .with_for_update(skip_locked=True, of=runs)
    )
    return [Run(**row) for row in connection.execute(query).mappings()]


def has_unfinished(connection: Connection, task_id: str) -> bool:
    """Return True if a run of a task has not ended."""
    query = select(runs.c.id).where(runs.c.task_id == task_id, runs.c.status.in_(_UNFINISHED)).limit(1)
    return connection.execute(query).first() is not None


def stop_runs(
    connection: Connection, now: datetime, reason: str, *, task_id: str | None = None, run_id: str | None = None
) -> list[Run]:
    """End runs that have not ended; the worker that has one finds out and lets go of it.

    Returns:
        The runs as they were before.
    """
    meant = runs.c.task_id == task_id if task_id is not None else runs.c.id == run_id
    query = select(runs).where(meant, runs.c.status.in_(_UNFINISHED)).with_for_update()
    found = [Run(**row) for row in connection.execute(query).mappings()]
    if found:
        connection.execute(
            update(runs)
            .where(runs.c.id.in_([each.id for each in found]))
            .values(
                status=RunStatus.STOPPED,
                ended_at=now,
                error=reason,
                is_queued=True,
                is_delivered=True,
                is_read=True,
            )
        )
    return found


def still_running(connection: Connection, worker: str) -> set[str]:
    """Return the ids of the runs that a worker has and that no one has stopped."""
    query = select(runs.c.id).where(runs.c.worker == worker, runs.c.status == RunStatus.RUNNING)
    return set(connection.execute(query).scalars())


def unread(connection: Connection, *, is_marked: bool = False) -> list[tuple[Run, str]]:
    """List the results that the user has not seen, the oldest first, with the names of their tasks."""
    found = _with_names(connection, _IS_UNREAD, runs.c.ended_at)
    if is_marked:
        mark_read(connection, [run.id for run, _ in found])
    return found


def count_unread(connection: Connection) -> dict[RunStatus, int]:
    """Count the results that the user has not seen, by status."""
    query = select(runs.c.status, func.count()).where(_IS_UNREAD).group_by(runs.c.status)
    return {RunStatus(status): count for status, count in connection.execute(query)}


def last_results(connection: Connection, limit: int) -> list[tuple[Run, str]]:
    """List the last results, those that were not seen before all others, with the names of their tasks."""
    return _with_names(connection, _HAS_RESULT, runs.c.is_read, runs.c.ended_at.desc(), limit=limit)


def mark_read(connection: Connection, ids: Collection[str]) -> None:
    """Note that the user has seen the results of runs."""
    connection.execute(update(runs).where(runs.c.id.in_(list(ids))).values(is_read=True))


def note_queued(connection: Connection, queued: Sequence[Run]) -> None:
    """Note that runs are in the queue."""
    connection.execute(update(runs).where(runs.c.id.in_([run.id for run in queued])).values(is_queued=True))


def begin_run(connection: Connection, run_id: str, dispatch: int, worker: str, now: datetime) -> Run | None:
    """Take a run over from the queue.

    ``dispatch`` says how often it had been put into the queue when this entry was.

    Returns:
        The run as it was before; ``None`` if there is nothing to do any more.
    """
    query = select(runs).where(runs.c.id == run_id).with_for_update()
    row = connection.execute(query).mappings().one_or_none()
    if row is None:
        return None
    run = Run(**row)
    if run.dispatches != dispatch or run.status.is_final:
        return run if run.status.is_final and not run.is_delivered else None
    was_begun = run.status in (RunStatus.RUNNING, RunStatus.INTERRUPTED)
    connection.execute(
        update(runs)
        .where(runs.c.id == run_id)
        .values(
            status=RunStatus.RUNNING,
            worker=worker,
            is_queued=True,
            error=None,
            # A worker that was stopped in good order has said so.
            interruptions=runs.c.interruptions + int(was_begun and not run.is_cut_off),
            started_at=func.coalesce(runs.c.started_at, literal(now, Moment())),
        )
    )
    return run


def change_run(connection: Connection, run_id: str, worker: str, columns: Mapping[str, Any]) -> bool:
    """Change a run that a worker has.

    Returns:
        Whether it is still this worker's.
    """
    statement = update(runs).where(runs.c.id == run_id, runs.c.worker == worker, runs.c.status == RunStatus.RUNNING)
    return bool(connection.execute(statement.values(dict(columns))).rowcount)


def begin_again(connection: Connection, run: Run, now: datetime) -> None:
    """Have a run that has ended go on as soon as a worker is free."""
    connection.execute(
        update(runs)
        .where(runs.c.id == run.id, runs.c.status == run.status)
        .values(
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
    )


def note_used(connection: Connection, run_id: str, columns: Mapping[str, Any]) -> None:
    """Note the tokens and the cost of a run that was stopped."""
    if columns:
        connection.execute(update(runs).where(runs.c.id == run_id, runs.c.status == RunStatus.STOPPED).values(columns))


def note_delivered(connection: Connection, run_id: str, problem: str | None) -> None:
    """Note that a run's result was sent, or that it could not be."""
    values: dict[str, Any] = {"is_delivered": True}
    if problem is not None:
        row = connection.execute(select(runs.c.notes).where(runs.c.id == run_id)).one_or_none()
        values["notes"] = "; ".join(each for each in (row.notes if row else None, problem) if each)
    connection.execute(update(runs).where(runs.c.id == run_id).values(values))


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


def drop_waiting(connection: Connection, task_id: str) -> None:
    """Drop the runs of a task that have not begun and were not asked for by somebody."""
    connection.execute(
        delete(runs).where(
            runs.c.task_id == task_id,
            ~runs.c.is_manual,
            runs.c.status == RunStatus.WAITING,
            runs.c.started_at.is_(None),
        )
    )


def remove_old(connection: Connection, now: datetime) -> int:
    """Delete what is older than the log is kept."""
    limit = now - timedelta(days=KEPT_DAYS)
    return connection.execute(delete(runs).where(runs.c.ended_at < limit)).rowcount
