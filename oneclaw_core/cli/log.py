"""Log records of one run of the program: all go to the log in the home, warnings to stderr as well."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from oneclaw_core.cli.output import warn
from oneclaw_core.errors import OneClawError
from oneclaw_core.secrets.redaction import SecretFilter
from oneclaw_core.system.home import find_home
from oneclaw_core.system.private_files import make_private_directory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from oneclaw_core.cli.log_file import LogFile


class HomeLog(logging.Handler):
    """Appends to the log file, which is made, readable by its owner alone, when there is something to write.

    That the file cannot be written stops nothing.

    The home is found when something is logged, for options can choose another one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.works = True
        self._file: LogFile | None = None
        self.addFilter(SecretFilter())

    @cached_property
    def path(self) -> Path | None:
        """The file; ``None`` if there is no place for it."""
        try:
            return find_home().log_file
        except OneClawError:
            # A command that needs the home says so itself.
            self.works = False
            return None

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        if not self.works or self.path is None:
            return
        if record.levelno < logging.INFO and self._file is None and not self.path.parent.exists():
            return  # details alone are no reason to make a home
        try:
            make_private_directory(self.path.parent)  # and the home itself, if it is not there yet
            if self._file is None:
                from oneclaw_core.cli.log_file import LogFile  # most commands log nothing

                self._file = LogFile(self.path)
            self._file.emit(record)
            self.works = self._file.works
        except OSError:
            self.works = False

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
        super().close()


class WarningLines(logging.Handler):
    """Shows warnings on stderr, a line each.

    Errors are not shown: the code that logs one also raises it, or makes it a tool's result. A problem of a plugin is
    shown once: the search for a plugin's command finds it, and so does the command when it opens the home.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._shown: set[str] = set()
        self.addFilter(SecretFilter())
        self.addFilter(lambda record: record.levelno == logging.WARNING)

    def emit(self, record: logging.LogRecord) -> None:
        """Show a warning."""
        message = record.getMessage()
        if getattr(record, "is_shown_once", False):
            if message in self._shown:
                return
            self._shown.add(message)
        try:
            warn(message)
        except OSError:
            # stderr is gone; the log in the home has the record.
            return


@contextmanager
def logging_to_home() -> Iterator[HomeLog]:
    """Send what is logged under ``oneclaw`` where it belongs, until the end of the block."""
    logger = logging.getLogger("oneclaw")
    log, warnings = HomeLog(), WarningLines()
    level, propagate = logger.level, logger.propagate
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    logger.addHandler(log)
    logger.addHandler(warnings)
    try:
        yield log
    finally:
        for handler in (log, warnings):
            logger.removeHandler(handler)
            handler.close()
        logger.setLevel(level)
        logger.propagate = propagate
