"""The workers in the database, as functions of a connection, each a part of a transaction; and which of them have died.

A worker that lives counts up. Each observer notes by its own clock when it last saw a worker's count change, so no
clocks of different machines are compared, and setting a clock kills no one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, func, insert, select, update

from oneclaw_scheduled_tasks.tables import runs, to_row, workers
from oneclaw_scheduled_tasks.task import RunStatus, WorkerState

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import datetime

    from sqlalchemy import Connection

BEAT_SECONDS = 3.0
DEAD_SECONDS = 15.0


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


class Watch:
    """One observer."""

    def __init__(self, dead_seconds: float = DEAD_SECONDS) -> None:
        self._dead_seconds = dead_seconds
        self._seen: dict[str, tuple[int, float]] = {}

    def dead(self, beats: Mapping[str, int], now: float) -> frozenset[str]:
        """Look at the counts.

        ``now`` is in seconds, by a monotonic clock.
        """
        self._seen = {
            worker: seen if (seen := self._seen.get(worker)) is not None and seen[0] == count else (count, now)
            for worker, count in beats.items()
        }
        return frozenset(worker for worker, (_, since) in self._seen.items() if now - since > self._dead_seconds)
