"""States of files as a session saw them last, so that no tool writes over a change that it has not seen."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field
from hashlib import blake2b
from threading import RLock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# The content of larger files is not compared, but their size and time.
_COMPARED_BYTES = 10_000_000
_DIGEST_BYTES = 12
# Of one call: what a result keeps.
MOST_VIEWS = 100


class FileChangedError(OSError):
    """Something other than the session changed a file after the session read it."""

    def __init__(self) -> None:
        super().__init__(errno.ESTALE, "it was changed since you read it last: read it again, then change it")


@dataclass(slots=True)
class FileViews:
    """The state of each file as a session read or wrote it last. A file that it never read has none.

    Attributes:
        known: the states by path, shared by the calls of a session.
        noted: those that this call adds.
        writing: held from comparing a file until its new state is noted, so that parallel calls do not see the file of
            one and the state of another.
    """

    known: dict[str, str] = field(default_factory=dict)
    noted: dict[str, str] = field(default_factory=dict)
    writing: RLock = field(default_factory=RLock, repr=False, compare=False)

    def __reduce__(self) -> tuple[type[FileViews], tuple[dict[str, str]]]:
        """Give another process the states; it adds its own."""
        return FileViews, (dict(self.known),)

    def of_call(self) -> FileViews:
        """Return the views for one call."""
        return FileViews(self.known, writing=self.writing)

    def note(self, path: Path, descriptor: int) -> None:
        """Note the state of a file that was read or written.

        Args:
            path: absolute, without symbolic links.
            descriptor: of the open file; its position does not change.
        """
        if len(self.noted) < MOST_VIEWS:
            self.add({str(path): _state(descriptor)})

    def add(self, views: Mapping[str, str]) -> None:
        """Take over views, such as those of a worker process."""
        self.noted.update(views)
        self.known.update(views)

    def check(self, path: Path, descriptor: int) -> None:
        """Compare a file that is about to be written with what the session has seen of it.

        Raises:
            FileChangedError: it is different.
        """
        seen = self.known.get(str(path))
        if seen is not None and seen != _state(descriptor):
            raise FileChangedError


def _state(descriptor: int) -> str:
    """Describe the content of an open file: by its digest, or by its size and time if it is large."""
    found = os.fstat(descriptor)
    if found.st_size > _COMPARED_BYTES:
        return f"{found.st_size}:{found.st_mtime_ns}"
    digest = blake2b(digest_size=_DIGEST_BYTES)
    place = 0
    while part := os.pread(descriptor, 1 << 20, place):
        digest.update(part)
        place += len(part)
        if place > _COMPARED_BYTES:  # it grows meanwhile
            break
    return digest.hexdigest()
