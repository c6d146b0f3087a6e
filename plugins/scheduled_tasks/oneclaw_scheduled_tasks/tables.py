"""The tables of the tasks, their runs and the workers, the same on SQLite and PostgreSQL.

Points in time are milliseconds since 1970 in UTC; JSON is text.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Float, Index, Integer, MetaData, Table, Text, text, true

METADATA = MetaData()

SCHEMA_VERSION = 5

schema_version = Table("task_schema_version", METADATA, Column("version", Integer, nullable=False))

tasks = Table(
    "task_definitions",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("prompt", Text, nullable=False),
    Column("schedule", Text, nullable=False),
    Column("time_zone", Text, nullable=False),
    Column("end_date", Text),
    Column("agent", Text, nullable=False),
    Column("model", Text),
    Column("tool_groups", Text),
    Column("missed", Text, nullable=False),
    Column("catch_up_seconds", BigInteger, nullable=False),
    Column("jitter_seconds", BigInteger, nullable=False, server_default="0"),
    Column("overlap", Text, nullable=False, server_default="skip"),
    Column("retries", Integer, nullable=False),
    Column("retry_delay_seconds", BigInteger, nullable=False),
    Column("max_seconds", BigInteger, nullable=False),
    Column("max_cost", Float),
    Column("repeats_calls", Boolean, nullable=False),
    Column("is_enabled", Boolean, nullable=False),
    Column("is_notified", Boolean, nullable=False),
    Column("webhook", Text),
    Column("command", Text),
    Column("channels", Text, nullable=False, server_default="[]"),
    Column("created_at", BigInteger, nullable=False),
    Column("anchor", BigInteger, nullable=False),
    Column("next_at", BigInteger),
    Column("planned_at", BigInteger),
    Index("task_definitions_by_next", "is_enabled", "next_at"),
)

runs = Table(
    "task_runs",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("task_id", Text, nullable=False),
    Column("scheduled_at", BigInteger, nullable=False),
    Column("is_manual", Boolean, nullable=False),
    Column("status", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("dispatches", Integer, nullable=False),
    Column("not_before", BigInteger, nullable=False),
    Column("is_queued", Boolean, nullable=False),
    Column("interruptions", Integer, nullable=False),
    Column("is_cut_off", Boolean, nullable=False),
    Column("worker", Text),
    Column("session", Text),
    Column("started_at", BigInteger),
    Column("ended_at", BigInteger),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("cost", Float),
    Column("error", Text),
    Column("notes", Text),
    Column("answer", Text),
    Column("is_delivered", Boolean, nullable=False),
    Column("is_read", Boolean, nullable=False, server_default=true()),
    Column("event", Text),
    Index("task_runs_by_task", "task_id", "scheduled_at"),
    Index("task_runs_by_end", "ended_at"),
    # What the workers look for again and again is a handful of a table that grows.
    Index(
        "task_runs_to_queue",
        "not_before",
        sqlite_where=text("is_queued = 0"),
        postgresql_where=text("NOT is_queued"),
    ),
    Index(
        "task_runs_open",
        "status",
        sqlite_where=text("ended_at IS NULL"),
        postgresql_where=text("ended_at IS NULL"),
    ),
)

workers = Table(
    "task_workers",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("host", Text, nullable=False),
    Column("pid", BigInteger, nullable=False),
    Column("version", Text, nullable=False),
    Column("concurrency", Integer, nullable=False),
    Column("started_at", BigInteger, nullable=False),
    # Counts up as long as the worker lives. Others watch it by separate clocks, so that no two machines' clocks
    # need agree.
    Column("beats", BigInteger, nullable=False),
    Column("beat_at", BigInteger, nullable=False),
    Column("is_stopping", Boolean, nullable=False),
)
