"""Rescue what can be read from a damaged SQLite database into a new one. The damaged file is only read."""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from oneclaw_core import MessageType, NotFoundError, StoreError, UsageError
from oneclaw_core.sessions import (
    APPLICATION_ID,
    SCHEMA_VERSION,
    SqliteBackend,
    StoreDamagedError,
    StoreVersionError,
    explaining,
    new_file,
)
from oneclaw_database.sqlite_pages import SqlitePages, TablePages

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from oneclaw_database.sqlite_pages import Row

_SHOWN_PAGES = 10
_SCHEMA = "sqlite_schema"
# Without these, the schema of the file counts as damaged.
_NEEDED = frozenset({"schema_version", "sessions", "messages", "settings"})
# The texts among the columns of a schema.
_TEXTS = (0, 1, 4)
# What stands in the names of plugins' tables.
_OF_PLUGINS = "__"
# The file may say anything: nothing else of it is executed.
_NAME = re.compile(r"\w+")
_MAKES = re.compile(r"CREATE\s+((TABLE|INDEX|UNIQUE\s+INDEX)\s|VIRTUAL\s+TABLE\s+\w+\s+USING\s+fts5\b)", re.IGNORECASE)
# Filled again by OneClaw itself.
_NOT_COPIED = frozenset({"schema_version", "search_state"})
# Tables whose rows look alike are told apart by a column with few values.
_TELLING: Mapping[str, tuple[str, frozenset[str]]] = {
    "messages": ("type", frozenset(map(str, MessageType))),
    "grants": ("decision", frozenset({"grant", "deny"})),
    "permissions": ("decision", frozenset({"grant", "deny"})),
    "tool_states": ("kind", frozenset({"tool", "group"})),
}
# Their rows look like those that SQLite keeps for itself.
_UNTELLING = frozenset({"plugin_schemas"})
_KINDS: Sequence[tuple[str, tuple[type, ...]]] = (
    ("INT", (int,)),
    ("BOOL", (int,)),
    ("BLOB", (bytes,)),
    ("FLOAT", (float, int)),
    ("DOUB", (float, int)),
    ("REAL", (float, int)),
    ("TEXT", (str,)),
)
# The agent of sessions that lost theirs.
_ASSISTANT = "General Assistant"
_REPAIRS = (
    # What was said is worth more than what the session was called.
    (
        "sessions whose names, titles and agents are lost",
        f"""INSERT INTO sessions (id, title, agent, created_at, updated_at)
        SELECT session_id, 'Salvaged session', '{_ASSISTANT}', min(created_at), max(created_at)
        FROM messages WHERE session_id NOT IN (SELECT id FROM sessions) GROUP BY session_id""",
    ),
    (
        "attachments whose messages are lost",
        "DELETE FROM attachments WHERE message_sequence NOT IN (SELECT sequence FROM messages)",
    ),
    (
        "values of plugins whose sessions are lost",
        "DELETE FROM plugin_values WHERE session_id IS NOT NULL AND session_id NOT IN (SELECT id FROM sessions)",
    ),
    (
        "tool calls whose results are lost; they are answered as interrupted",
        """UPDATE messages SET tool_status = 'pending' WHERE type = 'tool_call' AND tool_status <> 'pending'
        AND NOT EXISTS (SELECT 1 FROM messages AS result WHERE result.type = 'tool_result'
        AND result.session_id = messages.session_id AND result.tool_call_id = messages.tool_call_id)""",
    ),
    (
        "",
        """UPDATE sessions SET parent_id = NULL
        WHERE parent_id IS NOT NULL AND parent_id NOT IN (SELECT id FROM sessions)""",
    ),
    (
        "",
        "UPDATE usage SET session_id = NULL WHERE session_id NOT IN (SELECT id FROM sessions)",
    ),
    # The full-text index is rebuilt.
    ("", "UPDATE sessions SET search_number = NULL"),
)


@dataclass(slots=True)
class Salvaged:
    """Report of what was saved from a damaged database, and what was lost.

    Attributes:
        path: the new database.
        pages: how many pages the damaged file has.
        rows: how many rows of each table were saved.
        damaged: the pages that could not be read, or not whole, by table; those of no known table under ``""``.
        refused: rows that were read and make no sense, by table.
        notes: what was put right, each with its number.
    """

    path: Path
    pages: int
    rows: dict[str, int] = field(default_factory=dict)
    damaged: dict[str, list[int]] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    notes: dict[str, int] = field(default_factory=dict)

    def losses(self) -> list[str]:
        """Describe in words what was lost, a line each."""
        if self.is_whole:
            return [f"nothing is lost: all {self.pages} pages of the file can be read"]
        lines = []
        for table, pages in sorted(self.damaged.items()):
            numbers = ", ".join(map(str, sorted(set(pages))[:_SHOWN_PAGES]))
            more = "" if len(pages) <= _SHOWN_PAGES else ", ..."
            what = "parts of the list of tables" if table == _SCHEMA else f"rows of the table {table}"
            lines.append(
                f"lost: {what} on {len(set(pages))} of {self.pages} pages, which are damaged or "
                f"missing ({numbers}{more})"
            )
        lines += [
            f"lost: {count} rows of the table {table} that make no sense" for table, count in self.refused.items()
        ]
        return lines + [f"repaired: {count} {what}" for what, count in self.notes.items()]

    def note_damage(self, table: str, found: TablePages) -> None:
        """Note the damaged pages of a table."""
        if found.damaged:
            self.damaged.setdefault(table, []).extend(found.damaged)

    @property
    def is_whole(self) -> bool:
        """True if nothing was lost."""
        return not (self.damaged or self.refused or self.notes)


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    kinds: tuple[type, ...]
    is_required: bool
    is_row_number: bool

    def takes(self, value: object) -> bool:
        if value is None:
            return not self.is_required or self.is_row_number
        return not self.kinds or type(value) in self.kinds


@dataclass(frozen=True, slots=True)
class _Statement:
    """A table or an index that a file says it has.

    Attributes:
        kind: ``table`` or ``index``.
        name: of it.
        root: its first page.
        sql: makes it.
    """

    kind: str
    name: str
    root: int
    sql: str

    @property
    def is_virtual(self) -> bool:
        return self.sql.upper().startswith("CREATE VIRTUAL")


def salvage(damaged: Path, target: Path) -> Salvaged:
    """Read all that can be read of a damaged database into a new one of the current schema.

    Args:
        damaged: the file, with the recent transactions of the file ``-wal`` beside it if there is one. Never changed.
        target: the new database.

    Raises:
        NotFoundError: there is no such file.
        UsageError: the new file exists.
        StoreDamagedError: nothing of OneClaw's is left in it.
        StoreVersionError: a newer OneClaw wrote it.
        StoreError: a file cannot be read or written.
    """
    damaged, target = damaged.absolute(), target.absolute()
    if not damaged.is_file():
        raise NotFoundError(f"there is no file {damaged}")
    if os.path.lexists(target):
        raise UsageError(f"{target} exists: name a new file")
    try:
        log = damaged.with_name(f"{damaged.name}-wal")
        pages = SqlitePages(damaged.read_bytes(), log.read_bytes() if log.is_file() else b"")
    except OSError as error:
        raise StoreError(f"{damaged} cannot be read: {error.strerror or error}") from error
    report = Salvaged(target, pages.count)
    with new_file(target) as temporary, explaining(SqliteBackend(target)):
        schema = pages.table(1)
        report.note_damage(_SCHEMA, schema)
        statements = _statements(schema)
        # Those that SQLite keeps for itself too: so their pages are known not to be left over.
        tables = {each.name: pages.table(each.root) for each in _listed(schema) if each.kind == "table" and each.root}
        _make(temporary, statements, _version(tables, damaged))
        with closing(sqlite3.connect(temporary, isolation_level=None)) as new:
            new.execute("BEGIN")
            _fill(new, pages, statements, tables, report)
            if not any(_counts(new).values()):
                raise StoreDamagedError(
                    f"nothing of OneClaw's can be read in {damaged}: restore a backup or a snapshot"
                )
            _repair(new, report)
            new.execute("COMMIT")
        _bring_up_to_date(temporary)
        with closing(sqlite3.connect(temporary)) as new:
            report.rows = _counts(new)
    return report


def _bring_up_to_date(path: Path) -> None:
    """Bring a file that no other program uses to the current schema, with all tables if it has none."""
    backend = SqliteBackend(path)
    with closing(backend.connect()) as connection:
        backend.bring_up_to_date(connection)


def _listed(schema: TablePages) -> list[_Statement]:
    """Return the tables and indexes of a schema."""
    rows = [
        values for _, values in schema.rows if len(values) == 5 and all(type(values[place]) is str for place in _TEXTS)
    ]
    return [
        _Statement(kind, name, root if type(root) is int else 0, sql)
        for kind, name, _, root, sql in rows
        if kind in ("table", "index") and _NAME.fullmatch(name) and _MAKES.match(sql)
    ]


def _statements(schema: TablePages) -> list[_Statement]:
    """Return the same, tables first, without those that SQLite makes itself."""
    found = _listed(schema)
    shadows = tuple(f"{each.name}_" for each in found if each.is_virtual)
    own = [each for each in found if not each.name.startswith(("sqlite_", *shadows))]
    return sorted(own, key=lambda each: each.kind != "table")


def _version(tables: Mapping[str, TablePages], damaged: Path) -> int:
    """Return the version of a schema, the current one if it is lost."""
    versions = [values for _, values in tables["schema_version"].rows] if "schema_version" in tables else []
    version = versions[0][0] if len(versions) == 1 and versions[0] else None
    if not isinstance(version, int) or version < 1:
        return SCHEMA_VERSION
    if version > SCHEMA_VERSION:
        raise StoreVersionError(f"{damaged} was written by a newer OneClaw (schema {version}): upgrade oneclaw-core")
    return version


def _make(path: Path, statements: Sequence[_Statement], version: int) -> None:
    """Make the tables: those of an older file as they are in it, else the current ones and those of plugins."""
    if version == SCHEMA_VERSION:
        _bring_up_to_date(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as new:
        for each in statements:
            if version == SCHEMA_VERSION and _OF_PLUGINS not in each.sql.partition("(")[0]:
                continue
            with suppress(sqlite3.Error):  # an index without its table, or a damaged text
                new.execute(each.sql)
        if version < SCHEMA_VERSION:
            new.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            new.execute("INSERT INTO schema_version (version) VALUES (?)", (version,))
            if any(each.name == "search_state" for each in statements):
                new.execute("INSERT INTO search_state (indexed_until) VALUES (0)")


def _fill(
    new: sqlite3.Connection,
    pages: SqlitePages,
    statements: Sequence[_Statement],
    tables: Mapping[str, TablePages],
    report: Salvaged,
) -> None:
    """Insert all rows that make sense."""
    targets = {name: _columns(new, name) for name in _tables_of(new)}
    sources = {name: _columns_of(statements, name) or columns for name, columns in targets.items()}
    strays: list[tuple[str, Row]] = []
    for name in targets.keys() & tables.keys():
        report.note_damage(name, tables[name])
        for row in tables[name].rows:
            if not _insert(new, name, sources[name], targets[name], row):
                strays.append((name, row))
    if report.damaged or strays or not tables.keys() >= _NEEDED:  # else what no table leads to is deleted
        for found in pages.left_over():
            name = _table_like(found, sources)
            if name != "":
                report.note_damage(name, found)
                for row in found.rows:
                    _insert(new, name, sources[name], targets[name], row)
    for given, row in strays:  # a damaged page may have led to pages of another table
        name = _table_like(TablePages([row]), sources)
        if name == "" or not _insert(new, name, sources[name], targets[name], row):
            report.refused[given] = report.refused.get(given, 0) + 1


def _insert(new: sqlite3.Connection, name: str, source: Sequence[_Column], target: Sequence[_Column], row: Row) -> bool:
    """Insert a row, unless one of its key is there already; return False if it makes no sense."""
    number, found = row
    if len(found) > len(source):
        return False
    values = {
        column.name: number if column.is_row_number else value for column, value in zip(source, found, strict=False)
    }
    if not all(column.takes(values.get(column.name)) for column in target):
        return False
    known = [column.name for column in target if column.name in values]
    names, marks = ", ".join(f'"{each}"' for each in known), ", ".join("?" * len(known))
    statement = f'INSERT OR IGNORE INTO "{name}" ({names}) VALUES ({marks})'
    new.execute(statement, [values[each] for each in known])
    return True


def _table_like(found: TablePages, columns: Mapping[str, Sequence[_Column]]) -> str:
    """Return the table whose rows look like those of a page, ``""`` if none does."""
    certain_first = sorted(columns.keys() - _UNTELLING, key=lambda name: (name not in _TELLING, name))
    return next((name for name in certain_first if _fits(name, columns[name], found)), "")


def _fits(name: str, columns: Sequence[_Column], found: TablePages) -> bool:
    """Return True if rows can be of a table."""
    telling, words = _TELLING.get(name, ("", frozenset()))
    place = next((place for place, column in enumerate(columns) if column.name == telling), None)
    for _, values in found.rows:
        absent = columns[len(values) :]
        if len(values) > len(columns) or any(column.is_required for column in absent):
            return False
        if not all(column.takes(value) for column, value in zip(columns, values, strict=False)):
            return False
        if place is not None and values[place] not in words:
            return False
    return True


def _tables_of(database: sqlite3.Connection) -> list[str]:
    """List the tables that are copied."""
    rows = database.execute("SELECT type, name, rootpage, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    schema = TablePages([(0, [kind, name, "", root, sql]) for kind, name, root, sql in rows])
    return [
        each.name
        for each in _statements(schema)
        if each.kind == "table" and not each.is_virtual and each.name not in _NOT_COPIED
    ]


def _counts(database: sqlite3.Connection) -> dict[str, int]:
    return {name: database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in _tables_of(database)}


def _columns(database: sqlite3.Connection, name: str) -> list[_Column]:
    listed = database.execute(f'PRAGMA table_info("{name}")').fetchall()
    keys = [column for _, column, _, _, _, key in listed if key]
    return [
        _Column(
            column,
            next((kinds for sign, kinds in _KINDS if sign in declared.upper()), ()),
            bool(is_required),
            keys == [column] and declared.upper() == "INTEGER",
        )
        for _, column, declared, is_required, _, _ in listed
    ]


def _columns_of(statements: Sequence[_Statement], name: str) -> list[_Column]:
    """Return the columns of a table in the damaged file; none if it does not say any more."""
    statement = next((each for each in statements if each.name == name), None)
    if statement is None:
        return []
    with closing(sqlite3.connect(":memory:")) as scratch:
        try:
            scratch.execute(statement.sql)
            return _columns(scratch, name)
        except sqlite3.Error:
            return []


def _repair(new: sqlite3.Connection, report: Salvaged) -> None:
    """Put right what lost rows have left behind."""
    for note, statement in _REPAIRS:
        try:
            count = new.execute(statement).rowcount
        except sqlite3.OperationalError as error:
            if not ("no such" in str(error) or "has no column" in str(error)):
                raise
            # An older version has fewer tables and columns.
            continue
        if note and count > 0:
            report.notes[note] = count
