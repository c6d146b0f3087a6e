"""Between rows of the tables and the nouns."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from oneclaw_scheduled_tasks.missed import MissedPolicy
from oneclaw_scheduled_tasks.schedules import schedule_from_json, schedule_to_json
from oneclaw_scheduled_tasks.task import OverlapPolicy, Run, RunStatus, Task

if TYPE_CHECKING:
    from collections.abc import Mapping

_TASK_TIMES = ("created_at", "anchor", "next_at", "planned_at")
_RUN_TIMES = ("scheduled_at", "not_before", "started_at", "ended_at")


def to_milliseconds(moment: datetime | None) -> int | None:
    """A moment as it is stored."""
    return None if moment is None else round(moment.timestamp() * 1000)


def to_moment(milliseconds: int | None) -> datetime | None:
    """A stored moment, in UTC."""
    return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC)


def task_to_row(task: Task) -> dict[str, Any]:
    """A task as it is stored."""
    row = {field.name: getattr(task, field.name) for field in fields(task)}
    row |= {name: to_milliseconds(row[name]) for name in _TASK_TIMES}
    row["schedule"] = json.dumps(schedule_to_json(task.schedule))
    row["end_date"] = task.end_date.isoformat() if task.end_date is not None else None
    row["tool_groups"] = json.dumps(task.tool_groups) if task.tool_groups is not None else None
    row["channels"] = json.dumps(task.channels)
    row["missed"], row["overlap"] = str(task.missed), str(task.overlap)
    return row


def task_from_row(row: Mapping[Any, Any]) -> Task:
    """A stored task."""
    values = dict(row)
    values |= {name: to_moment(values[name]) for name in _TASK_TIMES}
    values["schedule"] = schedule_from_json(json.loads(values["schedule"]))
    values["end_date"] = date.fromisoformat(values["end_date"]) if values["end_date"] else None
    groups = values["tool_groups"]
    values["tool_groups"] = tuple(json.loads(groups)) if groups is not None else None
    values["channels"] = tuple(json.loads(values["channels"]))
    values["missed"], values["overlap"] = MissedPolicy(values["missed"]), OverlapPolicy(values["overlap"])
    return Task(**values)


def run_to_row(run: Run) -> dict[str, Any]:
    """A run as it is stored."""
    row = {field.name: getattr(run, field.name) for field in fields(run)}
    row |= {name: to_milliseconds(row[name]) for name in _RUN_TIMES}
    row["status"] = str(run.status)
    return row


def run_from_row(row: Mapping[Any, Any]) -> Run:
    """A stored run."""
    values = dict(row)
    values |= {name: to_moment(values[name]) for name in _RUN_TIMES}
    values["status"] = RunStatus(values["status"])
    return Run(**values)
