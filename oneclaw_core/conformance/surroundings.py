"""What a plugin shares with the whole process, and whether it changed it."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from dataclasses import dataclass
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The state of the process that all plugins and the program share.

    Attributes:
        directory: the current one.
        environ: the environment.
        logging_state: the root logger's handlers and level.
        signal_handlers: of the signals that end the program.
        streams: standard output and error.
        hook: what shows exceptions that nobody catches.
        threads: the names of all that run.
    """

    directory: str
    environ: dict[str, str]
    logging_state: tuple[int, int]
    signal_handlers: tuple[Any, ...]
    streams: tuple[int, int]
    hook: int
    threads: frozenset[str]

    @classmethod
    def now(cls) -> Surroundings:
        """Look at them."""
        try:
            directory = os.getcwd()  # noqa: PTH109  # as text, which nothing can intercept
        except OSError:
            directory = ""
        return cls(
            directory,
            dict(os.environ),
            (len(logging.getLogger().handlers), logging.getLogger().level),
            tuple(signal.getsignal(each) for each in _SIGNALS),
            (id(sys.stdout), id(sys.stderr)),
            id(sys.excepthook),
            frozenset(f"{each.name}" for each in threading.enumerate() if not each.name.startswith("oneclaw ")),
        )

    def changes(self) -> list[str]:
        """Say what is different now, each in a few words; never a value of the environment."""
        now = Surroundings.now()
        changed = {name for name, value in now.environ.items() if self.environ.get(name) != value}
        names = sorted(changed | (self.environ.keys() - now.environ.keys()))
        found = {
            "the current directory": self.directory != now.directory,
            f"environment variables ({', '.join(names[:5])})": bool(names),
            "the root logger": self.logging_state != now.logging_state,
            "the handlers of signals": self.signal_handlers != now.signal_handlers,
            "sys.stdout or sys.stderr": self.streams != now.streams,
            "sys.excepthook": self.hook != now.hook,
            f"threads were started ({', '.join(sorted(now.threads - self.threads)[:3])})": bool(
                now.threads - self.threads
            ),
        }
        return [what for what, is_changed in found.items() if is_changed]
