"""The tables of the tasks, their runs and the workers, the same on SQLite and PostgreSQL.

Columns are the fields of the nouns. Points in time are milliseconds since 1970 in UTC; JSON is text.
"""

from __future__ import annotations

from dataclasses import Field, fields
from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, Float, Index, Integer, MetaData, Table, Text, text

from oneclaw_scheduled_tasks.task import Run, Task, WorkerState

METADATA = MetaData()

SCHEMA_VERSION = 5

_TYPES = {"int": BigInteger, "datetime": BigInteger, "float": Float, "bool": Boolean}


def _columns(noun: type[Any], *left_out: str) -> list[Column[Any]]:
    return [_column(field) for field in fields(noun) if field.name not in left_out]


def _column(field: Field[Any]) -> Column[Any]:
    kind, _, other = str(field.type).partition(" | ")
    column_type: type[Any] = _TYPES.get(kind, Text)
    return Column(field.name, column_type, primary_key=field.name == "id", nullable=other == "None")


def _partial(name: str, column: str, condition: str) -> Index:
    """Make an index of the few rows that workers look for again and again in a table that grows."""
    # As SQLAlchemy writes the condition of a query, or the index would not be used.
    on_sqlite = condition.replace("NOT is_queued", "is_queued = 0")
    return Index(name, column, sqlite_where=text(on_sqlite), postgresql_where=text(condition))


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
