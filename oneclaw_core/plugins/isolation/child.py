"""The child's side: keeps its channel to the parent out of the plugin's way, and does what it was asked to.

Only child processes import this module and those that it starts.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from importlib import import_module
from json import dumps  # as it is before a plugin changes it
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SHOWN_CHARACTERS = 300
MAX_FILE_BYTES = 256 * 1024 * 1024


class Channel:
    """Sends messages to the parent on what was standard output, and keeps what the plugin prints there."""

    def __init__(self) -> None:
        self._answers = os.dup(1)
        self._end_of_parent = os.dup(0)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115  # until the process ends
        os.dup2(self._printed.fileno(), 1)
        self._read = 0
        self._lock = threading.Lock()
        threading.Thread(target=self._end_with_parent, name="oneclaw check", daemon=True).start()

    def send(self, message: Mapping[str, Any]) -> None:
        """Tell the parent something."""
        data = dumps(message).encode() + b"\n"
        with self._lock:
            while data:
                data = data[os.write(self._answers, data) :]

    def printed(self) -> str:
        """The beginning of what was printed since this was last asked."""
        with suppress(AttributeError, OSError, ValueError):  # the plugin has replaced or closed it
            sys.stdout.flush()
        size = os.fstat(self._printed.fileno()).st_size
        text = os.pread(self._printed.fileno(), min(size - self._read, SHOWN_CHARACTERS), self._read)
        self._read = size
        return text.decode("utf-8", "replace")

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Tell that a step begins and ends; see :class:`oneclaw_core.conformance.facts.StepFacts`."""
        from oneclaw_core.plugins.isolation.process_state import ProcessState

        self.printed()
        before = ProcessState.now()
        self.send({"begin": name})
        # In the midst of what `-X importtime` writes there.
        os.write(2, f"\noneclaw check: begin {name}\n".encode())
        started = time.perf_counter()
        try:
            yield
        finally:
            milliseconds = (time.perf_counter() - started) * 1000
            os.write(2, f"\noneclaw check: end {name}\n".encode())
            changes = before.changes()
            self.send({"end": name, "milliseconds": milliseconds, "printed": self.printed(), "changes": changes})

    def _end_with_parent(self) -> NoReturn:
        os.read(self._end_of_parent, 1)  # nothing ever comes but the end
        if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
            os.killpg(os.getpid(), signal.SIGKILL)
        os._exit(1)


def serve(request: Mapping[str, Any]) -> NoReturn:
    """Do one task, and end the process without waiting for threads."""
    _limit_files()
    channel = Channel()
    try:
        _do(request, channel)
        channel.send({"done": True})
    except BaseException as error:  # noqa: BLE001  # the parent has to know why
        channel.send({"failed": f"{type(error).__name__}: {error}"})
    os._exit(0)


def _limit_files() -> None:
    """Keep a plugin that prints without end from filling the disk."""
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_FILE_BYTES, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _do(request: Mapping[str, Any], channel: Channel) -> None:
    module, _, function = str(request["task"]).partition(":")
    getattr(import_module(module), function)(request, channel)
