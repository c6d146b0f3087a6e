"""The tables. A change here needs a migration: see :mod:`oneclaw_core.store.migrations`.

Points in time are integers, see :mod:`oneclaw_core.store.timestamps`; JSON is text.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    text,
)

METADATA = MetaData()

# SQLite numbers rows by itself only where the type is exactly INTEGER, which holds 64 bits there.
_ROW_NUMBER = BigInteger().with_variant(Integer, "sqlite")

# Texts are compared character by character, whatever the language of the database.
_TEXT = Text().with_variant(Text(collation="C"), "postgresql")

# A database uses a partial index only for a query that repeats the index's condition word for word, so index and query
# share these texts. They are on users' disks: a change needs a migration.
IS_CALL = text("type = 'tool_call'")
IS_RESULT = text("type = 'tool_result'")
IS_PENDING_CALL = text("type = 'tool_call' AND tool_status = 'pending'")
IS_GROUP_LOAD = text("type = 'tool_call' AND tool_name = 'load_tool_group' AND tool_status = 'success'")

schema_version = Table("schema_version", METADATA, Column("version", Integer, nullable=False))

sessions = Table(
    "sessions",
    METADATA,
    Column("id", _TEXT, primary_key=True),
    Column("name", _TEXT, unique=True),
    Column("title", _TEXT),
    Column("agent", _TEXT, nullable=False),
    Column("model", _TEXT),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("summary", _TEXT),
    # The last message that the summary stands for.
    Column("summary_until", BigInteger),
    # The session in which a tool call began this one.
    Column("parent_id", _TEXT, ForeignKey("sessions.id", ondelete="CASCADE")),
    # What the model is shown of the user's memory; NULL for a session that has asked no model yet.
    Column("memory", _TEXT),
    # The number of its title in the full-text index; NULL until it is there.
    Column("search_number", BigInteger),
    # Who took its lock last, see oneclaw_core.store.fences; NULL where locks are files.
    Column("lock_token", BigInteger),
    Index("sessions_by_update", "updated_at", "id"),
    Index("sessions_by_parent", "parent_id"),
    Index("sessions_by_search_number", "search_number", unique=True),
)

messages = Table(
    "messages",
    METADATA,
    Column("sequence", _ROW_NUMBER, primary_key=True),
    Column("session_id", _TEXT, ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
    Column("type", _TEXT, nullable=False),
    Column("content", _TEXT, nullable=False),
    Column("tool_call_id", _TEXT),
    Column("tool_name", _TEXT),
    Column("tool_input", _TEXT),
    Column("tool_status", _TEXT),
    Column("error_type", _TEXT),
    Column("shown_characters", BigInteger),
    Column("duration_ms", Float),
    Column("provider_data", _TEXT),
    Column("created_at", BigInteger, nullable=False),
    # So that reading messages without attachments, nearly all, takes no look at the table of those.
    Column("attachment_count", Integer),
    Index("messages_by_session", "session_id", "sequence"),
    # A number is never used twice, not even after the newest session is deleted.
    sqlite_autoincrement=True,
)


def _partial_index(name: str, *columns: str, where: object, unique: bool = False) -> None:
    # For PostgreSQL, its backend repeats the condition: to name it here takes 25 ms, also where SQLite is used.
    Index(name, *(messages.c[column] for column in columns), unique=unique, sqlite_where=where)


_partial_index("one_call_per_id", "session_id", "tool_call_id", where=IS_CALL, unique=True)
_partial_index("one_result_per_call", "session_id", "tool_call_id", where=IS_RESULT, unique=True)
# The column in the middle has one value only, but makes the index the better one in SQLite's eyes: between two that
# match equally many columns it takes the first made, and that may be the one of all messages.
_partial_index("group_loads", "session_id", "tool_name", "sequence", where=IS_GROUP_LOAD)
_partial_index("pending_calls", "session_id", "tool_status", "sequence", where=IS_PENDING_CALL)

attachments = Table(
    "attachments",
    METADATA,
    Column("message_sequence", BigInteger, ForeignKey("messages.sequence", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("name", _TEXT, nullable=False),
    Column("media_type", _TEXT, nullable=False),
    Column("data", LargeBinary, nullable=False),
)

usage = Table(
    "usage",
    METADATA,
    Column("id", _ROW_NUMBER, primary_key=True),
    # What was spent stays spent when the session is deleted.
    Column("session_id", _TEXT, ForeignKey("sessions.id", ondelete="SET NULL"), index=True),
    Column("provider", _TEXT, nullable=False),
    Column("model", _TEXT, nullable=False),
    Column("input_tokens", BigInteger),
    Column("cached_input_tokens", BigInteger),
    Column("cache_write_tokens", BigInteger),
    Column("output_tokens", BigInteger),
    Column("reasoning_tokens", BigInteger),
    Column("cost", Float),
    Column("tool_groups", _TEXT),
    Column("tools_hash", _TEXT),
    Column("system_hash", _TEXT),
    Column("history_hash", _TEXT),
    Column("created_at", BigInteger, nullable=False),
    # Holds all that a day's limits are compared with, so that no row is looked up before each model request.
    Index("usage_by_time", "created_at", "input_tokens", "output_tokens", "cost"),
)

permissions = Table(
    "permissions",
    METADATA,
    Column("name", _TEXT, primary_key=True),
    Column("decision", _TEXT, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
)

settings = Table(
    "settings",
    METADATA,
    Column("key", _TEXT, primary_key=True),
    Column("value", _TEXT, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
)

tool_states = Table(
    "tool_states",
    METADATA,
    Column("kind", _TEXT, primary_key=True),
    Column("name", _TEXT, primary_key=True),
    Column("enabled", Boolean, nullable=False),
)

# One row. The full-text index itself is made by oneclaw_core.store.search.
search_state = Table(
    "search_state",
    METADATA,
    # The number of the last message in the index.
    Column("indexed_until", BigInteger, nullable=False),
)

agents = Table(
    "agents",
    METADATA,
    Column("id", _TEXT, primary_key=True),
    Column("name", _TEXT, nullable=False),
    # What names share that count as the same.
    Column("name_key", _TEXT, nullable=False, unique=True),
    Column("description", _TEXT, nullable=False),
    Column("system_prompt", _TEXT, nullable=False),
    Column("model", _TEXT),
    Column("parameters", _TEXT, nullable=False),
    Column("max_tool_rounds", BigInteger),
    Column("turn_max_tokens", BigInteger),
    Column("turn_max_cost", Float),
    # Lists of names as JSON; NULL for all.
    Column("selected_tools", _TEXT),
    Column("selected_groups", _TEXT),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
)
