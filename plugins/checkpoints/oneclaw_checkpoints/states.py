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
        path: absolute; a symbolic link is not followed.
        max_bytes: a larger file is unknown.
        keep: stores the content of a file; ``None`` to compute its digest alone.
        found: what ``lstat`` says of it, if that is known.
    """
    try:
        found = found or os.lstat(path)
        mode = stat.S_IMODE(found.st_mode)
        if stat.S_ISLNK(found.st_mode):
            return FileState(Kind.LINK, 0, os.readlink(path))  # noqa: PTH115  # a Path would write it differently
        if stat.S_ISDIR(found.st_mode):
            return FileState(Kind.DIRECTORY, mode)
        if not stat.S_ISREG(found.st_mode) or found.st_size > max_bytes:
            return _unknown(found)
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as stream:
            content = stream.read(max_bytes + 1)
    except (FileNotFoundError, NotADirectoryError):
        return NOTHING
    except OSError as error:  # it may not be read
        return FileState(Kind.UNKNOWN, 0, str(error.errno)) if found is None else _unknown(found)
    if len(content) > max_bytes:
        return _unknown(found)
    digest = hashlib.sha256(content).hexdigest()
    if keep is not None:
        keep(digest, content)
    return FileState(Kind.FILE, mode, digest, len(content))


def _unknown(found: os.stat_result) -> FileState:
    return FileState(Kind.UNKNOWN, stat.S_IMODE(found.st_mode), f"{found.st_ino} {found.st_mtime_ns}", found.st_size)


def is_in_place(path: str) -> bool:
    """Return True if no directory of a path is a symbolic link."""
    directory = Path(path).parent
    return directory.resolve() == directory


def put_back(name: str, state: FileState, read_content: ReadContent) -> None:
    """Make a path what it was; a directory that holds something is left where nothing is to be.

    Args:
        name: the path, absolute.
        state: what is to stand there.
        read_content: reads the content of a digest.

    Raises:
        OSError: it cannot be changed.
        OneClawError: the state is unknown, or its content is gone.
    """
    path = Path(name)
    if state.kind is Kind.UNKNOWN:
        raise OneClawError("its content was not kept")
    is_directory = path.is_dir() and not path.is_symlink()
    if state.kind is Kind.DIRECTORY:
        if not is_directory:
            path.unlink(missing_ok=True)
            path.mkdir(parents=True, exist_ok=True)
        path.chmod(state.mode)
        return
    if is_directory:
        try:
            path.rmdir()
        except OSError:
            if state.kind is Kind.NOTHING:
                return  # it holds what is not to be taken back
            raise
    elif state.kind is Kind.NOTHING:
        with suppress(NotADirectoryError):
            path.unlink(missing_ok=True)
    if state.kind is Kind.NOTHING:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    new = _new_path(path)
    try:
        new.unlink(missing_ok=True)
        if state.kind is Kind.LINK:
            new.symlink_to(state.content)
        else:
            _write(new, read_content(state.content), state.mode)
        new.replace(path)
    except (OSError, OneClawError):
        clean_up(name)
        raise


def _write(path: Path, content: bytes, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fchmod(stream.fileno(), mode)
        os.fsync(stream.fileno())


def _new_path(path: Path) -> Path:
    """Return where the file is made that takes the place of another; always the same, so that it is found again."""
    name = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
    return path.with_name(f".oneclaw-undo-{name}")


def clean_up(name: str) -> None:
    """Remove what a crash in the middle of :func:`put_back` left."""
    with suppress(OSError):
        _new_path(Path(name)).unlink()


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
