"""Copying the tasks and their log into another database, of the same or another kind, and checking it row by row."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING

from sqlalchemy import insert, select

from oneclaw_core import StoreError, UsageError
from oneclaw_scheduled_tasks.database import TaskDatabase, tasks_database_url
from oneclaw_scheduled_tasks.stored import DEAD_SECONDS, list_workers, take_up
from oneclaw_scheduled_tasks.tables import runs, tasks

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

_TABLES = (tasks, runs)
_BATCH = 500
_POLL_SECONDS = 0.2


def copy_tasks(source_url: str, target_url: str, dead_seconds: float = DEAD_SECONDS) -> dict[str, int]:
    """Copy all tasks and their log into a database that has none. What has not ended is done by the target's workers.

    Args:
        source_url: the tasks' database, as :func:`tasks_database_url` gives it.
        target_url: of another database or, like ``ONECLAW_DATABASE_URL``, of a store; made if it is missing.
        dead_seconds: how long a worker that is still listed must have been silent to count as killed.

    Returns:
        How many rows each table has.

    Raises:
        UsageError: both are one database, a worker is at work, or the target is not empty.
        StoreError: one of them cannot be used, or what was written is not what was read; then nothing is kept.
    """
    target_url = tasks_database_url(target_url, {})
    if source_url == target_url:
        raise UsageError("the tasks cannot be copied into their own database: name another one")
    with closing(TaskDatabase.open_here(source_url)) as source:
        _refuse_workers(source, dead_seconds)
        with closing(TaskDatabase.open_here(target_url)) as target:
            return source.run_here(lambda old: target.run_here(lambda new: _copy(old, new)))


def _refuse_workers(database: TaskDatabase, dead_seconds: float) -> None:
    """A run that goes on while it is copied would be done twice."""

    def beats() -> dict[str, int]:
        return {worker.id: worker.beats for worker in database.run_here(list_workers)}

    first = now = beats()
    deadline = time.monotonic() + dead_seconds
    while now and time.monotonic() < deadline:
        if any(count != first.get(worker) for worker, count in now.items()):
            raise UsageError("a worker is at work on these tasks: stop all workers, then copy")
        time.sleep(_POLL_SECONDS)
        now = beats()


def _copy(old: Connection, new: Connection) -> dict[str, int]:
    filled = [each.name for each in _TABLES if new.execute(select(each.c.id).limit(1)).first() is not None]
    if filled:
        raise UsageError(f"the other database has tasks already ({', '.join(filled)}): choose one that has none")
    copied = {table.name: _copy_table(old, new, table) for table in _TABLES}
    # The queue is not copied, and workers of the source that were killed do not come here.
    take_up(new, None)
    return copied


def _copy_table(old: Connection, new: Connection, table: Table) -> int:
    count = 0
    read = old.execute(select(table), execution_options={"stream_results": True, "max_row_buffer": _BATCH})
    for batch in read.partitions(_BATCH):
        new.execute(insert(table), [dict(row._mapping) for row in batch])
        stored = new.execute(select(table).where(table.c.id.in_([row.id for row in batch])))
        if set(stored.all()) != set(batch):
            raise StoreError(f"what was written to {table.name} is not what was read: nothing was kept; copy again")
        count += len(batch)
    return count
