"""Open, write and remove the files that :class:`~oneclaw_core.files.paths.PathGuard` allows.

The guard resolves a path; the file is opened a moment later. Every directory on the way is opened relative to the one
before, and no step follows a symbolic link: one that was put there in between is an error.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING, Literal

from oneclaw_core.files.views import FileChangedError
from oneclaw_core.types.provenance import FileState, UsedFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from io import BufferedReader, BufferedWriter
    from pathlib import Path

    from oneclaw_core.files.paths import PathGuard

DIRECTORY = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
"""Flags to open a directory on the way to a file. On Linux it may be one that may be entered but not listed."""

# O_NONBLOCK: opening a named pipe that slipped in does not wait for its other end.
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

# Directories are made one in the other without an end otherwise, until most programs cannot delete them any more.
_MOST_STEPS = 100


class NotARegularFileError(OSError):
    """The path leads to a directory, a pipe, a device or a socket."""

    def __init__(self, kind: str) -> None:
        super().__init__(errno.EINVAL, f"it is {kind}, not a file")


class DirectoryInsteadError(NotARegularFileError):
    """The path leads to a directory."""

    def __init__(self) -> None:
        super().__init__("a directory")


@contextmanager
def open_for_reading(
    path: Path, guard: PathGuard, purpose: Literal["show", "look", "change"] = "show"
) -> Iterator[BufferedReader]:
    """Open a regular file.

    Args:
        path: from ``guard.readable``.
        guard: which directories may be read.
        purpose: ``show`` for a tool that shows the model the file: it may be written as long as it stays like this.
            ``look`` for one that only looks into it, such as a search. ``change`` for one that is about to change it.

    Raises:
        FileChangedError: it is to be changed, and is not as the session saw it last.
        NotARegularFileError: it is something else; opening that would hang or act on a device.
        OSError: it cannot be opened.
    """
    with _parent(path, _base(path, guard)) as parent:
        _require_regular(os.stat(path.name, dir_fd=parent, follow_symlinks=False))
        descriptor = os.open(path.name, os.O_RDONLY | _FILE, dir_fd=parent)
        with os.fdopen(descriptor, "rb") as stream:
            found = os.fstat(descriptor)
            _require_regular(found)
            if purpose != "look":  # it may be another file than the guard has seen
                guard.used.append(UsedFile(path, "read", time.time_ns(), FileState.of(path, found)))
            if purpose == "show":
                guard.views.note(path, descriptor)
            elif purpose == "change":
                guard.views.check(path, descriptor)
            yield stream


def replace_content(path: Path, data: bytes, guard: PathGuard) -> None:
    """Write a whole file: readers see the old content or the new one, and a failure leaves the old one.

    Missing directories are made; the permission bits of a file that is there are kept.

    Args:
        path: from ``guard.writable``.
        data: the new content.
        guard: where may be written.

    Raises:
        FileChangedError: the file that is there is not as the session saw it last.
        OSError: it cannot be written.
    """
    with guard.views.writing, _parent(path, _base(path, guard), create=True) as parent:
        mode = _mode_of_writable_file(path.name, parent)
        _check_view(path, parent, guard)
        with _temporary_file(parent, 0o666 if mode is None else 0o600) as (stream, temporary):
            stream.write(data)
            stream.flush()
            if mode is not None:
                os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
            os.replace(temporary, path.name, src_dir_fd=parent, dst_dir_fd=parent)
        _note_view(path, parent, guard)


class NewFile:
    """A file that is being written under a temporary name; made by :func:`new_file`."""

    def __init__(self, path: Path, parent: int, stream: BufferedWriter, temporary: str) -> None:
        self._path = path
        self._parent = parent
        self._stream = stream
        self._temporary = temporary

    def write(self, data: bytes) -> None:
        """Add to its end.

        Raises:
            OSError: it cannot be written.
        """
        self._stream.write(data)

    def keep(self) -> Path:
        """Give it its name, or a similar one if that is taken; nothing that is there is replaced.

        Returns:
            The path it has.

        Raises:
            OSError: it cannot be written.
        """
        self._stream.flush()
        for name in _similar_names(self._path):
            try:
                placeholder = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE, 0o600, dir_fd=self._parent)
            except FileExistsError:
                continue
            os.close(placeholder)
            try:
                os.replace(self._temporary, name, src_dir_fd=self._parent, dst_dir_fd=self._parent)
            except OSError:
                os.unlink(name, dir_fd=self._parent)
                raise
            return self._path.with_name(name)
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))


@contextmanager
def new_file(path: Path, guard: PathGuard) -> Iterator[NewFile]:
    """Write a file piece by piece that is not there until it is kept; if it is not, no trace is left.

    Missing directories are made.

    Args:
        path: from ``guard.writable``.
        guard: where may be written.

    Raises:
        OSError: it cannot be written.
    """
    with (
        _parent(path, _base(path, guard), create=True) as parent,
        _temporary_file(parent, 0o666) as (stream, temporary),
    ):
        yield NewFile(path, parent, stream, temporary)


def list_directory(path: Path, guard: PathGuard, limit: int) -> list[str]:
    """List names in a directory, those of directories with a slash at their end, in alphabetical order.

    Args:
        path: from ``guard.readable``.
        guard: which directories may be read.
        limit: how many names to look at.

    Raises:
        OSError: it cannot be read.
    """
    base = _base(path, guard)
    with opened_directory(base, path.relative_to(base).parts) as place:
        directory = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=place)
    try:
        with os.scandir(directory) as entries:
            found = list(islice(entries, limit))
            return sorted(each.name + "/" if each.is_dir(follow_symlinks=False) else each.name for each in found)
    finally:
        os.close(directory)


def remove_file(path: Path, guard: PathGuard) -> None:
    """Remove a regular file.

    Args:
        path: from ``guard.writable``.
        guard: where may be written.

    Raises:
        OSError: it cannot be removed.
    """
    with _parent(path, _base(path, guard)) as parent:
        _require_regular(os.stat(path.name, dir_fd=parent, follow_symlinks=False))
        _check_view(path, parent, guard)
        os.unlink(path.name, dir_fd=parent)


def append_content(path: Path, data: bytes, guard: PathGuard) -> int:
    """Add to the end of a file, which is made if it is missing; a failure leaves it as it was.

    Args:
        path: from ``guard.writable``.
        data: what to add.
        guard: where may be written.

    Returns:
        The size of the file afterwards, in bytes.

    Raises:
        OSError: it cannot be written.
    """
    with guard.views.writing, _parent(path, _base(path, guard), create=True) as parent:
        _mode_of_writable_file(path.name, parent)
        descriptor = os.open(path.name, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _FILE, 0o666, dir_fd=parent)
        try:
            before = os.fstat(descriptor)
            _require_regular(before)
            is_as_seen = _is_as_seen(path, parent, guard)
            written = 0
            try:
                while written < len(data):
                    written += os.write(descriptor, memoryview(data)[written:])
            except OSError:
                # Another writer may have added something since; then nothing is taken away.
                if os.fstat(descriptor).st_size == before.st_size + written:
                    os.ftruncate(descriptor, before.st_size)
                raise
            os.fsync(descriptor)
            if is_as_seen:
                _note_view(path, parent, guard)
            return os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)


@contextmanager
def _temporary_file(parent: int, mode: int) -> Iterator[tuple[BufferedWriter, str]]:
    """Make a file under a separate name, and remove it unless it got another."""
    temporary = f".oneclaw-{os.urandom(8).hex()}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE, mode, dir_fd=parent)
    stream = os.fdopen(descriptor, "wb")
    try:
        yield stream, temporary
    finally:
        with suppress(OSError):  # what could not be written is written no better now
            stream.close()
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=parent)


def _similar_names(path: Path) -> Iterator[str]:
    yield path.name
    for number in range(2, 100):
        yield f"{path.stem}-{number}{path.suffix}"
    yield f"{path.stem}-{os.urandom(8).hex()}{path.suffix}"


def _base(path: Path, guard: PathGuard) -> Path:
    workspace = guard.workspace.resolve()
    return workspace if path.is_relative_to(workspace) else guard.start_directory.resolve()


@contextmanager
def _parent(path: Path, base: Path, *, create: bool = False) -> Iterator[int]:
    """Open the directory that holds ``path``, which lies in ``base``."""
    steps = path.relative_to(base).parts
    if not steps:
        raise DirectoryInsteadError
    if create:
        if len(steps) > _MOST_STEPS:
            raise OSError(errno.ENAMETOOLONG, f"it lies more than {_MOST_STEPS} directories deep")
        base.mkdir(parents=True, exist_ok=True)
    with opened_directory(base, steps[:-1], create=create) as directory:
        yield directory


@contextmanager
def opened_directory(base: Path | str, steps: Iterable[str], *, create: bool = False) -> Iterator[int]:
    """Open a directory step by step, so that no symbolic link leads elsewhere, even one that comes meanwhile.

    Args:
        base: the directory to begin at.
        steps: the names that lead from there to the directory.
        create: make directories that are missing.

    Yields:
        A descriptor, for ``dir_fd``.

    Raises:
        OSError: there is no such directory, or a symbolic link stands in the way.
    """
    directory = os.open(base, DIRECTORY)
    try:
        for step in steps:
            if create:
                with suppress(FileExistsError):
                    os.mkdir(step, dir_fd=directory)
            deeper = os.open(step, DIRECTORY, dir_fd=directory)
            os.close(directory)
            directory = deeper
        yield directory
    finally:
        os.close(directory)


def _mode_of_writable_file(name: str, directory: int) -> int | None:
    """The permission bits of a file, ``None`` if it is missing.

    Raises:
        OSError: it is there and may not be written, though replacing it could get around that.
    """
    try:
        _require_regular(os.stat(name, dir_fd=directory, follow_symlinks=False))
        descriptor = os.open(name, os.O_WRONLY | _FILE, dir_fd=directory)
    except FileNotFoundError:
        return None
    try:
        found = os.fstat(descriptor)
        _require_regular(found)
        return found.st_mode & 0o777
    finally:
        os.close(descriptor)


def _check_view(path: Path, directory: int, guard: PathGuard) -> None:
    """Raise ``FileChangedError`` if a file is not as the session saw it last."""
    if str(path) in guard.views.known:
        with suppress(FileNotFoundError, PermissionError), _opened(path, directory) as descriptor:
            guard.views.check(path, descriptor)


def _is_as_seen(path: Path, directory: int, guard: PathGuard) -> bool:
    try:
        _check_view(path, directory, guard)
    except FileChangedError:
        return False
    return str(path) in guard.views.known


def _note_view(path: Path, directory: int, guard: PathGuard) -> None:
    with suppress(OSError), _opened(path, directory) as descriptor:
        guard.views.note(path, descriptor)


@contextmanager
def _opened(path: Path, directory: int) -> Iterator[int]:
    descriptor = os.open(path.name, os.O_RDONLY | _FILE, dir_fd=directory)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _require_regular(found: os.stat_result) -> None:
    mode = found.st_mode
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise DirectoryInsteadError
    kinds = (
        (stat.S_ISLNK, "a symbolic link that was put there just now"),
        (stat.S_ISFIFO, "a named pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    )
    raise NotARegularFileError(next((kind for is_kind, kind in kinds if is_kind(mode)), "something else"))
