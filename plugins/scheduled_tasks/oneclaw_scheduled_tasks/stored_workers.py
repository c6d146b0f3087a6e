"""The workers in the database: functions of a connection, each a part of a transaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import delete, func, insert, select, update

from oneclaw_scheduled_tasks.rows import to_milliseconds, to_moment
from oneclaw_scheduled_tasks.tables import runs, workers
from oneclaw_scheduled_tasks.task import RunStatus

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from sqlalchemy import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerState:
    """A worker as the others see it.

    Attributes:
        id: made anew by each process.
        host: the machine's name.
        pid: of the process.
        version: of this package.
        concurrency: how many runs it does at a time.
        started_at: when it began, by its own clock.
        beats: counts up as long as it lives.
        beat_at: the time of the last one, by its own clock.
        is_stopping: whether it takes no more runs.
        running: how many runs it does now.
    """

    id: str
    host: str
    pid: int
    version: str
    concurrency: int
    started_at: datetime
    beats: int
    beat_at: datetime
    is_stopping: bool = False
    running: int = 0


def add_worker(connection: Connection, worker: WorkerState) -> None:
    """Announce a worker."""
    connection.execute(
        insert(workers).values(
            id=worker.id,
            host=worker.host,
            pid=worker.pid,
            version=worker.version,
            concurrency=worker.concurrency,
            started_at=to_milliseconds(worker.started_at),
            beats=worker.beats,
            beat_at=to_milliseconds(worker.beat_at),
            is_stopping=worker.is_stopping,
        )
    )


def beat(connection: Connection, worker_id: str, now: datetime, *, is_stopping: bool) -> bool:
    """Say that a worker lives.

    Returns:
        Whether the others still count on it.
    """
    statement = update(workers).where(workers.c.id == worker_id)
    return bool(
        connection.execute(
            statement.values(beats=workers.c.beats + 1, beat_at=to_milliseconds(now), is_stopping=is_stopping)
        ).rowcount
    )


def list_workers(connection: Connection) -> list[WorkerState]:
    """All workers that have announced themselves and not gone, the oldest first."""
    running = (
        select(func.count())
        .where(runs.c.worker == workers.c.id, runs.c.status == str(RunStatus.RUNNING))
        .correlate(workers)
        .scalar_subquery()
        .label("running")
    )
    query = select(workers, running).order_by(workers.c.started_at, workers.c.id)
    found = []
    for row in connection.execute(query).mappings():
        values = dict(row)
        values |= {name: to_moment(values[name]) for name in ("started_at", "beat_at")}
        found.append(WorkerState(**values))
    return found


def remove_workers(connection: Connection, ids: Collection[str]) -> None:
    """Forget workers that are gone."""
    connection.execute(delete(workers).where(workers.c.id.in_(list(ids))))
