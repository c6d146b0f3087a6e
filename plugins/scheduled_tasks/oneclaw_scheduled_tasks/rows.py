"""Between rows of the tables and the nouns."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

from oneclaw_scheduled_tasks.missed import MissedPolicy
from oneclaw_scheduled_tasks.schedules import schedule_from_json, schedule_to_json
from oneclaw_scheduled_tasks.task import OverlapPolicy, Run, RunStatus, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Noun = TypeVar("Noun")

_READ: dict[str, Callable[[Any], Any]] = {
    "datetime": lambda value: datetime.fromtimestamp(value / 1000, UTC),
    "date": date.fromisoformat,
    "Schedule": lambda value: schedule_from_json(json.loads(value)),
    "tuple[str, ...]": lambda value: tuple(json.loads(value)),
    "MissedPolicy": MissedPolicy,
    "OverlapPolicy": OverlapPolicy,
    "RunStatus": RunStatus,
}


def to_milliseconds(moment: datetime | None) -> int | None:
    """Write a moment as it is stored."""
    return None if moment is None else round(moment.timestamp() * 1000)


def to_moment(milliseconds: int | None) -> datetime | None:
    """Read a stored moment, in UTC."""
    return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC)


def to_row(noun: Any) -> dict[str, Any]:
    """Write a task, a run or a worker as it is stored."""
    return {field.name: to_column(getattr(noun, field.name)) for field in fields(noun)}


def to_column(value: Any) -> Any:
    """Write one value as it is stored."""
    if isinstance(value, datetime):
        return to_milliseconds(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, StrEnum):
        return str(value)
    if isinstance(value, tuple):
        return json.dumps(value)
    return value if value is None or isinstance(value, str | int | float) else json.dumps(schedule_to_json(value))


def to_noun(kind: type[Noun], row: Mapping[Any, Any]) -> Noun:
    """Read a stored task, run or worker."""
    values = dict(row)
    for field in fields(kind):  # type: ignore[arg-type]  # a dataclass
        read = _READ.get(str(field.type).removesuffix(" | None"))
        if read is not None and values.get(field.name) is not None:
            values[field.name] = read(values[field.name])
    return kind(**values)


def task_from_row(row: Mapping[Any, Any]) -> Task:
    """Read a stored task."""
    return to_noun(Task, row)


def run_from_row(row: Mapping[Any, Any]) -> Run:
    """Read a stored run."""
    return to_noun(Run, row)
