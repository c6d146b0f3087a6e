"""Back up a SQLite database, restore a backup or a snapshot, and list the snapshots."""

from __future__ import annotations

import os
import re
import sys
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from oneclaw_core import NotFoundError, StoreError, UsageError
from oneclaw_core.sessions import (
    SCHEMA_VERSION,
    SNAPSHOT,
    SNAPSHOT_MOMENT,
    SqliteBackend,
    StoreDamagedError,
    exclusive,
    explaining,
    new_file,
    new_snapshot,
    not_in_use,
    remove_old_snapshots,
    snapshot_directory,
    take_snapshot,
)

if TYPE_CHECKING:
    from pathlib import Path

    from oneclaw_core.sessions import Backend, Connection, SqliteConnection


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot of a database.

    Attributes:
        path: of the snapshot.
        database: the file that it is a copy of.
        taken_at: when it was taken.
        reason: such as ``schema-5`` for one from before a migration of schema 5, or ``before-restore``.
        size_bytes: of the snapshot.
    """

    path: Path
    database: Path
    taken_at: datetime
    reason: str
    size_bytes: int


def back_up(backend: Backend, target: Path) -> Path:
    """Copy a database, while it may be used, into a new file that only its owner can read.

    Returns:
        The new file, absolute.

    Raises:
        UsageError: the file exists, or the database is not a SQLite file.
        NotFoundError: there is no database.
        StoreError: it cannot be read, or the file cannot be written.
    """
    source = _sqlite(backend, "pg_dump")
    target = target.absolute()
    if not source.exists():
        raise NotFoundError(f"there is no database {source.name} yet")
    if os.path.lexists(target):
        raise UsageError(f"{target} exists: name a new file")
    with explaining(source), closing(source.connect_read_only()) as connection:
        with connection.transaction(writes=False):
            source.version(connection)
        with new_file(target) as temporary:
            connection.copy_to(temporary)
    return target


def restore(backend: Backend, copy: Path, lock_directory: Path) -> tuple[Path, Path | None]:
    """Put a copy in the place of a database; what was there is kept as a snapshot.

    Args:
        backend: the database, which may be missing or damaged.
        copy: a backup or a snapshot; a snapshot of a plugin's own database replaces that one.
        lock_directory: for lock files.

    Returns:
        The database, and the snapshot; ``None`` for that if there was nothing to keep.

    Raises:
        UsageError: the copy is the database itself, or that is not a SQLite file.
        NotFoundError: there is no such copy.
        StoreUnavailableError: a program has the database open; the message names it.
        StoreError: the copy is damaged, of another program or of a newer OneClaw; or something cannot be written.
    """
    main = _sqlite(backend, "pg_restore")
    given = SqliteBackend(copy.absolute())
    if not given.exists():
        raise NotFoundError(f"there is no file {given.path}: oneclaw db snapshots lists the snapshots")
    target = _other_database(given.path, main.path) or main.path
    if target.exists() and given.path.samefile(target):
        raise UsageError(f"{given.path} is the database itself: name a copy")
    with explaining(given), closing(given.connect_read_only()) as source:
        _check(given, source, SCHEMA_VERSION, is_main=target == main.path)
        with exclusive(main.path), not_in_use(main.path, lock_directory), explaining(main):
            return target, _replace(source, SqliteBackend(target), is_main=target == main.path)


def list_snapshots(directory: Path) -> list[Snapshot]:
    """List the snapshots of the databases in a directory, the oldest first."""
    found = []
    for file in snapshot_directory(directory / "any.db").glob("*.db"):
        named = re.fullmatch(SNAPSHOT, file.name)
        with suppress(OSError, ValueError):
            if named is not None:
                taken_at = datetime.strptime(named["moment"], SNAPSHOT_MOMENT).replace(tzinfo=UTC)
                database = directory / f"{named['stem']}.db"
                found.append(Snapshot(file, database, taken_at, named["reason"], file.stat().st_size))
    return sorted(found, key=lambda snapshot: snapshot.taken_at)


def _replace(source: SqliteConnection, target: SqliteBackend, *, is_main: bool) -> Path | None:
    """Overwrite a database in one transaction, which processes that have it open see all of; return its snapshot.

    A missing or damaged one gets a new file in its place.
    """
    with suppress(StoreDamagedError), explaining(target):
        if target.exists():
            # A copy that is the oldest snapshot may be removed here: it is open, and stays readable.
            kept = take_snapshot(target.path, "before-restore")
            with closing(target.connect()) as database:
                # A newer OneClaw may have migrated it, which is a reason to restore the snapshot from before.
                _check(target, database, sys.maxsize, is_main=is_main)
                source.driver.backup(database.driver)
            return kept
    with new_file(target.path) as temporary:
        source.copy_to(temporary)
        return _keep_damaged(target.path)


def _keep_damaged(path: Path) -> Path | None:
    """Move what is left of a database to the snapshots, with its recent transactions; byte for byte."""
    target = new_snapshot(path, "damaged")
    kept = None
    try:
        for suffix in ("", "-wal"):
            file = path.with_name(path.name + suffix)
            if file.is_file() and file.stat().st_size:
                moved = target.with_name(target.name + suffix)
                file.replace(moved)
                moved.chmod(0o600)
                kept = kept or moved
    except OSError as error:
        raise StoreError(f"what is left of {path} cannot be moved to {target.parent}: {error.strerror}") from error
    remove_old_snapshots(path)
    return kept


def _other_database(copy: Path, path: Path) -> Path | None:
    """Return the database that a snapshot is of, if it is not the main one but a plugin's own one."""
    named = re.fullmatch(SNAPSHOT, copy.name)
    if named is None or copy.parent.name != snapshot_directory(path).name:
        return None
    place = copy.parent.parent
    is_in_home = place == path.parent or place.parent == path.parent / "plugins"
    return place / f"{named['stem']}.db" if is_in_home and place / f"{named['stem']}.db" != path else None


def _sqlite(backend: Backend, tool: str) -> SqliteBackend:
    if not isinstance(backend, SqliteBackend):
        raise UsageError(f"{backend.name} is on a server: use the server's own tools, for PostgreSQL {tool}")
    return backend


def _check(backend: SqliteBackend, connection: Connection, known_version: int, *, is_main: bool) -> None:
    """Read a database whole, and the version of the main one.

    Raises:
        StoreError: it is not a whole database of OneClaw's.
    """
    with connection.transaction(writes=False):
        if is_main and not backend.version(connection, known_version):
            raise StoreDamagedError(f"{backend.path} is a database without tables: name another file")
        [fault, *_] = [line for (line,) in connection.execute("PRAGMA quick_check")]
        if fault != "ok":
            raise StoreDamagedError(f"{backend.path} is damaged: {' '.join(fault.split())}; name another file")
