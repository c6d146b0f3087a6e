"""The workers in the database: functions of a connection, each a part of a transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, func, insert, select, update

from oneclaw_scheduled_tasks.tables import runs, to_row, workers
from oneclaw_scheduled_tasks.task import RunStatus, WorkerState

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from sqlalchemy import Connection


def add_worker(connection: Connection, worker: WorkerState) -> None:
    """Announce a worker."""
    row = to_row(worker)
    del row["running"]
    connection.execute(insert(workers).values(row))


def beat(connection: Connection, worker_id: str, now: datetime, *, is_stopping: bool) -> bool:
    """Say that a worker lives."""
    statement = update(workers).where(workers.c.id == worker_id)
    return bool(
        connection.execute(statement.values(beats=workers.c.beats + 1, beat_at=now, is_stopping=is_stopping)).rowcount
    )


def list_workers(connection: Connection) -> list[WorkerState]:
    """All workers that have announced themselves and not gone, the oldest first."""
    running = (
        select(func.count())
        .where(runs.c.worker == workers.c.id, runs.c.status == RunStatus.RUNNING)
        .correlate(workers)
        .scalar_subquery()
        .label("running")
    )
    query = select(workers, running).order_by(workers.c.started_at, workers.c.id)
    return [WorkerState(**row) for row in connection.execute(query).mappings()]


def remove_workers(connection: Connection, ids: Collection[str]) -> None:
    """Forget workers that are gone."""
    connection.execute(delete(workers).where(workers.c.id.in_(list(ids))))
