"""Processes that record calls or carry out an undo, known again by their number and when they began."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

# Behind the name of the program in /proc/PID/stat, which can hold anything: the 22nd field of all.
_BEGAN = 19


@dataclass(frozen=True, slots=True)
class Process:
    """A process of this machine.

    Attributes:
        number: its process id; 0 if it is not known.
        began: when it began, by the clock of the system; empty where the system does not say.
    """

    number: int = 0
    began: str = ""

    @property
    def is_other_and_runs(self) -> bool:
        """True if it is another process than this one, and runs."""
        if self.number in (0, os.getpid()):
            return False
        try:
            os.kill(self.number, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass  # it is another user's
        # The system gives the number of a process that has ended to a new one.
        return not self.began or _began(self.number) in ("", self.began)


def this_process() -> Process:
    """Return the process that runs this."""
    return Process(os.getpid(), _began(os.getpid()))


def _began(number: int) -> str:
    try:
        fields = Path(f"/proc/{number}/stat").read_bytes().rpartition(b")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""
    return f"{boot} {fields[_BEGAN].decode()}"
