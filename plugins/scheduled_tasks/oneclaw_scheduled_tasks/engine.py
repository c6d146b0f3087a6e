"""The durable queue: DBOS, with what it lacks.

DBOS keeps the queue in a database, hands each entry to one worker, and keeps what a worker has taken as its own until
the outcome is there. What it does without a paid service is to recover a worker's entries when a worker of the same
name starts again. Here workers have a new name each time, and any of them recovers what belongs to one that is gone.
"""

from __future__ import annotations

import logging
import math
import re
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from datetime import datetime

APPLICATION = "oneclaw-tasks"
QUEUE = "oneclaw_tasks"
WORKFLOW = "oneclaw_run_task"
POSTGRESQL_SCHEMA = "oneclaw_dbos"
# Entries are taken by workers of the same version only: to be changed when an entry of old cannot be read any more.
APPLICATION_VERSION = "1"
POLLING_SECONDS = 0.5
_REMOVED_AT_ONCE = 500
_log = logging.getLogger("oneclaw.tasks.dbos")


class HandedBack(BaseException):  # no error: it must pass what catches errors
    """A run was left before its end: its entry stays with this worker until another one takes it up."""


class Engine:
    """One worker's part of the queue. DBOS allows one a process.

    Args:
        url: the tasks' database, which DBOS keeps its own tables in.
        worker_id: its name, never used before.
        concurrency: how many runs it takes at a time.
        work: does a run, in a thread; gets its id and how often it had been put into the queue. What it raises other
            than :class:`HandedBack` ends the entry.
    """

    def __init__(self, url: str, worker_id: str, concurrency: int, work: Callable[[str, int], None]) -> None:
        self._url = url
        self._worker_id = worker_id
        self._concurrency = concurrency
        self._work = work

    def start(self) -> None:
        """Begin to take runs from the queue."""
        from dbos import DBOS, WorkflowSerializationFormat

        _redirect_log()
        _suit_old_sqlite()
        work = self._work

        # As JSON: who can write to the database is not to be able to have code unpickled.
        @DBOS.workflow(
            name=WORKFLOW,
            max_recovery_attempts=None,
            serialization_type=WorkflowSerializationFormat.PORTABLE,
        )
        def run_task(run_id: str, dispatch: int) -> None:
            work(run_id, dispatch)

        self._workflow = run_task
        DBOS(
            config={
                "name": APPLICATION,
                "system_database_url": self._url,
                "dbos_system_schema": POSTGRESQL_SCHEMA,
                "executor_id": self._worker_id,
                "application_version": APPLICATION_VERSION,
                "log_level": "WARNING",
                "enable_otlp": False,
                "sys_db_pool_size": 8,
                "use_listen_notify": False,
            }
        )
        DBOS.launch()
        DBOS.register_queue(
            QUEUE,
            worker_concurrency=self._concurrency,
            polling_interval_sec=POLLING_SECONDS,
            on_conflict="always_update",
        )

    def enqueue(self, entries: Iterable[tuple[str, int]]) -> None:
        """Put runs into the queue; one that is there, or was, is not put there again.

        Args:
            entries: ids of runs, and how often each has been put there before.
        """
        from dbos import DBOS, SetWorkflowID

        for run_id, dispatch in entries:
            with SetWorkflowID(f"{run_id}.{dispatch}"):
                DBOS.enqueue_workflow(QUEUE, self._workflow, run_id, dispatch)

    def holders(self) -> frozenset[str]:
        """The workers that have taken runs and not ended them."""
        from dbos import DBOS

        pending = DBOS.list_workflows(status="PENDING", queue_name=QUEUE, load_input=False, load_output=False)
        return frozenset(each.executor_id for each in pending if each.executor_id)

    def take_up(self, gone: Collection[str]) -> None:
        """Put the runs of workers that are gone back into the queue.

        However many workers do so, an entry that another one has taken meanwhile stays with that one.
        """
        from dbos import DBOS

        if gone:
            DBOS._recover_pending_workflows(sorted(gone))

    def living(self, entries: Iterable[tuple[str, int]]) -> frozenset[tuple[str, int]]:
        """Those of some entries that wait in the queue or are under way.

        Args:
            entries: as for :meth:`enqueue`.
        """
        from dbos import DBOS

        ids = {f"{run_id}.{dispatch}": (run_id, dispatch) for run_id, dispatch in entries}
        if not ids:
            return frozenset()
        found = DBOS.list_workflows(
            workflow_ids=list(ids),
            status=["ENQUEUED", "DELAYED", "PENDING"],
            load_input=False,
            load_output=False,
        )
        return frozenset(ids[each.workflow_id] for each in found)

    def remove_old(self, before: datetime) -> int:
        """Delete the entries of runs that ended before a time.

        Returns:
            How many.
        """
        from dbos import DBOS

        removed = 0
        while True:
            old = DBOS.list_workflows(
                status=["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"],
                queue_name=QUEUE,
                end_time=before.isoformat(),
                limit=_REMOVED_AT_ONCE,
                load_input=False,
                load_output=False,
            )
            if not old:
                return removed
            DBOS.delete_workflows([each.workflow_id for each in old])
            removed += len(old)

    def stop(self, grace_seconds: float) -> None:
        """Take no more runs, and wait for those under way.

        Args:
            grace_seconds: how long.
        """
        from dbos import DBOS

        DBOS.destroy(destroy_registry=True, workflow_completion_timeout_sec=math.ceil(grace_seconds))


class _ToHomeLog(logging.Handler):
    """Sends what DBOS logs to the log of the home; only errors as more than information."""

    def emit(self, record: logging.LogRecord) -> None:
        """Pass a record on."""
        level = record.levelno if record.levelno >= logging.ERROR else logging.INFO
        _log.log(level, "%s", _PASSWORD.sub("://***@", record.getMessage()), exc_info=record.exc_info)


_PASSWORD = re.compile(r"://[^\s/@]+@")


def _suit_old_sqlite() -> None:
    """Give an SQLite before 3.42 what DBOS asks of it: ``unixepoch('subsec')``, the time with fractions of a second.

    From Python 3.12 on DBOS takes a newer SQLite for granted; many systems have none, and it answers with NULL.
    """
    import sqlite3

    from sqlalchemy import Engine, event

    if sqlite3.sqlite_version_info >= (3, 42):
        return

    def teach(connection: Any, _: object) -> None:
        if hasattr(connection, "create_function"):  # PostgreSQL's has none
            connection.create_function("unixepoch", -1, lambda *_: time.time())

    event.listen(Engine, "connect", teach)


def _redirect_log() -> None:
    logger = logging.getLogger("dbos")
    if not any(isinstance(each, _ToHomeLog) for each in logger.handlers):
        for handler in list(logger.handlers):
            logger.removeHandler(handler)
        logger.addHandler(_ToHomeLog())
        logger.propagate = False
