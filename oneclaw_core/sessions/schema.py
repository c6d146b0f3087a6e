"""The tables. A change of :data:`TABLES` raises ``SCHEMA_VERSION``: see :mod:`oneclaw_core.sessions.migrations`.

Points in time are integers, see :mod:`oneclaw_core.sessions.backend`; JSON is text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from oneclaw_core.sessions.backend import ColumnType, Dialect

if TYPE_CHECKING:
    from collections.abc import Iterator


# Names of columns that are also words of SQL.
_QUOTED = frozenset({"key", "position"})


class Column(NamedTuple):
    """A column.

    Attributes:
        name: as statements write it.
        type: of its values.
        is_required: True if it never holds NULL.
        is_unique: True if no two rows have the same value.
        references: the column that it refers to, as ``table.column``.
        on_delete: what happens to the row when the one that it refers to is deleted.
        remark: for the documentation.
    """

    name: str
    type: ColumnType = ColumnType.TEXT
    is_required: bool = False
    is_unique: bool = False
    references: str | None = None
    on_delete: str = "CASCADE"
    remark: str = ""


class Index(NamedTuple):
    """An index.

    Attributes:
        name: unique in the database.
        columns: by their names.
        where: the condition of a partial index.
        is_unique: True if no two rows have the same values.
    """

    name: str
    columns: tuple[str, ...]
    where: str | None = None
    is_unique: bool = False


class Table(NamedTuple):
    """A table.

    Attributes:
        name: as statements write it.
        columns: in their order.
        primary_key: names of columns; empty for a table without one.
        indexes: beside those of the primary key and of unique columns.
        numbers_once: True if a row number is never given twice, not even after the newest row is deleted.
    """

    name: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    indexes: tuple[Index, ...] = ()
    numbers_once: bool = False


def _table(name: str, *columns: Column, **more: Any) -> Table:
    return Table(name, columns, **more)


_INTEGER = ColumnType.INTEGER
_BIG = ColumnType.BIG_INTEGER
_FLOAT = ColumnType.FLOAT
_BOOLEAN = ColumnType.BOOLEAN

# A database uses a partial index only for a query that repeats the index's condition word for word, so index and query
# share these texts. They are on users' disks: a change needs a migration.
IS_CALL = "type = 'tool_call'"
IS_RESULT = "type = 'tool_result'"
IS_PENDING_CALL = "type = 'tool_call' AND tool_status = 'pending'"
IS_CALL_OR_RESULT = "type = 'tool_call' OR type = 'tool_result'"
IS_GROUP_LOAD = "type = 'tool_call' AND tool_name = 'load_tool_group' AND tool_status = 'success'"

schema_version = _table("schema_version", Column("version", _INTEGER, is_required=True))

sessions = _table(
    "sessions",
    Column("id", is_required=True),
    Column("name", is_unique=True),
    Column("title"),
    Column("agent", is_required=True),
    Column("model"),
    Column("created_at", _BIG, is_required=True),
    Column("updated_at", _BIG, is_required=True),
    Column("summary"),
    Column("summary_until", _BIG, remark="The last message that the summary stands for."),
    Column("parent_id", references="sessions.id", remark="The session in which a tool call began this one."),
    Column("memory", remark="What the model is shown of the user's memory; NULL before the first model request."),
    Column("prompt_lists", remark="The lists of skills, groups and tools that it began with, and was told last."),
    Column("search_number", _BIG, remark="The number of its title in the full-text index; NULL until it is there."),
    Column("lock_token", _BIG, remark="Of the last turn that took its lock; NULL where locks are files."),
    Column("marks", remark="Those of all its messages, see types.provenance; NULL for none."),
    Column("directory", remark="The start directory that it was begun in; NULL if that is not known."),
    Column("ended_from", _BIG, remark="The first message of a part taken off its parent's history, else NULL."),
    primary_key=("id",),
    indexes=(
        Index("sessions_by_update", ("updated_at", "id")),
        Index("sessions_by_parent", ("parent_id",), "parent_id IS NOT NULL"),
        Index("sessions_by_search_number", ("search_number",), is_unique=True),
    ),
)

messages = _table(
    "messages",
    Column("sequence", ColumnType.ROW_NUMBER, is_required=True),
    Column("session_id", is_required=True, references="sessions.id"),
    Column("type", is_required=True),
    Column("content", is_required=True),
    Column("tool_call_id"),
    Column("tool_name"),
    Column("tool_input"),
    Column("tool_status"),
    Column("error_type"),
    Column("shown_characters", _BIG),
    Column("duration_ms", _FLOAT),
    Column("provider_data"),
    Column("created_at", _BIG, is_required=True),
    Column("attachment_count", _INTEGER, remark="NULL for none, so that the other table need not be read."),
    Column("is_json", _BOOLEAN, remark="True for a result that is no text, else NULL; NULL before version 8."),
    Column("is_incomplete", _BOOLEAN, remark="True for an answer that broke off, else NULL."),
    Column("marks", remark="Where the content comes from, as JSON, see types.provenance; NULL for none."),
    Column("model", remark="The model that wrote an answer; NULL for those stored before version 15."),
    primary_key=("sequence",),
    indexes=(
        # The column in the middle has one value only, but makes the index the better one in SQLite's eyes: between two
        # that match equally many columns it takes the first made, and that may be the one of all messages.
        Index("group_loads", ("session_id", "tool_name", "sequence"), IS_GROUP_LOAD),
        Index("pending_calls", ("session_id", "tool_status", "sequence"), IS_PENDING_CALL),
        Index("messages_by_session", ("session_id", "sequence")),
        # A call and its result are neighbours in it, on one page.
        Index("calls_and_results", ("session_id", "tool_call_id", "type"), IS_CALL_OR_RESULT, is_unique=True),
    ),
    numbers_once=True,
)

attachments = _table(
    "attachments",
    Column("message_sequence", _BIG, is_required=True, references="messages.sequence"),
    Column("position", _INTEGER, is_required=True),
    Column("name", is_required=True),
    Column("media_type", is_required=True),
    Column("data", ColumnType.BYTES, is_required=True),
    Column("is_for_user", _BOOLEAN, remark="True for a file that a tool sent to the user; else NULL."),
    primary_key=("message_sequence", "position"),
)

# See sessions.scripts.
script_calls = _table(
    "script_calls",
    Column("session_id", is_required=True, references="sessions.id"),
    Column("call_id", is_required=True, remark="The call of the model that began the script."),
    Column("key", is_required=True, remark="The same for the same tool and arguments; empty for the script."),
    Column("occurrence", _INTEGER, is_required=True, remark="Counts calls with the same key, from 0."),
    Column("number", _INTEGER, is_required=True, remark="Counts the calls of a script; 0 for the script itself."),
    Column("tool", is_required=True),
    Column("arguments", is_required=True, remark="JSON; shortened once the script has finished."),
    Column("state", is_required=True),
    Column("result", remark="JSON, or the message of an error; shortened once the script has finished."),
    Column("error_type"),
    Column("marks"),
    Column("duration_ms", _FLOAT),
    primary_key=("session_id", "call_id", "key", "occurrence"),
)

usage = _table(
    "usage",
    Column("id", ColumnType.ROW_NUMBER, is_required=True),
    Column("session_id", references="sessions.id", on_delete="SET NULL", remark="Usage outlives its session."),
    Column("provider", is_required=True),
    Column("model", is_required=True),
    Column("input_tokens", _BIG),
    Column("cached_input_tokens", _BIG),
    Column("cache_write_tokens", _BIG),
    Column("output_tokens", _BIG),
    Column("reasoning_tokens", _BIG),
    Column("cost", _FLOAT),
    Column("tool_groups"),
    Column("tools_hash"),
    Column("system_hash"),
    Column("history_hash"),
    Column("created_at", _BIG, is_required=True),
    Column("is_at_least", _BOOLEAN, remark="True for tokens that are a lower bound; NULL for final ones."),
    primary_key=("id",),
    indexes=(
        Index("ix_usage_session_id", ("session_id",)),
        # Holds all that a day's limits are compared with, so that no row is looked up before each model request.
        Index("usage_by_time", ("created_at", "input_tokens", "output_tokens", "cost")),
    ),
)

# An empty text stands for "all", so that two decisions on the same are never stored beside each other.
grants = _table(
    "grants",
    Column("id", ColumnType.ROW_NUMBER, is_required=True),
    Column("permission", is_required=True),
    Column("pattern", is_required=True, remark="Of its subjects; empty for all."),
    Column("agent", is_required=True, remark="The only one that it holds for; empty for all."),
    Column("task", is_required=True),
    Column("directory", is_required=True),
    Column("decision", is_required=True),
    Column("expires_at", _BIG, remark="NULL for a decision without an end."),
    Column("source", is_required=True, remark="Where it came from, such as a question."),
    Column("created_at", _BIG, is_required=True),
    Column("last_used_at", _BIG),
    primary_key=("id",),
    indexes=(Index("one_grant", ("permission", "pattern", "agent", "task", "directory"), is_unique=True),),
)

permission_log = _table(
    "permission_log",
    Column("id", ColumnType.ROW_NUMBER, is_required=True),
    Column("permission", is_required=True),
    Column("subject"),
    Column("detail"),
    Column("tool_name", is_required=True),
    Column("is_granted", _BOOLEAN, is_required=True),
    Column("decided_by", is_required=True),
    Column("session_id", remark="What was done stays in the log when the session is deleted."),
    Column("agent"),
    Column("task"),
    Column("directory"),
    Column("at", _BIG, is_required=True),
    primary_key=("id",),
    numbers_once=True,
)

# Files that tools wrote in conversations with marks.
written_files = _table(
    "written_files",
    Column("id", ColumnType.ROW_NUMBER, is_required=True),
    Column("path", is_required=True),
    Column("is_directory", _BOOLEAN, is_required=True, remark="True if any file below may be written."),
    Column("started_ns", _BIG, is_required=True, remark="When the call began that wrote it."),
    Column("ended_ns", _BIG, is_required=True),
    Column("marks", is_required=True, remark="What it holds, as JSON, see types.provenance."),
    primary_key=("id",),
    indexes=(Index("written_files_by_path", ("path", "is_directory", "started_ns")),),
    numbers_once=True,
)

settings = _table(
    "settings",
    Column("key", is_required=True),
    Column("value", is_required=True),
    Column("updated_at", _BIG, is_required=True),
    primary_key=("key",),
)

tool_states = _table(
    "tool_states",
    Column("kind", is_required=True),
    Column("name", is_required=True),
    Column("enabled", _BOOLEAN, is_required=True),
    primary_key=("kind", "name"),
)

# One row. The full-text index itself is made by oneclaw_core.sessions.search.
search_state = _table(
    "search_state",
    Column("indexed_until", _BIG, is_required=True, remark="The number of the last message in the index."),
)

agents = _table(
    "agents",
    Column("id", is_required=True),
    Column("name", is_required=True),
    Column("name_key", is_required=True, is_unique=True, remark="What names share that count as the same."),
    Column("description", is_required=True),
    Column("system_prompt", is_required=True),
    Column("model"),
    Column("parameters", is_required=True),
    Column("max_tool_rounds", _BIG),
    Column("turn_max_tokens", _BIG),
    Column("turn_max_cost", _FLOAT),
    Column("selected_tools", remark="Lists of names as JSON; NULL for all."),
    Column("selected_groups"),
    Column("created_at", _BIG, is_required=True),
    Column("updated_at", _BIG, is_required=True),
    primary_key=("id",),
)

plugin_values = _table(
    "plugin_values",
    Column("plugin", is_required=True),
    Column("namespace", is_required=True, remark="The id of the session that it belongs to, or empty for none."),
    Column("key", is_required=True),
    Column("value", is_required=True),
    Column("session_id", references="sessions.id", remark="The namespace again, for values of a session."),
    Column("expires_at", _BIG, remark="NULL for a value that does not expire."),
    Column("updated_at", _BIG, is_required=True),
    primary_key=("plugin", "namespace", "key"),
    indexes=(
        Index("plugin_values_by_session", ("session_id",), "session_id IS NOT NULL"),
        Index("plugin_values_by_expiry", ("plugin", "expires_at"), "expires_at IS NOT NULL"),
    ),
)

plugin_schemas = _table(
    "plugin_schemas",
    Column("plugin", is_required=True),
    Column("version", _INTEGER, is_required=True, remark="How many of its migrations its tables have had."),
    primary_key=("plugin",),
)

# Each table stands after those that it refers to.
TABLES = (
    schema_version,
    sessions,
    messages,
    attachments,
    script_calls,
    usage,
    grants,
    permission_log,
    written_files,
    settings,
    tool_states,
    search_state,
    agents,
    plugin_values,
    plugin_schemas,
)


def creation(table: Table, dialect: Dialect) -> Iterator[str]:
    """Return the statements that create a table and its indexes where they are missing."""
    number_once = dialect.number_once if table.numbers_once else None
    lines = [_column(each, dialect, number_once) for each in table.columns]
    if table.primary_key and number_once is None:
        lines.append(f"PRIMARY KEY ({_names(table.primary_key)})")
    lines += [f"UNIQUE ({quoted(each.name)})" for each in table.columns if each.is_unique]
    lines += [f"FOREIGN KEY ({each.name}) {_reference(each)}" for each in table.columns if each.references]
    yield f"CREATE TABLE IF NOT EXISTS {table.name} (\n    " + ",\n    ".join(lines) + "\n)"
    for index in table.indexes:
        unique = "UNIQUE " if index.is_unique else ""
        where = f" WHERE {index.where}" if index.where else ""
        yield f"CREATE {unique}INDEX IF NOT EXISTS {index.name} ON {table.name} ({_names(index.columns)}){where}"


def added_column(table: Table, column: Column, dialect: Dialect) -> str:
    """Return the statement that adds a column to a table of an older version."""
    reference = f" {_reference(column)}" if column.references else ""
    return f"ALTER TABLE {table.name} ADD COLUMN {_column(column, dialect, None)}{reference}"


def quoted(name: str) -> str:
    """Return the name of a column, quoted if it is a word of SQL."""
    return f'"{name}"' if name in _QUOTED else name


def _column(column: Column, dialect: Dialect, number_once: str | None) -> str:
    words = [quoted(column.name), dialect.types[column.type]]
    if column.is_required:
        words.append("NOT NULL")
    if column.type is ColumnType.ROW_NUMBER and number_once is not None:
        words.append(number_once)
    return " ".join(words)


def _reference(column: Column) -> str:
    table, _, referenced = (column.references or "").partition(".")
    return f"REFERENCES {table} ({referenced}) ON DELETE {column.on_delete}"


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(map(quoted, names))
