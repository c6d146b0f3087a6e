"""Tasks, runs and workers as JSON, for listings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_scheduled_tasks.schedules import schedule_to_json

if TYPE_CHECKING:
    from datetime import datetime

    from oneclaw_scheduled_tasks.stored_workers import WorkerState
    from oneclaw_scheduled_tasks.task import Run, Task


def task_document(task: Task, last: Run | None = None) -> dict[str, Any]:
    """A task as JSON.

    Args:
        task: which.
        last: its last run, if that is to be in it.
    """
    document = {
        "id": task.id,
        "name": task.name,
        "prompt": task.prompt,
        "schedule": schedule_to_json(task.schedule),
        "schedule_text": task.schedule_text,
        "time_zone": task.time_zone,
        "end_date": task.end_date.isoformat() if task.end_date is not None else None,
        "enabled": task.is_enabled,
        "next_at": _moment(task.next_at),
        "agent": task.agent,
        "model": task.model,
        "tool_groups": list(task.tool_groups) if task.tool_groups is not None else None,
        "missed": str(task.missed),
        "catch_up_seconds": task.catch_up_seconds,
        "jitter_seconds": task.jitter_seconds,
        "overlap": str(task.overlap),
        "retries": task.retries,
        "retry_delay_seconds": task.retry_delay_seconds,
        "max_seconds": task.max_seconds,
        "max_cost": task.max_cost,
        "repeat_calls": task.repeats_calls,
        "notify": task.is_notified,
        "webhook": task.webhook,
        "command": task.command,
        "channels": list(task.channels),
        "created_at": _moment(task.created_at),
    }
    return document if last is None else {**document, "last_run": run_document(last)}


def run_document(run: Run) -> dict[str, Any]:
    """A run as JSON."""
    return {
        "id": run.id,
        "task_id": run.task_id,
        "scheduled_at": _moment(run.scheduled_at),
        "manual": run.is_manual,
        "status": str(run.status),
        "attempt": run.attempt,
        "started_at": _moment(run.started_at),
        "ended_at": _moment(run.ended_at),
        "duration_seconds": run.duration_seconds,
        "input_tokens": run.input_tokens,
        "output_tokens": run.output_tokens,
        "cost": run.cost,
        "session": run.session,
        "answer": run.answer,
        "error": run.error,
        "notes": run.notes,
        "is_read": run.is_read,
        "event": run.event,
    }


def result_document(task: Task, run: Run) -> dict[str, Any]:
    """A result as JSON, as webhooks and commands get it."""
    document = run_document(run)
    left_out = ("id", "manual", "duration_seconds", "is_read", "event")
    return {"task": task.name, "run_id": run.id} | {key: document[key] for key in document if key not in left_out}


def worker_document(worker: WorkerState, *, is_alive: bool) -> dict[str, Any]:
    """A worker as JSON."""
    return {
        "id": worker.id,
        "host": worker.host,
        "pid": worker.pid,
        "version": worker.version,
        "concurrency": worker.concurrency,
        "running": worker.running,
        "started_at": _moment(worker.started_at),
        "beat_at": _moment(worker.beat_at),
        "status": "stopping" if worker.is_stopping and is_alive else "alive" if is_alive else "silent",
    }


def _moment(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment is not None else None
