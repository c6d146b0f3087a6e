"""Files of the home that belong to its owner alone: written as a whole or not at all."""

from __future__ import annotations

import os
import shlex
import stat
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Generic, TypeVar

from oneclaw_core.errors import OneClawError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_T = TypeVar("_T")

# File systems keep the time of a change in steps, the coarsest of 2 s.
_UNSEEN_NANOSECONDS = 2_000_000_000
_LOCK_SECONDS = 10
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class KeptFiles(Generic[_T]):
    """The cached results of reading files, valid while the files stay unchanged."""

    def __init__(self) -> None:
        self._kept: dict[Path, tuple[tuple[int, ...], _T]] = {}

    def get(self, path: Path, read: Callable[[Path], _T]) -> _T:
        """Give what was made of a file, and make it anew if the file, or who may read it, has changed.

        Args:
            path: the file, which may be missing.
            read: makes it; what it raises is not kept.
        """
        stamp = _stamp(path)
        kept = self._kept.get(path)
        if kept is not None and kept[0] == stamp:
            return kept[1]
        self._kept.pop(path, None)
        made = read(path)
        if stamp is not None:
            self._kept[path] = stamp, made
        return made


def _stamp(path: Path) -> tuple[int, ...] | None:
    """Tell what changes with a file; ``None`` if that is unknown, or so recent that the file may change unseen."""
    try:
        state = path.stat()
    except FileNotFoundError:
        return ()
    except (OSError, ValueError):
        return None
    if time.time_ns() - max(state.st_mtime_ns, state.st_ctime_ns) < _UNSEEN_NANOSECONDS:
        return None
    return (
        state.st_dev,
        state.st_ino,
        state.st_mode,
        state.st_uid,
        state.st_size,
        state.st_mtime_ns,
        state.st_ctime_ns,
    )


def read_private(path: Path, max_bytes: int) -> bytes | None:
    """Read a file that no one else may read or write.

    Args:
        path: the file.
        max_bytes: how long it may be.

    Returns:
        Its content; ``None`` if there is no such file.

    Raises:
        OneClawError: it is open to others, is not a file, is too long, or cannot be read.
    """
    try:
        # Opened before it is looked at, so that what is looked at is what is read.
        with open(path, "rb", opener=open_without_waiting) as file:  # Path.open takes no opener
            state = os.fstat(file.fileno())
            _require_private(path, state)
            # To read a number of bytes takes memory for all of them, however short the file is.
            content = file.read() if state.st_size <= max_bytes else b""
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from None
    if state.st_size > max_bytes:
        raise _unreadable(path, f"it is longer than {max_bytes} bytes")
    return content


def write_private(path: Path, content: bytes) -> None:
    """Put a file in the place of another, readable by its owner alone; its directory is made if need be.

    Args:
        path: the file.
        content: all of it.

    Raises:
        OSError: it cannot be written; what was there is still there.
    """
    make_private_directory(path.parent)
    temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


@contextmanager
def changing_private(path: Path, lock: Path, what: str) -> Iterator[None]:
    """Keep other processes from changing a file that is read and written inside.

    Args:
        path: the file.
        lock: the lock file; its directory is made if need be.
        what: what the file holds, for messages.

    Raises:
        OneClawError: another process holds the lock for ten seconds, or the file cannot be written.
    """
    from filelock import FileLock, Timeout

    try:
        make_private_directory(lock.parent)
        with FileLock(lock, timeout=_LOCK_SECONDS, mode=0o600):
            yield
    except Timeout:
        raise OneClawError(f"another process is changing {what}: try again when it is done") from None
    except OSError as error:
        raise OneClawError(
            f"{what} cannot be stored in {path}: {error.strerror or error}; make its directory writable"
        ) from None


def make_private_directory(path: Path) -> None:
    """Make a directory and those above it, each for its owner alone; ``parents`` of mkdir would open those above.

    Raises:
        OSError: that is not possible.
    """
    if not path.is_dir():
        make_private_directory(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def open_without_waiting(path: str, flags: int) -> int:
    """Open a file; a named pipe would make this wait for its other end."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def _require_private(path: Path, state: os.stat_result) -> None:
    mode = stat.S_IMODE(state.st_mode)
    if not stat.S_ISREG(state.st_mode):
        raise _unreadable(path, "it is not a file")
    if state.st_uid != os.geteuid():
        raise _unreadable(path, "it belongs to another user")
    if mode & _OTHERS:
        raise OneClawError(
            f"{path} is open to other users (mode {mode:o}), who may have read the keys in it; "
            f"close it with: chmod 600 {shlex.quote(str(path))}"
        )


def _unreadable(path: Path, reason: str) -> OneClawError:
    return OneClawError(f"{path} cannot be used ({reason}): make it a file that this user alone can read and write")
