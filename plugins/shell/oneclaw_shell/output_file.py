"""The output of a command in a file of bounded size."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES = 4 * 1024 * 1024


class OutputFile:
    """Takes an output piece by piece; of one that is too long, the end is kept.

    Args:
        path: of the file, in a directory that is there.
        max_bytes: how much is kept at most.

    Attributes:
        dropped: how many bytes of the beginning are gone.
    """

    def __init__(self, path: Path, max_bytes: int = MAX_BYTES) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._size = 0
        self.dropped = 0
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)

    def feed(self, piece: bytes) -> None:
        """Write the next bytes; those that find no room on the disk are dropped."""
        written = 0
        with suppress(OSError):
            while written < len(piece):
                written += os.write(self._file, piece[written:])
        self._size += written
        if self._size > self._max_bytes:
            self._drop_beginning()

    def close(self) -> None:
        """Close the file; closing again does nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _drop_beginning(self) -> None:
        kept = os.pread(self._file, self._max_bytes // 2, self._size - self._max_bytes // 2)
        os.ftruncate(self._file, 0)
        os.lseek(self._file, 0, os.SEEK_SET)
        os.write(self._file, kept)
        self.dropped += self._size - len(kept)
        self._size = len(kept)


def read_output(path: Path, dropped: int, start: int) -> tuple[bytes, int, int]:
    """Read an output from a place on.

    Args:
        path: of the file.
        dropped: how many bytes of the beginning are gone.
        start: how many bytes of the whole output to leave out.

    Returns:
        The bytes, how many between the place and them are gone, and where the output ends.
    """
    try:
        kept = path.read_bytes()
    except FileNotFoundError:
        return b"", 0, start
    skipped = max(start - dropped, 0)
    return kept[skipped:], max(dropped - start, 0), dropped + len(kept)
