"""The files in the folder of the user's tools.

This runs before each model request and has to be fast: paths are texts, and nothing is read.
"""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

from oneclaw_core.files import FileStamp

SUFFIXES = ("json", "js", "py")
COMMIT_SUFFIX = ".commit"
MAX_FILES = 2_000


class Listing(NamedTuple):
    """The folder as it is now.

    Attributes:
        files: names with what changes when the file does, in alphabetical order; at most ``MAX_FILES``.
        commits: changes that were made, and whose files are still to be put into their places.
        is_cut: whether there are more files.
    """

    files: tuple[tuple[str, FileStamp], ...] = ()
    commits: tuple[str, ...] = ()
    is_cut: bool = False

    @property
    def is_settled(self) -> bool:
        """True if every change from now on would show in a stamp."""
        return all(stamp.is_settled for _, stamp in self.files)


class UnreadableFileError(Exception):
    """A file cannot be read; the message says why."""


def list_files(folder: str) -> Listing:
    """Look at the folder; hidden files, and those whose names begin with ``_``, are left out.

    Args:
        folder: its path; it may be missing.
    """
    files: list[tuple[str, FileStamp]] = []
    commits: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                name = entry.name
                if name.startswith((".", "_")):
                    if name.startswith(".") and name.endswith(COMMIT_SUFFIX):
                        commits.append(name)
                elif name.rpartition(".")[2] in SUFFIXES and "." in name[1:]:
                    files.append((name, _stamp_of(entry)))
    except OSError:  # not there, or no directory
        return Listing()
    files.sort()
    return Listing(tuple(files[:MAX_FILES]), tuple(sorted(commits)), len(files) > MAX_FILES)


def read_file(path: str, max_bytes: int) -> bytes:
    """Read a file without waiting for anything.

    Args:
        path: the file.
        max_bytes: how long it may be.

    Raises:
        FileNotFoundError: there is none.
        UnreadableFileError: it cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise UnreadableFileError("is not a file")
            content = stream.read(max_bytes + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(path) from None
    except (OSError, ValueError) as error:
        raise UnreadableFileError(f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(content) > max_bytes:
        raise UnreadableFileError(f"is larger than {max_bytes:,} bytes")
    return content


def _stamp_of(entry: os.DirEntry[str]) -> FileStamp:
    try:
        found = entry.stat()
    except OSError:  # gone, or a link to nowhere: reading says so
        return FileStamp()
    return FileStamp.of(found)
