"""The durable queue: DBOS, which hands each entry to one worker, on SQLite and on PostgreSQL.

It is imported and launched when there is work, and stopped after it: while it is launched it polls its database. An
entry is put into the queue in the transaction that notes so, and a run that is taken up gets a new entry in the same
way; the entry of a worker that is gone stays behind and means nothing any more.
"""

from __future__ import annotations

import logging
import math
import re
from typing import TYPE_CHECKING, Any

from oneclaw_scheduled_tasks.database import suit_old_sqlite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from dbos import DBOSClient, WorkflowStatus
    from sqlalchemy import Connection

    from oneclaw_scheduled_tasks.task import Run

APPLICATION = "oneclaw-tasks"
QUEUE = "oneclaw_tasks"
WORKFLOW = "oneclaw_run_task"
POSTGRESQL_SCHEMA = "oneclaw_dbos"
# Entries are taken by workers of the same version only: to be changed when an entry of old cannot be read any more.
APPLICATION_VERSION = "1"
POLLING_SECONDS = 0.25
_REMOVED_AT_ONCE = 500
_ENDED = ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]
_PASSWORD = re.compile(r"://[^\s/@]+@")
_log = logging.getLogger("oneclaw.tasks.dbos")


class HandedBack(BaseException):  # no error: it must pass what catches errors
    """A run was left before its end: its entry stays as it is."""


class Engine:
    """One worker's part of the queue. DBOS allows one a process.

    Args:
        url: the tasks' database, which DBOS keeps its own tables in.
        worker_id: its name, never used before.
        concurrency: how many runs it takes at a time.
        work: does a run, in a thread; gets its id and how often it had been put into the queue. What it raises other
            than :class:`HandedBack` ends the entry.

    Attributes:
        is_running: True while it takes runs from the queue.
    """

    def __init__(self, url: str, worker_id: str, concurrency: int, work: Callable[[str, int], None]) -> None:
        self._url = url
        self._worker_id = worker_id
        self._concurrency = concurrency
        self._work = work
        self._client: DBOSClient | None = None
        self.is_running = False

    def start(self) -> None:
        """Begin to take runs from the queue; entries that this worker had not ended are in it again."""
        from dbos import DBOS, DBOSClient, WorkflowSerializationFormat
        from sqlalchemy import Engine as SqlEngine
        from sqlalchemy import event

        _redirect_log()
        event.listen(SqlEngine, "connect", _suit)

        # As JSON: who can write to the database is not to be able to have code unpickled.
        @DBOS.workflow(
            name=WORKFLOW, max_recovery_attempts=None, serialization_type=WorkflowSerializationFormat.PORTABLE
        )
        def run_task(run_id: str, dispatch: int) -> None:
            self._work(run_id, dispatch)

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
        self.is_running = True
        try:
            DBOS.launch()
            DBOS.register_queue(
                QUEUE,
                worker_concurrency=self._concurrency,
                polling_interval_sec=POLLING_SECONDS,
                on_conflict="always_update",
            )
            self._client = self._client or DBOSClient(
                system_database_url=self._url,
                dbos_system_schema=POSTGRESQL_SCHEMA,
                application_name=APPLICATION,
                retry_connection_errors=False,
            )
        except BaseException:
            self.stop()
            raise

    def enqueue(self, connection: Connection, run: Run) -> None:
        """Put a run into the queue, in a transaction of the tasks' database."""
        from dbos import WorkflowSerializationFormat

        assert self._client is not None
        self._client.enqueue_in_transaction(
            connection,
            {
                "queue_name": QUEUE,
                "workflow_name": WORKFLOW,
                "workflow_id": f"{run.id}.{run.dispatches}",
                "app_version": APPLICATION_VERSION,
                "serialization_type": WorkflowSerializationFormat.PORTABLE,
            },
            run.id,
            run.dispatches,
        )

    def taken(self) -> list[tuple[str, int, str]]:
        """List what has been taken from the queue and not ended: runs, their dispatches, and the workers.

        Nothing is known as long as this worker has not used the queue.
        """
        pending = self._entries(status="PENDING") if self._client is not None else []
        parts = [(*each.workflow_id.rpartition(".")[::2], each.executor_id or "") for each in pending]
        return [(run_id, int(dispatch), worker) for run_id, dispatch, worker in parts]

    def remove(self, entries: Iterable[tuple[str, int]]) -> None:
        """Delete entries that mean nothing any more, given by runs and their dispatches."""
        assert self._client is not None
        self._client.delete_workflows([f"{run_id}.{dispatch}" for run_id, dispatch in entries])

    def remove_old(self, before: datetime) -> int:
        """Delete the entries of runs that ended before a time."""
        assert self._client is not None
        removed = 0
        while old := self._entries(status=_ENDED, end_time=before.isoformat(), limit=_REMOVED_AT_ONCE):
            self._client.delete_workflows([each.workflow_id for each in old])
            removed += len(old)
        return removed

    def _entries(self, **which: Any) -> list[WorkflowStatus]:
        assert self._client is not None
        return self._client.list_workflows(queue_name=QUEUE, load_input=False, load_output=False, **which)

    def stop(self, grace_seconds: float = 0.0) -> None:
        """Take no more runs, and wait for those under way."""
        if self.is_running:
            from dbos import DBOS

            self.is_running = False
            DBOS.destroy(destroy_registry=True, workflow_completion_timeout_sec=math.ceil(grace_seconds))

    def close(self) -> None:
        """Close its connections."""
        if self._client is not None:
            self._client.destroy()
            self._client = None


class _ToHomeLog(logging.Handler):
    """Sends what DBOS logs to the log of the home; only errors as more than information."""

    def emit(self, record: logging.LogRecord) -> None:
        """Pass a record on."""
        level = record.levelno if record.levelno >= logging.ERROR else logging.INFO
        _log.log(level, "%s", _PASSWORD.sub("://***@", record.getMessage()), exc_info=record.exc_info)


def _suit(connection: Any, _: object) -> None:
    """Have the connections of DBOS, too, answer as it expects."""
    if hasattr(connection, "create_function"):  # PostgreSQL's has none
        suit_old_sqlite(connection)


def _redirect_log() -> None:
    logger = logging.getLogger("dbos")
    logger.handlers = [_ToHomeLog()]
    logger.propagate = False
