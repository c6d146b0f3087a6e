"""The child's side of a probe: keeps its channel to the parent away from foreign code, and runs the task."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from importlib import import_module
from json import dumps  # as it is before a plugin changes it
from typing import TYPE_CHECKING, Any, NoReturn

from oneclaw_core.process.process_state import ProcessState
from oneclaw_core.process.python_worker import write_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SHOWN_CHARACTERS = 300
MAX_FILE_BYTES = 256 * 1024 * 1024


class Channel:
    """Sends messages to the parent on what was standard output, and captures what the plugin prints there."""

    def __init__(self) -> None:
        self._answers = os.dup(1)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115  # until the process ends
        os.dup2(self._printed.fileno(), 1)
        self._read = 0
        self._lock = threading.Lock()

    def send(self, message: Mapping[str, Any]) -> None:
        """Tell the parent something."""
        data = dumps(message).encode() + b"\n"
        with self._lock:
            write_all(self._answers, data)

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
        """Tell that a step begins and ends."""
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


def serve() -> NoReturn:
    """Run the task of the request file, and end the process without waiting for threads."""
    with open(sys.argv[1], encoding="utf-8") as stream:  # noqa: PTH123
        request = json.load(stream)
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
