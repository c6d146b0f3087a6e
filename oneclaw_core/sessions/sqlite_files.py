"""The files of a SQLite database: whole new ones, copies, snapshots, and the processes that have it open.

Each process that has a database open holds a shared lock of the directory of lock files, so that it is not replaced
under one of them. The operating system releases it when the process ends. A file beside the database says who it is. It
is only for messages: the lock holds without it.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import re
import stat
import sys
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.errors import StoreDamagedError, StoreError, StoreUnavailableError
from oneclaw_core.sessions.locks import open_directory
from oneclaw_core.sessions.sqlite_connection import BUSY_SECONDS, SqliteConnection
from oneclaw_core.system.private_files import make_private_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Files that SQLite keeps beside a database: recent transactions, their index, and those to roll back.
BESIDE = ("-wal", "-shm", "-journal")

# SQLite would make a new database of a shorter file.
_HEADER_BYTES = 100

KEPT_SNAPSHOTS = 5
SNAPSHOT_MOMENT = "%Y%m%dT%H%M%S.%fZ"
SNAPSHOT = r"(?P<name>(?P<stem>.+)-(?P<moment>\d{8}T\d{6}\.\d{6}Z)-(?P<reason>.+)\.db)(?P<log>-wal)?"
"""The names of the files of snapshots."""

_OF_MIGRATION = r"(.+-)?schema-\d+"
_log = logging.getLogger("oneclaw.store")

# Of lock files.
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_WAIT_SECONDS = 60.0
_MOMENT_SECONDS = 2.0  # for others that lock the directory to acquire a lock in it
_RETRY_SECONDS = 0.02
_COMMAND = r"[a-z][a-z-]*"


def is_there(path: Path) -> bool:
    """Return True if the file of a database exists.

    Raises:
        StoreDamagedError: the file was emptied. A new database is never an empty file, see :func:`new_file`.
        StoreError: the file cannot be seen.
    """
    try:
        state = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise StoreError(
            f"the database {path} cannot be read ({error.strerror}): let this user read its directory"
        ) from error
    if stat.S_ISREG(state.st_mode) and state.st_size < _HEADER_BYTES:
        raise StoreDamagedError(
            f"the database {path} is damaged: it was emptied, {state.st_size} bytes are left; restore a copy with "
            "oneclaw db restore FILE, or delete it, with its -wal and -shm files if there are any, to start afresh"
        )
    return True


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Fill a temporary file, then rename it to ``path``: a file with that name is always whole.

    Yields:
        The temporary file, empty and readable by its owner alone.

    Raises:
        StoreError: the directory cannot be used.
    """
    temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}.tmp")
    try:
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise unusable(path, error) from error
    try:
        yield temporary
        # SQLite would take them for those of the new file.
        remove_beside(path)
        try:
            temporary.replace(path)
        except OSError as error:
            raise unusable(path, error) from error
    finally:
        remove_beside(temporary)
        with suppress(OSError):
            temporary.unlink()


@contextmanager
def private_copy(path: Path) -> Iterator[Path]:
    """Copy a database, with its recent transactions, into a temporary directory that is removed at the end."""
    import shutil  # imported for rare copies alone
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="oneclaw-") as directory:
        copy = Path(directory) / "copy.db"
        try:
            shutil.copyfile(path, copy)
            for suffix in ("-wal", "-journal"):
                with suppress(FileNotFoundError):
                    shutil.copyfile(path.with_name(path.name + suffix), copy.with_name(copy.name + suffix))
        except OSError as error:
            raise StoreError(f"the database {path} cannot be copied for reading: {error.strerror or error}") from error
        yield copy


def remove_beside(path: Path) -> None:
    """Remove the files beside a database; a file that stays is no error here."""
    for suffix in BESIDE:
        with suppress(OSError):
            path.with_name(path.name + suffix).unlink()


def unusable(path: Path, error: OSError) -> StoreError:
    """Return the error for a file that the system does not let us use."""
    return StoreError(
        f"the database {path} cannot be opened ({error.strerror}): check the path and that this user may write there"
    )


def snapshot_directory(path: Path) -> Path:
    """Return the directory of a database's snapshots, beside it."""
    return path.parent / "snapshots"


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
    target = new_snapshot(path, reason)
    with closing(SqliteConnection(path, BUSY_SECONDS)) as source, new_file(target) as temporary:
        source.copy_to(temporary)
    remove_old_snapshots(path)
    return target


def new_snapshot(path: Path, reason: str) -> Path:
    """Return the file for a snapshot of a database; its directory is made if it is missing."""
    directory = snapshot_directory(path)
    try:
        make_private_directory(directory)
    except OSError as error:
        raise unusable(directory, error) from error
    moment = datetime.now(UTC).strftime(SNAPSHOT_MOMENT)
    return directory / f"{path.stem}-{moment}-{reason}.db"


def remove_old_snapshots(path: Path) -> None:
    """Keep the newest snapshots of a database: those from before migrations, and separately all others."""
    kinds: dict[bool, set[str]] = {True: set(), False: set()}
    for file in snapshot_directory(path).iterdir():
        named = re.fullmatch(SNAPSHOT, file.name)
        if named is not None and named["stem"] == path.stem:
            kinds[re.fullmatch(_OF_MIGRATION, named["reason"]) is not None].add(named["name"])
    for names in kinds.values():
        for name in sorted(names)[:-KEPT_SNAPSHOTS]:
            for suffix in ("", "-wal"):
                with suppress(OSError):
                    (snapshot_directory(path) / f"{name}{suffix}").unlink()


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Wait until no other process makes, migrates or replaces a database, and keep others from it.

    The directory itself is locked, so that no lock file is left behind.

    Raises:
        StoreError: another process takes too long, or the directory cannot be used.
    """
    try:
        descriptor = open_directory(path.parent)
    except OSError as error:
        raise unusable(path, error) from error
    try:
        if not _is_locked(descriptor, fcntl.LOCK_EX, _WAIT_SECONDS):
            raise StoreError(
                f"another process is making, migrating or restoring the database {path}: try again when it is done"
            )
        yield
    finally:
        os.close(descriptor)


def hold_open(path: Path, directory: Path) -> Callable[[], None]:
    """Keep others from replacing a database.

    Args:
        path: the SQLite file.
        directory: of lock files.

    Returns:
        Ends that; called once.

    Raises:
        StoreError: the lock cannot be used, or the database is being restored and that takes too long.
    """
    with ExitStack() as stack:
        # The opener itself locks the directory of the database, to make and migrate it; there the file beside it holds.
        if directory.absolute() != path.parent.absolute():
            descriptor = _open(directory)
            stack.callback(_unlock, descriptor)
            if not _is_locked(descriptor, fcntl.LOCK_SH, _WAIT_SECONDS):
                raise StoreUnavailableError(f"{path} is being restored: try again when that is done")
        with suppress(OSError):
            _introduce(path, stack)
        return stack.pop_all().close


@contextmanager
def not_in_use(path: Path, directory: Path) -> Iterator[None]:
    """Keep a database from being opened, and turns from beginning, for the length of a block.

    Args:
        path: the SQLite file.
        directory: of lock files.

    Raises:
        StoreUnavailableError: a process has it open; the message names the program.
        StoreError: the lock cannot be used.
    """
    descriptor = _open(directory)
    try:
        who = list(_holders(path))
        if who or not _is_locked(descriptor, fcntl.LOCK_EX, _MOMENT_SECONDS):
            names = ", ".join(who or _holders(path)) or "another program"
            raise StoreUnavailableError(f"{path} is in use by {names}: end that first; nothing was changed")
        yield
    finally:
        _unlock(descriptor)


def _open(directory: Path) -> int:
    try:
        return open_directory(directory)
    except OSError as error:
        raise StoreError(
            f"the lock files in {directory} cannot be used ({error.strerror or error}): check the path and that this "
            "user may write there"
        ) from error


def _is_locked(descriptor: int, kind: int, wait_seconds: float = 0) -> bool:
    """Return True if a file is locked within a time, or cannot be."""
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_RETRY_SECONDS)
        except OSError:  # a file system without locks
            return True
        else:
            return True


def _unlock(descriptor: int) -> None:
    # A process that was forked meanwhile has the file open, too.
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def _introduce(path: Path, stack: ExitStack) -> None:
    """Write who has the database open, into a file that is locked before it has its name."""
    file = _directory(path) / f"{path.name}.{os.getpid()}.{os.urandom(4).hex()}"
    unnamed = file.with_name(f".{file.name}")
    try:
        make_private_directory(file.parent)
        descriptor = os.open(unnamed, _NEW, 0o600)
    except FileNotFoundError:  # the last one to leave has just removed the directory
        make_private_directory(file.parent)
        descriptor = os.open(unnamed, _NEW, 0o600)
    stack.callback(_unlock, descriptor)
    stack.callback(_remove, file)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.write(descriptor, json.dumps({"program": _program(), "host": os.uname().nodename}).encode())
    unnamed.rename(file)
    list(_holders(path))  # removes what killed processes have left


def _directory(path: Path) -> Path:
    return path.parent / "open"


def _program() -> str:
    """Name this program, without arguments that could be private."""
    program = Path(sys.argv[0]) if sys.argv and sys.argv[0] not in ("", "-c", "-m") else Path(sys.executable)
    name = "oneclaw" if program.name == "__main__.py" and program.parent.name == "oneclaw_core" else program.name
    is_command = name == "oneclaw" and len(sys.argv) > 1 and re.fullmatch(_COMMAND, sys.argv[1])
    return f"{name} {sys.argv[1]}" if is_command else name


def _holders(path: Path) -> Iterator[str]:
    """Describe the processes that have a database open; remove what killed ones have left."""
    for file in sorted(_directory(path).glob(f"{path.name}.*.*")):
        try:
            descriptor = os.open(file, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            if _is_locked(descriptor, fcntl.LOCK_EX):
                _remove(file)
                continue
            said = json.loads(os.read(descriptor, 10_000))
            since = datetime.fromtimestamp(os.fstat(descriptor).st_mtime).astimezone()
            place = "" if said["host"] == os.uname().nodename else f" on {said['host']}"
            pid = file.name.split(".")[-2]
            yield f"{said['program']} (process {pid}{place}, since {since:%Y-%m-%d %H:%M})"
        except (OSError, ValueError, LookupError, TypeError):
            continue
        finally:
            os.close(descriptor)


def _remove(file: Path) -> None:
    with suppress(OSError):
        file.unlink()
        file.parent.rmdir()  # if it was the last one
