"""Copies of a SQLite database: snapshots before it changes as a whole, backups, and restoring one."""

from __future__ import annotations

import fcntl
import os
import re
import sys
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from oneclaw_core.errors import NotFoundError, SessionBusyError, StoreDamagedError, StoreError, UsageError
from oneclaw_core.private_files import make_private_directory
from oneclaw_core.sessions.backend import SCHEMA_VERSION, explaining
from oneclaw_core.sessions.locks import no_new_locks
from oneclaw_core.sessions.sqlite_connection import SqliteConnection
from oneclaw_core.sessions.sqlite_files import exclusive, new_file, unusable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from oneclaw_core.sessions.backend import Backend
    from oneclaw_core.sessions.sqlite_backend import SqliteBackend

KEPT_SNAPSHOTS = 5

_BUSY_SECONDS = 10.0
_SNAPSHOT = re.compile(r"(.+\.db)(-wal)?")


def snapshot_directory(path: Path) -> Path:
    """Return the directory of a database's snapshots, beside it."""
    return path.parent / "snapshots"


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


def restore(backend: Backend, copy: Path, lock_directory: Path) -> Path | None:
    """Put a copy in the place of a database; what was there is kept as a snapshot.

    Args:
        backend: the database, which may be missing or damaged.
        copy: a backup or a snapshot.
        lock_directory: with the lock files of sessions.

    Returns:
        The snapshot; ``None`` if there was nothing to keep.

    Raises:
        UsageError: the copy is the database itself, or that is not a SQLite file.
        NotFoundError: there is no such copy.
        SessionBusyError: a turn runs.
        StoreError: the copy is damaged, of another program or of a newer OneClaw; or something cannot be written.
    """
    from oneclaw_core.sessions.sqlite_backend import SqliteBackend

    target = _sqlite(backend, "pg_restore")
    given = SqliteBackend(copy.absolute())
    if not given.exists():
        raise NotFoundError(f"there is no file {given.path}")
    if target.path.exists() and given.path.samefile(target.path):
        raise UsageError(f"{given.path} is the database itself: name a copy")
    with explaining(given), closing(given.connect_read_only()) as source:
        assert isinstance(source, SqliteConnection)
        _check(given, source, SCHEMA_VERSION)
        with exclusive(target.path), _no_turns(lock_directory), explaining(target):
            try:
                with explaining(target):
                    return _replace_content(source, target) if target.exists() else _replace_file(source, target.path)
            except StoreDamagedError:
                return _replace_file(source, target.path)


def _replace_content(source: SqliteConnection, target: SqliteBackend) -> Path:
    """Overwrite a database in one transaction: processes that have it open see all of it."""
    # A copy that is the oldest snapshot may be removed here: it is open, and stays readable.
    kept = take_snapshot(target.path, "before-restore")
    with closing(SqliteConnection(target.path, _BUSY_SECONDS)) as database:
        # A newer OneClaw may have migrated it, which is a reason to restore the snapshot from before.
        _check(target, database, sys.maxsize)
        source.driver.backup(database.driver)
    return kept


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
        [fault, *_] = [line for (line,) in connection.execute("PRAGMA quick_check")]
    if fault != "ok":
        raise StoreDamagedError(f"{backend.path} is damaged: {' '.join(fault.split())}; name another file")


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
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
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
    files = sorted(
        file for file in snapshot_directory(path).glob(f"{path.stem}-*.db*") if _SNAPSHOT.fullmatch(file.name)
    )
    names = sorted({file.name.removesuffix("-wal") for file in files})
    for name in names[:-KEPT_SNAPSHOTS]:
        for suffix in ("", "-wal"):
            with suppress(OSError):
                (snapshot_directory(path) / f"{name}{suffix}").unlink()


@contextmanager
def _no_turns(directory: Path) -> Iterator[None]:
    """Hold the locks of all sessions.

    Raises:
        SessionBusyError: a turn of one runs.
    """
    with ExitStack() as stack:
        if directory.is_dir():
            stack.enter_context(no_new_locks(directory))
        for lock in sorted(directory.glob("*.lock")):
            try:
                descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
                stack.callback(os.close, descriptor)
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except FileNotFoundError:
                continue  # it was released
            except BlockingIOError:
                raise SessionBusyError(
                    f"a turn of session {lock.stem} runs: restore when it has ended; nothing was changed"
                ) from None
            except OSError as error:
                raise StoreError(f"the lock file {lock} cannot be used: {error.strerror}") from error
        yield
