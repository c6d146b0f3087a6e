"""The tables of the tasks, their runs and the workers, the same on SQLite and PostgreSQL.

Columns are the fields of the nouns and have their types. Points in time are stored as milliseconds since 1970 in UTC,
what is not a number as text.
"""

from __future__ import annotations

import json
from dataclasses import Field, fields
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, Boolean, Column, Float, Index, Integer, MetaData, Table, Text, TypeDecorator, text

from oneclaw_scheduled_tasks.occurrences import MissedPolicy
from oneclaw_scheduled_tasks.schedules import SCHEDULE_FIELDS, Schedule
from oneclaw_scheduled_tasks.task import OverlapPolicy, Run, RunStatus, Task, WorkerState

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.types import TypeEngine

METADATA = MetaData()

SCHEMA_VERSION = 6


class Moment(TypeDecorator[datetime]):
    """A point in time, as milliseconds since 1970."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: object) -> int | None:
        """Write a moment."""
        return None if value is None else round(value.timestamp() * 1000)

    def process_result_value(self, value: int | None, dialect: object) -> datetime | None:
        """Read a moment, in UTC."""
        return None if value is None else datetime.fromtimestamp(value / 1000, UTC)


class _Written(TypeDecorator[Any]):
    """A value that two functions write as text and read from it."""

    impl = Text
    cache_ok = True

    def __init__(self, write: Callable[[Any], str], read: Callable[[str], Any]) -> None:
        super().__init__()
        self.write = write
        self.read = read

    def process_bind_param(self, value: Any, dialect: object) -> str | None:
        """Write a value."""
        return None if value is None else self.write(value)

    def process_result_value(self, value: str | None, dialect: object) -> Any:
        """Read a value."""
        return None if value is None else self.read(value)


def _read_schedule(text: str) -> Schedule:
    given = {key: value for key, value in json.loads(text).items() if key in SCHEDULE_FIELDS}
    if "parameters" in given:
        given["parameters"] = tuple((key, value) for key, value in given["parameters"])
    return Schedule(**given)


_TYPES: dict[str, TypeEngine[Any]] = {
    "str": Text(),
    "int": BigInteger(),
    "float": Float(),
    "bool": Boolean(),
    "datetime": Moment(),
    "date": _Written(date.isoformat, date.fromisoformat),
    "Schedule": _Written(lambda schedule: json.dumps(schedule.given()), _read_schedule),
    "tuple[str, ...]": _Written(json.dumps, lambda text: tuple(json.loads(text))),
    "MissedPolicy": _Written(str, MissedPolicy),
    "OverlapPolicy": _Written(str, OverlapPolicy),
    "RunStatus": _Written(str, RunStatus),
}


def _columns(noun: type[Any], *left_out: str) -> list[Column[Any]]:
    return [_column(field) for field in fields(noun) if field.name not in left_out]


def _column(field: Field[Any]) -> Column[Any]:
    kind, _, other = str(field.type).partition(" | ")
    return Column(field.name, _TYPES[kind], primary_key=field.name == "id", nullable=other == "None")


def _partial(name: str, column: str, condition: str) -> Index:
    """Make an index of the few rows that workers look for again and again in a table that grows."""
    # As SQLAlchemy writes the condition of a query, or the index would not be used.
    on_sqlite = condition.replace("NOT is_queued", "is_queued = 0")
    return Index(name, column, sqlite_where=text(on_sqlite), postgresql_where=text(condition))


def to_row(noun: Any) -> dict[str, Any]:
    """Return the fields of a task, a run or a worker by their names."""
    return {field.name: getattr(noun, field.name) for field in fields(noun)}


schema_version = Table("task_schema_version", METADATA, Column("version", Integer, nullable=False))

tasks = Table(
    "task_definitions",
    METADATA,
    *_columns(Task),
    Index("task_definitions_by_next", "is_enabled", "next_at"),
)

runs = Table(
    "task_runs",
    METADATA,
    *_columns(Run),
    Index("task_runs_by_task", "task_id", "scheduled_at"),
    Index("task_runs_by_end", "ended_at"),
    _partial("task_runs_to_queue", "not_before", "NOT is_queued"),
    _partial("task_runs_open", "status", "ended_at IS NULL"),
)

workers = Table("task_workers", METADATA, *_columns(WorkerState, "running"))
