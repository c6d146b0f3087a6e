"""Copies of a SQLite database: snapshots before it changes as a whole, backups, and restoring one."""

from __future__ import annotations

import logging
import os
import re
import sys
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from oneclaw_core.errors import NotFoundError, StoreDamagedError, StoreError, UsageError
from oneclaw_core.sessions.backend import SCHEMA_VERSION, explaining
from oneclaw_core.sessions.open_databases import not_in_use
from oneclaw_core.sessions.sqlite_connection import SqliteConnection
from oneclaw_core.sessions.sqlite_files import exclusive, new_file, unusable
from oneclaw_core.system.private_files import make_private_directory

if TYPE_CHECKING:
    from pathlib import Path

    from oneclaw_core.sessions.backend import Backend
    from oneclaw_core.sessions.sqlite_backend import SqliteBackend

KEPT_SNAPSHOTS = 5

_BUSY_SECONDS = 10.0
_MOMENT = "%Y%m%dT%H%M%S.%fZ"
_SNAPSHOT = re.compile(r"(?P<name>(?P<stem>.+)-(?P<moment>\d{8}T\d{6}\.\d{6}Z)-(?P<reason>.+)\.db)(?P<log>-wal)?")
_OF_MIGRATION = re.compile(r"(.+-)?schema-\d+")
_log = logging.getLogger("oneclaw.store")


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


def snapshot_directory(path: Path) -> Path:
    """Return the directory of a database's snapshots, beside it."""
    return path.parent / "snapshots"


def list_snapshots(directory: Path) -> list[Snapshot]:
    """List the snapshots of the databases in a directory, the oldest first."""
    found = []
    for file in snapshot_directory(directory / "any.db").glob("*.db"):
        named = _SNAPSHOT.fullmatch(file.name)
        with suppress(OSError, ValueError):
            if named is not None:
                taken_at = datetime.strptime(named["moment"], _MOMENT).replace(tzinfo=UTC)
                database = directory / f"{named['stem']}.db"
                found.append(Snapshot(file, database, taken_at, named["reason"], file.stat().st_size))
    return sorted(found, key=lambda snapshot: snapshot.taken_at)


def snapshot_before_migration(path: Path, version: int, newest: int, plugin: str | None = None) -> Path:
    """Take a snapshot of a SQLite file that is about to be migrated, and say where it is.

    Args:
        path: the file.
        version: of the schema now.
        newest: of the schema afterwards.
        plugin: whose tables are migrated, if it is not the file as a whole.

    Raises:
        StoreError: it cannot be written.
    """
    snapshot = take_snapshot(path, f"{plugin}-schema-{version}" if plugin else f"schema-{version}")
    what = f"the tables of plugin {plugin} in {path}" if plugin else path
    _log.warning("migrating %s from schema %d to %d; snapshot: %s", what, version, newest, snapshot)
    return snapshot


def take_snapshot(path: Path, reason: str) -> Path:
    """Copy a database into its snapshots, of which the newest few are kept.

    Returns:
        The snapshot.

    Raises:
        StoreError: it cannot be written.
    """
    target = _new_snapshot(path, reason)
    with closing(SqliteConnection(path, _BUSY_SECONDS)) as source:
        _copy(source, target)
    _remove_old(path)
    return target


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
        assert isinstance(connection, SqliteConnection)
        _copy(connection, target)
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
    from oneclaw_core.sessions.sqlite_backend import SqliteBackend

    target = _sqlite(backend, "pg_restore")
    given = SqliteBackend(copy.absolute())
    if not given.exists():
        raise NotFoundError(f"there is no file {given.path}: oneclaw db snapshots lists the snapshots")
    other = _other_database(given.path, target.path)
    if other is not None:
        with exclusive(target.path), not_in_use(target.path, lock_directory):
            return other, _restore_other(given.path, other)
    if target.path.exists() and given.path.samefile(target.path):
        raise UsageError(f"{given.path} is the database itself: name a copy")
    with explaining(given), closing(given.connect_read_only()) as source:
        assert isinstance(source, SqliteConnection)
        _check(given, source, SCHEMA_VERSION)
        with exclusive(target.path), not_in_use(target.path, lock_directory), explaining(target):
            try:
                with explaining(target):
                    replace = _replace_content if target.exists() else _replace_file
                    return target.path, replace(source, target.path)
            except StoreDamagedError:
                return target.path, _replace_file(source, target.path)


def _replace_content(source: SqliteConnection, path: Path) -> Path:
    """Overwrite a database in one transaction: processes that have it open see all of it."""
    # A copy that is the oldest snapshot may be removed here: it is open, and stays readable.
    kept = take_snapshot(path, "before-restore")
    with closing(SqliteConnection(path, _BUSY_SECONDS)) as database:
        # A newer OneClaw may have migrated it, which is a reason to restore the snapshot from before.
        _check(_backend_of(path), database, sys.maxsize)
        source.driver.backup(database.driver)
    return kept


def _other_database(copy: Path, path: Path) -> Path | None:
    """Return the database that a snapshot is of, if it is not the main one but a plugin's own one."""
    named = _SNAPSHOT.fullmatch(copy.name)
    if named is None or copy.parent.name != snapshot_directory(path).name:
        return None
    place = copy.parent.parent
    is_in_home = place == path.parent or place.parent == path.parent / "plugins"
    return place / f"{named['stem']}.db" if is_in_home and place / f"{named['stem']}.db" != path else None


def _restore_other(copy: Path, path: Path) -> Path | None:
    """Overwrite a database of a plugin with its snapshot, in one transaction."""
    backend = _backend_of(copy)
    with explaining(backend), closing(SqliteConnection(copy, _BUSY_SECONDS, is_read_only=True)) as source:
        _check_pages(copy, source)
        if not path.exists():
            return _replace_file(source, path)
        kept = take_snapshot(path, "before-restore")
        with closing(SqliteConnection(path, _BUSY_SECONDS)) as database:
            source.driver.backup(database.driver)
        return kept


def _backend_of(path: Path) -> SqliteBackend:
    from oneclaw_core.sessions.sqlite_backend import SqliteBackend

    return SqliteBackend(path)


def _replace_file(source: SqliteConnection, path: Path) -> Path | None:
    """Put a new file in the place of a missing or damaged one, which is moved to the snapshots."""
    with new_file(path) as temporary:
        _fill(source, temporary)
        return _keep_damaged(path)


def _sqlite(backend: Backend, tool: str) -> SqliteBackend:
    from oneclaw_core.sessions.sqlite_backend import SqliteBackend

    if not isinstance(backend, SqliteBackend):
        raise UsageError(f"{backend.name} is on a server: use the server's own tools, for PostgreSQL {tool}")
    return backend


def _check(backend: SqliteBackend, connection: SqliteConnection, known_version: int) -> None:
    """Read a database whole.

    Raises:
        StoreError: it is not a whole database of OneClaw's.
    """
    with connection.transaction(writes=False):
        if not backend.version(connection, known_version):
            raise StoreDamagedError(f"{backend.path} is a database without tables: name another file")
        _check_pages(backend.path, connection)


def _check_pages(path: Path, connection: SqliteConnection) -> None:
    """Read all pages of a database.

    Raises:
        StoreDamagedError: some are damaged.
    """
    [fault, *_] = [line for (line,) in connection.execute("PRAGMA quick_check")]
    if fault != "ok":
        raise StoreDamagedError(f"{path} is damaged: {' '.join(fault.split())}; name another file")


def _copy(source: SqliteConnection, target: Path) -> None:
    with new_file(target) as temporary:
        _fill(source, temporary)


def _fill(source: SqliteConnection, temporary: Path) -> None:
    with closing(SqliteConnection(temporary, _BUSY_SECONDS)) as copy:
        source.driver.backup(copy.driver)
        # One file, which can be moved and read anywhere.
        copy.execute("PRAGMA journal_mode = DELETE")


def _new_snapshot(path: Path, reason: str) -> Path:
    directory = snapshot_directory(path)
    try:
        make_private_directory(directory)
    except OSError as error:
        raise unusable(directory, error) from error
    moment = datetime.now(UTC).strftime(_MOMENT)
    return directory / f"{path.stem}-{moment}-{reason}.db"


def _keep_damaged(path: Path) -> Path | None:
    """Move what is left of a database to the snapshots, with its recent transactions; byte for byte."""
    target = _new_snapshot(path, "damaged")
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
    _remove_old(path)
    return kept


def _remove_old(path: Path) -> None:
    """Keep the newest snapshots of a database: those from before migrations, and separately all others."""
    kinds: dict[bool, set[str]] = {True: set(), False: set()}
    for file in snapshot_directory(path).iterdir():
        named = _SNAPSHOT.fullmatch(file.name)
        if named is not None and named["stem"] == path.stem:
            kinds[_OF_MIGRATION.fullmatch(named["reason"]) is not None].add(named["name"])
    for names in kinds.values():
        for name in sorted(names)[:-KEPT_SNAPSHOTS]:
            for suffix in ("", "-wal"):
                with suppress(OSError):
                    (snapshot_directory(path) / f"{name}{suffix}").unlink()
