"""Files that belong to their owner alone: written as a whole or not at all.

They lie in the home, or hold the state of this user for one environment (``sys.prefix``): JSON documents in the user's
data directory. Those lie neither in the cache, which may be deleted, nor in a home, of which there can be many. A file
that cannot be used is never replaced.
"""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import stat
import sys
import time
from abc import ABC, abstractmethod
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from oneclaw_core.errors import OneClawError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

_T = TypeVar("_T")

_LOCK_SECONDS = 10
_PAUSE_SECONDS = 0.05
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_FORMAT = 1
_LONGEST_BYTES = 16 * 1024 * 1024


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
    try:
        make_private_directory(lock.parent)
        with _locked(lock):
            yield
    except BlockingIOError:
        raise OneClawError(f"another process is changing {what}: try again when it is done") from None
    except OSError as error:
        raise OneClawError(
            f"{what} cannot be stored in {path}: {error.strerror or error}; make its directory writable"
        ) from None


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock file, see ``flock(2)``. Importing the package filelock would take a tenth of a first start."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    deadline = time.monotonic() + _LOCK_SECONDS
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise
            time.sleep(_PAUSE_SECONDS)
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # a process that was forked meanwhile has the file open, too
        os.close(descriptor)


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


class StateFile(ABC, Generic[_T]):
    """The state of this user for one environment.

    Args:
        path: the file; ``None`` if this user has no data directory.

    Attributes:
        what: what the file holds, for messages.
        use: what it is removed for, if it is damaged, as the end of a sentence.
    """

    what: ClassVar[str]
    use: ClassVar[str]

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def read(self) -> _T:
        """Read the file.

        Raises:
            OneClawError: it cannot be read, or is damaged; the message names it.
        """
        path = self._place()
        content = read_private(path, _LONGEST_BYTES)
        try:
            if content is None:
                return self._parsed({})
            document = json.loads(content)
            if (document["format"], document["prefix"]) != (_FORMAT, sys.prefix):
                raise ValueError
            return self._parsed(document)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise OneClawError(
                f"{path} is damaged or of another version of OneClaw: repair it, or remove it to {self.use}"
            ) from None

    def change(self, change: Callable[[_T], _T]) -> _T:
        """Replace what is known, without losing what another process writes at the same time.

        Args:
            change: returns what holds now, from what was known.

        Raises:
            OneClawError: the file cannot be read or written.
        """
        path = self._place()
        with changing_private(path, path.with_name(f".{path.name}.lock"), self.what):
            known = self.read()
            after = change(known)
            if after != known:
                document = {"format": _FORMAT, "prefix": sys.prefix, **self._document(after)}
                write_private(path, (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode())
        return after

    @abstractmethod
    def _parsed(self, document: Mapping[str, Any]) -> _T:
        """Return the content of a document, which is empty if there is no file."""

    @abstractmethod
    def _document(self, content: _T) -> dict[str, Any]:
        """Return the content as JSON data."""

    def _place(self) -> Path:
        if self._path is None:
            raise OneClawError(f"there is no place to note {self.what}: set HOME or XDG_DATA_HOME")
        return self._path


def state_path(name: str) -> Path | None:
    """Return a file of this user for this environment that is no cache; ``None`` if there is no place for it."""
    from hashlib import sha256  # most listings need no such file

    from platformdirs import user_data_path

    # Beside the home that lies there by default; relative for no user.
    directory = user_data_path("oneclaw-plugins", appauthor=False)
    environment = sha256(sys.prefix.encode("utf-8", "replace")).hexdigest()[:16]
    return directory / environment / name if directory.is_absolute() else None
