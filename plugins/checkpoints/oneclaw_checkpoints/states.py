"""The state of a path: read, compared, and put back byte for byte."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneclaw_checkpoints.directories import MISSING, change_mode, opened_parent
from oneclaw_core import OneClawError

if TYPE_CHECKING:
    from collections.abc import Callable

    # Stores a content under its digest, and reads the content of a digest.
    Keep = Callable[[str, bytes], None]
    ReadContent = Callable[[str], bytes]

# A file that was changed this shortly ago can change again without another time.
_UNSETTLED_NS = 50_000_000


class Kind(StrEnum):
    """Kind of file at a path."""

    NOTHING = "nothing"
    FILE = "file"
    LINK = "link"
    DIRECTORY = "directory"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class FileState:
    """The state of a path.

    Attributes:
        kind: of the file; ``UNKNOWN`` for one whose content is not kept.
        mode: the permission bits of a file or a directory.
        content: the digest of a file's content, the target of a link; of an unknown file what tells versions apart.
        size: of a file in bytes.
    """

    kind: Kind
    mode: int = 0
    content: str = ""
    size: int = 0

    def to_text(self) -> str:
        """Write the state as JSON, in ASCII: names on disk may be no UTF-8."""
        return json.dumps([self.kind, self.mode, self.content, self.size])

    @classmethod
    def from_text(cls, text: str) -> FileState:
        """Read what :meth:`to_text` wrote."""
        kind, mode, content, size = json.loads(text)
        return cls(Kind(kind), mode, content, size)

    def in_words(self) -> str:
        """Describe the state in a few words."""
        if self.kind is Kind.FILE:
            return f"a file of {self.size:,} bytes"
        if self.kind is Kind.LINK:
            return f"a symbolic link to {self.content}"
        return {Kind.DIRECTORY: "a directory", Kind.NOTHING: "nothing"}.get(self.kind, "a file that is not kept")


NOTHING = FileState(Kind.NOTHING)


def stamp_of(found: os.stat_result, now_ns: int) -> str:
    """Return what changes when a file changes; empty if it changed so shortly ago that it may not."""
    if now_ns - max(found.st_mtime_ns, found.st_ctime_ns) < _UNSETTLED_NS:
        return ""
    return f"{found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_mode}"


def read_state(path: str, max_bytes: int, keep: Keep | None = None, found: os.stat_result | None = None) -> FileState:
    """Read what stands at a path.

    Args:
        path: absolute; no symbolic link is followed, so nothing stands behind one.
        max_bytes: a larger file is unknown.
        keep: stores the content of a file; ``None`` to compute its digest alone.
        found: what ``lstat`` says of it, if that is known.
    """
    try:
        if found is not None and not _has_content(found, max_bytes):
            return _without_content(found)
        with opened_parent(path) as parent:
            name = os.path.basename(path)  # noqa: PTH119  # a Path costs more, for each file of a project
            found = os.stat(name, dir_fd=parent, follow_symlinks=False)
            if stat.S_ISLNK(found.st_mode):
                return FileState(Kind.LINK, 0, os.readlink(name, dir_fd=parent))
            if not _has_content(found, max_bytes):
                return _without_content(found)
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
            descriptor = os.open(name, flags, dir_fd=parent)
        with os.fdopen(descriptor, "rb") as stream:
            found = os.fstat(descriptor)
            content = stream.read(max_bytes + 1) if _has_content(found, max_bytes) else None
    except MISSING:
        return NOTHING
    except OSError as error:  # it may not be read
        return FileState(Kind.UNKNOWN, 0, str(error.errno)) if found is None else _unknown(found)
    if content is None or len(content) > max_bytes:
        return _unknown(found)
    digest = hashlib.sha256(content).hexdigest()
    if keep is not None:
        keep(digest, content)
    return FileState(Kind.FILE, stat.S_IMODE(found.st_mode), digest, len(content))


def _has_content(found: os.stat_result, max_bytes: int) -> bool:
    """Return True for a link, and for a file whose content is read."""
    return stat.S_ISLNK(found.st_mode) or (stat.S_ISREG(found.st_mode) and found.st_size <= max_bytes)


def _without_content(found: os.stat_result) -> FileState:
    is_directory = stat.S_ISDIR(found.st_mode)
    return FileState(Kind.DIRECTORY, stat.S_IMODE(found.st_mode)) if is_directory else _unknown(found)


def _unknown(found: os.stat_result) -> FileState:
    return FileState(Kind.UNKNOWN, stat.S_IMODE(found.st_mode), f"{found.st_ino} {found.st_mtime_ns}", found.st_size)


def is_in_place(path: str) -> bool:
    """Return True if no directory of a path is a symbolic link."""
    directory = Path(path).parent
    return directory.resolve() == directory


def put_back(name: str, state: FileState, read_content: ReadContent) -> None:
    """Make a path what it was; a directory that holds something is left where nothing is to be.

    Args:
        name: the path, absolute; no symbolic link is followed, even one that comes meanwhile.
        state: what is to stand there.
        read_content: reads the content of a digest.

    Raises:
        OSError: it cannot be changed.
        OneClawError: the state is unknown, or its content is gone.
    """
    if state.kind is Kind.UNKNOWN:
        raise OneClawError("its content was not kept")
    last = Path(name).name
    if state.kind is Kind.NOTHING:
        with suppress(*MISSING), opened_parent(name) as parent:
            _remove(last, parent)
        return
    with opened_parent(name, create=True) as parent:
        if state.kind is Kind.DIRECTORY:
            _make_directory(last, parent, state.mode)
            return
        if _is_directory(last, parent):
            os.rmdir(last, dir_fd=parent)
        new = _new_name(name)
        try:
            _unlink(new, parent)
            if state.kind is Kind.LINK:
                os.symlink(state.content, new, dir_fd=parent)
            else:
                _write(new, parent, read_content(state.content), state.mode)
            os.replace(new, last, src_dir_fd=parent, dst_dir_fd=parent)
        except (OSError, OneClawError):
            with suppress(OSError):
                _unlink(new, parent)
            raise


def _is_directory(name: str, parent: int) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _unlink(name: str, parent: int) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=parent)


def _remove(name: str, parent: int) -> None:
    if _is_directory(name, parent):
        with suppress(OSError):  # it holds what is not to be taken back
            os.rmdir(name, dir_fd=parent)
    else:
        _unlink(name, parent)


def _make_directory(name: str, parent: int, mode: int) -> None:
    if not _is_directory(name, parent):
        _unlink(name, parent)
        os.mkdir(name, dir_fd=parent)
    change_mode(name, parent, mode)


def _write(name: str, parent: int, content: bytes, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, 0o600, dir_fd=parent), "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fchmod(stream.fileno(), mode)
        os.fsync(stream.fileno())


def _new_name(path: str) -> str:
    """Return the name of the file that takes the place of another; always the same, so that it is found again."""
    return f".oneclaw-undo-{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}"


def clean_up(name: str) -> None:
    """Remove what a crash in the middle of :func:`put_back` left."""
    with suppress(OSError), opened_parent(name) as parent:
        _unlink(_new_name(name), parent)


def sort_key(path: str, state: FileState) -> tuple[int, int, str]:
    """Order changes: what goes first from the deepest, then directories and what lies in them from the top."""
    depth = len(Path(path).parts)
    if state.kind is Kind.NOTHING:
        return 0, -depth, path
    return (1 if state.kind is Kind.DIRECTORY else 2), depth, path


def as_bytes(path: str) -> bytes:
    """Write a path as the system has it."""
    return os.fsencode(path)


def as_path(value: Any) -> str:
    """Read what :func:`as_bytes` wrote."""
    return os.fsdecode(value)
