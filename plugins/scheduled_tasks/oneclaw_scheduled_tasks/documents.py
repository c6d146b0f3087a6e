"""Tasks, runs and workers as JSON, for listings."""

from __future__ import annotations

from dataclasses import fields
from datetime import date
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oneclaw_scheduled_tasks.task import Run, Task, WorkerState

_NAMES = {"is_enabled": "enabled", "is_notified": "notify", "is_manual": "manual", "repeats_calls": "repeat_calls"}
_NOT_SHOWN = {
    "anchor", "planned_at",
    "dispatches", "not_before", "is_queued", "interruptions", "is_cut_off", "worker", "is_delivered",
    "beats", "is_stopping",
}  # fmt: skip


def task_document(task: Task, last: Run | None = None) -> dict[str, Any]:
    """Write a task as JSON, with its last run if that is given."""
    document = _document(task)
    document |= {"schedule": task.schedule.given(), "schedule_text": task.schedule_text}
    return document if last is None else {**document, "last_run": run_document(last)}


def run_document(run: Run) -> dict[str, Any]:
    """Write a run as JSON."""
    return {**_document(run), "duration_seconds": run.duration_seconds}


def result_document(task: Task, run: Run) -> dict[str, Any]:
    """Write a result as JSON, as webhooks and commands get it."""
    document = run_document(run)
    left_out = ("id", "manual", "duration_seconds", "is_read", "event")
    return {"task": task.name, "run_id": run.id} | {key: document[key] for key in document if key not in left_out}


def worker_document(worker: WorkerState, *, is_alive: bool) -> dict[str, Any]:
    """Write a worker as JSON."""
    status = "stopping" if worker.is_stopping and is_alive else "alive" if is_alive else "silent"
    return {**_document(worker), "status": status}


def _document(noun: Any) -> dict[str, Any]:
    names = [field.name for field in fields(noun) if field.name not in _NOT_SHOWN]
    return {_NAMES.get(name, name): _value(getattr(noun, name)) for name in names}


def _value(value: Any) -> Any:
    if isinstance(value, date):
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else value
