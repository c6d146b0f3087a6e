"""The tables of the tasks, their runs and the workers, the same on SQLite and PostgreSQL, and their rows as nouns.

Columns are the fields of the nouns and have their types. Points in time are stored as milliseconds since 1970 in UTC,
what is not a number as text.
"""

from __future__ import annotations

import json
from dataclasses import Field, fields
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import sqlalchemy as sa

from oneclaw_scheduled_tasks.occurrences import MissedPolicy
from oneclaw_scheduled_tasks.schedules import SCHEDULE_FIELDS, Schedule
from oneclaw_scheduled_tasks.task import OverlapPolicy, Run, RunStatus, Task, WorkerState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy.types import TypeEngine

Noun = TypeVar("Noun", Task, Run, WorkerState)

METADATA = sa.MetaData()
SCHEMA_VERSION = 6


class _Stored(sa.TypeDecorator[Any]):
    """A value that two functions write to a column and read from it."""

    impl: Any = sa.Text
    cache_ok = True

    def __init__(self, write: Callable[[Any], Any], read: Callable[[Any], Any]) -> None:
        super().__init__()
        self.write = write
        self.read = read

    def process_bind_param(self, value: Any, dialect: object) -> Any:
        """Write a value."""
        return None if value is None else self.write(value)

    def process_result_value(self, value: Any, dialect: object) -> Any:
        """Read a value."""
        return None if value is None else self.read(value)


class Moment(_Stored):
    """A point in time, as milliseconds since 1970."""

    impl = sa.BigInteger
    cache_ok = True

    def __init__(self) -> None:
        super().__init__(
            lambda moment: round(moment.timestamp() * 1000), lambda number: datetime.fromtimestamp(number / 1000, UTC)
        )


def _read_schedule(text: str) -> Schedule:
    given = {key: value for key, value in json.loads(text).items() if key in SCHEDULE_FIELDS}
    if "parameters" in given:
        given["parameters"] = tuple((key, value) for key, value in given["parameters"])
    return Schedule(**given)


_TYPES: dict[str, TypeEngine[Any]] = {
    "str": sa.Text(),
    "int": sa.BigInteger(),
    "float": sa.Float(),
    "bool": sa.Boolean(),
    "datetime": Moment(),
    "date": _Stored(date.isoformat, date.fromisoformat),
    "Schedule": _Stored(lambda schedule: json.dumps(schedule.given()), _read_schedule),
    "tuple[str, ...]": _Stored(json.dumps, lambda text: tuple(json.loads(text))),
    "MissedPolicy": _Stored(str, MissedPolicy),
    "OverlapPolicy": _Stored(str, OverlapPolicy),
    "RunStatus": _Stored(str, RunStatus),
}


def _column(field: Field[Any]) -> sa.Column[Any]:
    kind, _, other = str(field.type).partition(" | ")
    return sa.Column(field.name, _TYPES[kind], primary_key=field.name == "id", nullable=other == "None")


def _table(name: str, noun: type[Any], *indexes: sa.Index) -> sa.Table:
    return sa.Table(name, METADATA, *(_column(field) for field in fields(noun) if field.name != "running"), *indexes)


def _partial(name: str, column: str, condition: str) -> sa.Index:
    """Make an index of the few rows that workers look for again and again in a table that grows."""
    # As SQLAlchemy writes the condition of a query, or the index would not be used.
    on_sqlite = condition.replace("NOT is_queued", "is_queued = 0")
    return sa.Index(name, column, sqlite_where=sa.text(on_sqlite), postgresql_where=sa.text(condition))


schema_version = sa.Table("task_schema_version", METADATA, sa.Column("version", sa.Integer, nullable=False))
tasks = _table("task_definitions", Task, sa.Index("task_definitions_by_next", "is_enabled", "next_at"))
runs = _table(
    "task_runs",
    Run,
    sa.Index("task_runs_by_task", "task_id", "scheduled_at"),
    sa.Index("task_runs_by_end", "ended_at"),
    _partial("task_runs_to_queue", "not_before", "NOT is_queued"),
    _partial("task_runs_open", "status", "ended_at IS NULL"),
)
workers = _table("task_workers", WorkerState)
_TABLE_OF: dict[type[Any], sa.Table] = {Task: tasks, Run: runs, WorkerState: workers}


def to_row(noun: Any) -> dict[str, Any]:
    """Return the fields of a task, a run or a worker by their names."""
    return {field.name: getattr(noun, field.name) for field in fields(noun) if field.name != "running"}


def add(connection: sa.Connection, noun: Any) -> bool:
    """Store a task, a run or a worker unless there is one of its id."""
    from sqlalchemy.dialects import postgresql, sqlite

    insert: Any = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    statement = insert(_TABLE_OF[type(noun)]).values(to_row(noun)).on_conflict_do_nothing()
    return bool(connection.execute(statement).rowcount)


def read(
    connection: sa.Connection,
    noun: type[Noun],
    *where: sa.ColumnElement[bool],
    order: Sequence[Any] = (),
    limit: int | None = None,
    is_locked: bool = False,
) -> list[Noun]:
    """Read all rows that meet some conditions; ``is_locked`` keeps others from them until the transaction ends."""
    query = sa.select(_TABLE_OF[noun]).where(*where).order_by(*order).limit(limit)
    rows = connection.execute(query.with_for_update() if is_locked else query).mappings()
    return [noun(**row) for row in rows]


def find(connection: sa.Connection, noun: type[Noun], wanted: str, *, is_locked: bool = False) -> Noun | None:
    """Read the row of an id, ``None`` if there is none."""
    return next(iter(read(connection, noun, _TABLE_OF[noun].c.id == wanted, is_locked=is_locked)), None)


def change(connection: sa.Connection, /, noun: type[Any], *where: sa.ColumnElement[bool], **values: Any) -> int:
    """Change rows, and return their number."""
    return connection.execute(sa.update(_TABLE_OF[noun]).where(*where).values(values)).rowcount


def remove(connection: sa.Connection, noun: type[Any], *where: sa.ColumnElement[bool]) -> int:
    """Delete rows, and return their number."""
    return connection.execute(sa.delete(_TABLE_OF[noun]).where(*where)).rowcount
