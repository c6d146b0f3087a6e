"""The log file in the home, which several processes append to at the same time."""

from __future__ import annotations

import logging
import os
from logging.handlers import RotatingFileHandler
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MAX_FILE_BYTES = 1_000_000
OLD_FILES = 2

_FORMAT = "%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"


class LogFile(RotatingFileHandler):
    """Appends to a file that its owner alone may read.

    Args:
        path: the file; its directory is there.

    Attributes:
        works: False once it could not be written.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, maxBytes=MAX_FILE_BYTES, backupCount=OLD_FILES, errors="replace", delay=True)
        self._path, self.works = path, True
        self.setFormatter(logging.Formatter(_FORMAT))

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record.

        Raises:
            OSError: it cannot be looked at.
        """
        # Another process may have rotated it: what is written behind a file's name is soon deleted.
        if self.stream is not None and not _is_at(self.stream, self._path):
            self.stream.close()
            self.stream = None  # opened by the base class
        super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # the base class's name
        """Note that nothing more can be written."""
        self.works = False

    def _open(self) -> IO[str]:  # type: ignore[override]  # more particular than it needs
        # Python's own way to set the mode of a new file; the handler closes it.
        return open(self.baseFilename, self.mode, encoding="utf-8", errors=self.errors, opener=_private)


def _is_at(file: IO[str], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
