"""The processes that have a SQLite database open, so that it is not replaced under one of them.

Each process that has it open holds a shared lock of the directory of lock files. The operating system releases it when
the process ends. A file beside the database says who it is. It is only for messages: the lock holds without it.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.errors import StoreError, StoreUnavailableError
from oneclaw_core.sessions.locks import open_directory
from oneclaw_core.system.private_files import make_private_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_WAIT_SECONDS = 60.0
_MOMENT_SECONDS = 2.0  # for others that lock the directory to acquire a lock in it
_RETRY_SECONDS = 0.02
_COMMAND = re.compile(r"[a-z][a-z-]*")


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
            deadline = time.monotonic() + _WAIT_SECONDS
            while not _is_locked(descriptor, fcntl.LOCK_SH):
                if time.monotonic() > deadline:
                    raise StoreUnavailableError(f"{path} is being restored: try again when that is done")
                time.sleep(_RETRY_SECONDS)
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
        deadline = time.monotonic() + _MOMENT_SECONDS
        while (who := ", ".join(_holders(path))) or not _is_locked(descriptor, fcntl.LOCK_EX):
            if who or time.monotonic() > deadline:
                raise StoreUnavailableError(
                    f"{path} is in use by {who or 'another program'}: end that first; nothing was changed"
                )
            time.sleep(_RETRY_SECONDS)
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


def _is_locked(descriptor: int, kind: int) -> bool:
    """Return True if a file is locked now, or cannot be."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
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
    is_command = name == "oneclaw" and len(sys.argv) > 1 and _COMMAND.fullmatch(sys.argv[1])
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
