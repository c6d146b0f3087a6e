"""Tasks, runs and workers as JSON, for listings, and what changes about a task in words."""

from __future__ import annotations

from dataclasses import fields
from datetime import date
from typing import TYPE_CHECKING, Any

from oneclaw_scheduled_tasks.schedules import SECRET
from oneclaw_scheduled_tasks.task import Task

if TYPE_CHECKING:
    from oneclaw_scheduled_tasks.task import Run, WorkerState

_NAMES = {"is_enabled": "enabled", "is_notified": "notify", "is_manual": "manual", "repeats_calls": "repeat_calls"}
_NOT_SHOWN = {
    "anchor", "planned_at",
    "dispatches", "not_before", "is_queued", "interruptions", "is_cut_off", "worker", "is_delivered",
    "beats", "is_stopping",
}  # fmt: skip

# Of its schedule is said what they say, too.
_NOT_CHANGED = {"id", "created_at", "anchor", "next_at", "planned_at", "trigger_error", "time_zone", "end_date"}


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


def trigger_document(trigger: Any) -> dict[str, Any]:
    """Write a registered trigger as JSON, without what is not shown."""
    parameters = {key: of for key, of in trigger.options.get("parameters", {}).items() if not key.endswith(SECRET)}
    required = [key for key in trigger.options.get("required", ()) if key in parameters]
    names = {"name": trigger.name, "plugin": trigger.plugin, "help": trigger.options["help"]}
    return {**names, "parameters": parameters, "required": required}


def describe_changes(before: Task, after: Task, *, is_whole: bool = False) -> list[str]:
    """Say what differs between two states of a task, each part as ``what: before -> after``."""
    changes = []
    for field in fields(Task):
        old, new = (_in_words(task, field.name) for task in (before, after))
        if field.name not in _NOT_CHANGED and old != new:
            changes.append(
                f"{_NAMES.get(field.name, field.name)}: {shortened(old)} -> {new if is_whole else shortened(new)}"
            )
    return changes


def _in_words(task: Task, name: str) -> str:
    value = task.schedule_text if name == "schedule" else getattr(task, name)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(value) or "none"
    if value is None:
        return "all" if name == "tool_groups" else "none"
    return str(value)


def shortened(text: str, limit: int = 300) -> str:
    """Write the beginning of a text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


def _document(noun: Any) -> dict[str, Any]:
    names = [field.name for field in fields(noun) if field.name not in _NOT_SHOWN]
    return {_NAMES.get(name, name): _value(getattr(noun, name)) for name in names}


def _value(value: Any) -> Any:
    if isinstance(value, date):
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else value
