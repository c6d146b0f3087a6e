"""Copy a database into an empty one, of any kind, and compare them row by row.

The source is read in one transaction, and the target is written in one. So concurrent changes are not copied, and an
interrupted copy leaves the target empty. Rows are copied in batches, so that memory does not limit their number.
"""

from __future__ import annotations

import hashlib
import struct
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_core import StoreError, UsageError
from oneclaw_core.sessions import ColumnType, explaining
from oneclaw_database.status import STORED_TABLES, count_rows, prepared

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from oneclaw_core.sessions import Backend, Column, Connection, Table

    Progress = Callable[[str, int], None]
    _Batch = list[Sequence[Any]]

# Rows in a batch; of attachments, which may have megabytes each, few.
_BATCH = 500
_ATTACHMENTS_BATCH = 4
_NUMBERED = tuple(each for each in STORED_TABLES if any(it.type is ColumnType.ROW_NUMBER for it in each.columns))
# Where the title of a session is in its full-text index, and who has its lock.
_OWN_COLUMNS = frozenset({"search_number", "lock_token"})


@dataclass(frozen=True, slots=True)
class CopiedTable:
    """A copied table, the same in both databases.

    Attributes:
        name: the table.
        rows: how many it has.
        sha256: of all its rows in the order of their keys, in hexadecimal digits.
    """

    name: str
    rows: int
    sha256: str


def copy(source: Backend, target: Backend, progress: Progress) -> list[CopiedTable]:
    """Copy a database into an empty one.

    Args:
        source: the database to copy; migrated to the current schema first.
        target: an empty database; created if it is missing.
        progress: called with the name of a table and how many of its rows are copied.

    Returns:
        The tables, all of which are the same in both.

    Raises:
        UsageError: both are one database, or the target is not empty.
        StoreError: one of them cannot be used, or they are not the same afterwards; then the target is still empty.
    """
    with ExitStack() as stack:
        old = stack.enter_context(prepared(source))
        new = stack.enter_context(prepared(target))
        if source.name == target.name:
            raise UsageError(f"{source.name} cannot be copied into itself: name two databases")
        with explaining(target):
            with old.transaction(writes=False):
                source.lift_time_limits(old)
                with new.transaction(writes=True):
                    copied = _copy_all(source, old, target, new, progress)
            with new.transaction(writes=True):
                new.search_index.index_new()
    return copied


def plugins_with_tables(backend: Backend) -> list[str]:
    """List the plugins that made tables in a database; these are not copied.

    Raises:
        StoreError: it cannot be used.
    """
    with prepared(backend) as connection, explaining(backend), connection.transaction(writes=False):
        rows = connection.execute("SELECT plugin FROM plugin_schemas WHERE version > 0 ORDER BY plugin").fetchall()
        return [plugin for (plugin,) in rows]


def _copy_all(
    source: Backend, old: Connection, target: Backend, new: Connection, progress: Progress
) -> list[CopiedTable]:
    target.lift_time_limits(new)
    # Else a program that begins now would write in between.
    target.lock_tables(new, [table.name for table in STORED_TABLES])
    filled = [table.name for table in STORED_TABLES if count_rows(new, table)]
    if filled:
        raise UsageError(
            f"{target.name} is not empty (it has rows in {', '.join(filled)}): nothing was copied; choose an empty "
            "database"
        )
    given = {
        table.name: _fingerprint(_copied(_batches(source, old, table), new, table, progress), table)
        for table in STORED_TABLES
    }
    _set_parents(source, old, new)
    for table in _NUMBERED:
        # One number of a deleted message is not to be given again.
        row = new.execute(f"SELECT max({table.primary_key[0]}) FROM {table.name}").fetchone()
        highest = (row and row[0]) or 0
        last = max(source.last_number(old, table), highest)
        if last > 0:
            target.set_last_number(new, table, last)
    stored = {table.name: _fingerprint(_batches(target, new, table), table) for table in STORED_TABLES}
    differing = [name for name in given if given[name] != stored[name]]
    if differing:
        raise StoreError(
            f"what is in {target.name} is not what was copied ({', '.join(differing)}): nothing was kept; "
            "check the disks of both machines, and copy again"
        )
    return list(stored.values())


def _copied(batches: Generator[_Batch], new: Connection, table: Table, progress: Progress) -> Generator[_Batch]:
    """Insert the rows of a table while they are read."""
    names = [column.name for column in _columns(table)]
    # A session may come before the one that it belongs to, so parents are set later.
    chosen = [name for name in names if name != "parent_id"]
    insert = (
        f"INSERT INTO {table.name} ({', '.join(map(_quoted, chosen))}) "
        f"VALUES ({', '.join(f':{name}' for name in chosen)})"
    )
    count = 0
    with closing(batches):
        for batch in batches:
            try:
                new.execute_many(insert, [dict(zip(names, row, strict=True)) for row in batch])
            except UnicodeError as error:
                raise StoreError(
                    f"the table {table.name!r} holds something that is not text ({error}): repair the source"
                ) from error
            count += len(batch)
            progress(table.name, count)
            yield batch


def _fingerprint(batches: Generator[_Batch], table: Table) -> CopiedTable:
    digest, count = hashlib.sha256(), 0
    with closing(batches):
        for batch in batches:
            for row in batch:
                _add(digest, row)
            count += len(batch)
    return CopiedTable(table.name, count, digest.hexdigest())


def _set_parents(source: Backend, old: Connection, new: Connection) -> None:
    chosen = "SELECT id, parent_id FROM sessions WHERE parent_id IS NOT NULL ORDER BY id"
    with closing(_streamed(source, old, chosen, _BATCH)) as batches:
        for batch in batches:
            rows = [{"session": session, "parent": parent} for session, parent in batch]
            new.execute_many("UPDATE sessions SET parent_id = :parent WHERE id = :session", rows)


def _columns(table: Table) -> list[Column]:
    return [column for column in table.columns if column.name not in _OWN_COLUMNS]


def _streamed(backend: Backend, connection: Connection, sql: str, size: int) -> Generator[_Batch]:
    # Both databases may be of one kind, so an error is explained where it is known which one it is of.
    with explaining(backend), closing(connection.stream(sql, size)) as batches:
        yield from batches


def _batches(backend: Backend, connection: Connection, table: Table) -> Generator[_Batch]:
    columns = _columns(table)
    statement = (
        f"SELECT {', '.join(_quoted(column.name) for column in columns)} FROM {table.name} "
        f"ORDER BY {', '.join(map(_quoted, table.primary_key))}"
    )
    # SQLite keeps truth as a number.
    truths = {place for place, column in enumerate(columns) if column.type is ColumnType.BOOLEAN}
    size = _ATTACHMENTS_BATCH if table.name == "attachments" else _BATCH
    with closing(_streamed(backend, connection, statement, size)) as batches:
        for batch in batches:
            if truths:
                yield [
                    [bool(value) if place in truths and value is not None else value for place, value in enumerate(row)]
                    for row in batch
                ]
            else:
                yield batch


def _quoted(name: str) -> str:
    return f'"{name}"'


def _add(digest: hashlib._Hash, row: Sequence[Any]) -> None:
    """Add a row to a hash; different rows have different encodings."""
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
