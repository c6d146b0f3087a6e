"""Copying everything of one database into another, of the same or another kind, and checking it row by row.

The source is read at one moment, whoever works with it meanwhile. The target is written in one transaction, so that a
copy which is interrupted leaves it as empty as before. Rows go through in batches, so that their number does not
matter.
"""

from __future__ import annotations

import hashlib
import struct
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, func, insert, literal_column, select, text, update
from sqlalchemy.exc import DBAPIError

from oneclaw_core.errors import StoreError, UsageError
from oneclaw_core.store import search
from oneclaw_core.store.backend import LOCKS, READS, backend_of
from oneclaw_core.store.schema import METADATA, messages, sessions, usage
from oneclaw_core.store.write_locks import runs_several

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy import ColumnElement, Connection, Engine, Select, Table

    from oneclaw_core.store.backend import Backend

    Progress = Callable[[str, int], None]

_BUSY_SECONDS = 10.0
# Rows in a batch; of attachments, which may have megabytes each, few.
_BATCH = 500
_ATTACHMENTS_BATCH = 4
# What belongs to one database alone.
_OWN_TABLES = frozenset({"schema_version", "search_state"})
# Where the title of a session is in its full-text index, and who has its lock.
_OWN_COLUMNS = frozenset({"search_number", "lock_token"})


@dataclass(frozen=True, slots=True)
class CopiedTable:
    """A table that was copied, and found to be the same in both databases.

    Attributes:
        name: the table.
        rows: how many it has.
        sha256: of all its rows in the order of their keys, in hexadecimal digits.
    """

    name: str
    rows: int
    sha256: str


@dataclass(frozen=True, slots=True)
class DatabaseStatus:
    """What a database holds.

    Attributes:
        name: as messages show it, without user and password.
        version: of its schema.
        rows: how many rows each table has.
    """

    name: str
    version: int
    rows: dict[str, int]


def status(url: str) -> DatabaseStatus:
    """Bring a database to the current schema and say what it holds.

    Raises:
        StoreError: it cannot be used.
    """
    from oneclaw_core.store.sqlite_file import SCHEMA_VERSION

    with _prepared(url) as (backend, engine), _explaining(backend), engine.begin() as connection:
        rows = {table.name: _count(connection, table) for table in _tables()}
        return DatabaseStatus(backend.name, backend.version(connection, SCHEMA_VERSION), rows)


def copy(source_url: str, target_url: str, progress: Progress) -> list[CopiedTable]:
    """Copy a database into an empty one.

    Args:
        source_url: what to copy; it is brought to the current schema first.
        target_url: where to; made if it is missing.
        progress: called with the name of a table and how many of its rows are copied.

    Returns:
        The tables, all of which are the same in both.

    Raises:
        UsageError: both are one database, or the target is not empty.
        StoreError: one of them cannot be used, or they are not the same afterwards; then the target is still empty.
    """
    with ExitStack() as stack:
        source, reading = stack.enter_context(_prepared(source_url))
        target, writing = stack.enter_context(_prepared(target_url))
        if source.name == target.name:
            raise UsageError(f"{source.name} cannot be copied into itself: name two databases")
        stack.enter_context(_explaining(source))
        old = stack.enter_context(reading.connect().execution_options(**READS))
        stack.enter_context(old.begin())
        _take_time(old)
        with _explaining(target), writing.connect() as new:
            new.execution_options(**LOCKS)
            with new.begin():
                copied = _copy_all(old, new, target.name, progress)
            with new.begin():
                search.index_new(new)
    return copied


def _copy_all(old: Connection, new: Connection, target: str, progress: Progress) -> list[CopiedTable]:
    _take_time(new)
    if runs_several(new):
        # Else a program that begins now would write in between.
        names = ", ".join(table.name for table in _tables())
        new.exec_driver_sql(f"LOCK TABLE {names} IN SHARE ROW EXCLUSIVE MODE")
    filled = [table.name for table in _tables() if _count(new, table)]
    if filled:
        raise UsageError(
            f"{target} is not empty (it has rows in {', '.join(filled)}): nothing was copied; choose an empty database"
        )
    given = {table.name: _copy_table(old, new, table, progress) for table in _tables()}
    _set_parents(old, new)
    _go_on_counting(old, new)
    stored = {table.name: _fingerprint(new, table) for table in _tables()}
    differing = [name for name in given if given[name] != stored[name]]
    if differing:
        raise StoreError(
            f"what is in {target} is not what was copied ({', '.join(differing)}): nothing was kept; "
            "check the disks of both machines, and copy again"
        )
    return list(stored.values())


def _copy_table(old: Connection, new: Connection, table: Table, progress: Progress) -> CopiedTable:
    digest, count = hashlib.sha256(), 0
    names = [column.name for column in _columns(table)]
    for batch in _batches(old, table):
        rows = [dict(zip(names, row, strict=True)) for row in batch]
        for row in batch:
            _add(digest, row)
        if table is sessions:
            # A session may come before the one that it belongs to.
            rows = [row | {"parent_id": None} for row in rows]
        try:
            new.execute(insert(table), rows)
        except UnicodeError as error:
            raise StoreError(f"the table {table.name!r} holds what is no text ({error}): repair the source") from error
        count += len(rows)
        progress(table.name, count)
    return CopiedTable(table.name, count, digest.hexdigest())


def _fingerprint(connection: Connection, table: Table) -> CopiedTable:
    digest, count = hashlib.sha256(), 0
    for batch in _batches(connection, table):
        for row in batch:
            _add(digest, row)
        count += len(batch)
    return CopiedTable(table.name, count, digest.hexdigest())


def _set_parents(old: Connection, new: Connection) -> None:
    statement = update(sessions).where(sessions.c.id == bindparam("it")).values(parent_id=bindparam("parent"))
    chosen = select(sessions.c.id, sessions.c.parent_id).where(sessions.c.parent_id.is_not(None))
    for batch in _streamed(old, chosen.order_by(sessions.c.id), _BATCH):
        new.execute(statement, [{"it": each, "parent": parent} for each, parent in batch])


def _go_on_counting(old: Connection, new: Connection) -> None:
    """Let numbers go on where they were: one of a deleted message is not to be given again."""
    for table, column in ((messages, messages.c.sequence), (usage, usage.c.id)):
        highest = new.execute(select(func.max(column))).scalar() or 0
        last = max(_last_number(old, table.name, column.name), highest)
        if last == 0:
            continue
        if runs_several(new):
            new.execute(
                text("SELECT setval(pg_get_serial_sequence(:table, :column), :last)"),
                {"table": table.name, "column": column.name, "last": last},
            )
        elif table is messages:  # SQLite goes on from the highest number in other tables
            # Its own table of counters knows no keys.
            new.execute(text("DELETE FROM sqlite_sequence WHERE name = :table"), {"table": table.name})
            new.execute(
                text("INSERT INTO sqlite_sequence (name, seq) VALUES (:table, :last)"),
                {"table": table.name, "last": last},
            )


def _last_number(connection: Connection, table: str, column: str) -> int:
    if runs_several(connection):
        name = connection.execute(
            text("SELECT pg_get_serial_sequence(:table, :column)"), {"table": table, "column": column}
        ).scalar_one()
        columns: list[ColumnElement[Any]] = [literal_column("last_value"), literal_column("is_called")]
        counter = select(*columns).select_from(text(name))
        [last, is_called] = connection.execute(counter).one()
        return int(last) if is_called else 0
    found = connection.execute(text("SELECT seq FROM sqlite_sequence WHERE name = :table"), {"table": table}).scalar()
    return int(found or 0)


def _tables() -> list[Table]:
    """What is copied, each table after those that it refers to."""
    return [table for table in METADATA.sorted_tables if table.name not in _OWN_TABLES]


def _columns(table: Table) -> list[Any]:
    return [column for column in table.columns if column.name not in _OWN_COLUMNS]


def _batches(connection: Connection, table: Table) -> Iterator[Sequence[Sequence[Any]]]:
    statement = select(*_columns(table)).order_by(*table.primary_key.columns)
    return _streamed(connection, statement, _ATTACHMENTS_BATCH if table.name == "attachments" else _BATCH)


def _streamed(connection: Connection, statement: Select[Any], size: int) -> Iterator[Sequence[Sequence[Any]]]:
    result = connection.execute(statement, execution_options={"stream_results": True, "max_row_buffer": size})
    with result:
        yield from result.partitions(size)


def _count(connection: Connection, table: Table) -> int:
    return connection.execute(select(func.count()).select_from(table)).scalar_one()


def _add(digest: hashlib._Hash, row: Sequence[Any]) -> None:
    """Add a row to a hash, so that different rows never look the same."""
    for value in row:
        if isinstance(value, bool):
            kind, data = b"b", bytes([value])
        elif isinstance(value, bytes):
            kind, data = b"y", value
        elif isinstance(value, float):
            kind, data = b"f", struct.pack(">d", value)
        else:
            kind, data = (b"n", b"") if value is None else (type(value).__name__[:1].encode(), str(value).encode())
        digest.update(kind + len(data).to_bytes(8, "big") + data)


def _take_time(connection: Connection) -> None:
    if runs_several(connection):
        for setting in ("statement_timeout", "idle_in_transaction_session_timeout"):
            connection.exec_driver_sql(f"SET LOCAL {setting} = 0")


@contextmanager
def _prepared(url: str) -> Iterator[tuple[Backend, Engine]]:
    backend = backend_of(url, busy_seconds=_BUSY_SECONDS)
    engine = backend.make_engine(1)
    try:
        with _explaining(backend):
            backend.prepare(engine)
        yield backend, engine
    finally:
        engine.dispose()


@contextmanager
def _explaining(backend: Backend) -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        if not isinstance(error.orig, backend.driver_errors):
            raise  # the other database's
        raise backend.explained(error.orig) from error
    except backend.driver_errors as error:
        raise backend.explained(error) from error
