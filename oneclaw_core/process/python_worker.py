"""Run a function in the process that :func:`oneclaw_core.process.python_process` starts.

The process ends with its parent, however the parent ends: a thread waits until standard input is closed, and kills the
process with everything that it has started.

A process without site packages imports this module by itself, so it imports nothing that takes time.
"""

from __future__ import annotations

import _thread
import os
import select
import sys

TYPE_CHECKING = False
if TYPE_CHECKING or __package__:
    from oneclaw_core.process.descendants import adopt_orphans, kill_descendants, kill_group
else:
    from descendants import adopt_orphans, kill_descendants, kill_group


def main() -> None:
    """Call the function that the command line names; see :func:`oneclaw_core.process.python_process`."""
    target = sys.argv.pop(1)
    if __package__:
        adopt_orphans()
    _thread.start_new_thread(_end_with_parent, (os.dup(0) if __package__ else 0,))
    module, _, function = target.partition(":")
    __import__(module)
    getattr(sys.modules[module], function)()


def take_pipes() -> tuple[int, int]:
    """Take the pipes to the parent away from standard input and output, which then read and write nothing.

    A tool, C code or a child process may use the standard streams; that must not disturb the conversation.

    Returns:
        The descriptors to read from and to write to.
    """
    reading, writing = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)
    return reading, writing


def read_exactly(descriptor: int, length: int) -> bytes:
    """Read a number of bytes; end the process if the parent has closed the pipe."""
    data = bytearray()
    while len(data) < length:
        piece = os.read(descriptor, min(length - len(data), 1 << 20))
        if not piece:
            raise SystemExit(1)
        data += piece
    return bytes(data)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of some data."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _end_with_parent(descriptor: int) -> None:
    poll = select.poll()
    poll.register(descriptor, 0)  # a hang-up is always reported
    poll.poll()
    kill_descendants(os.getpid())
    if os.getpgrp() == os.getpid():
        kill_group(os.getpid())
    os._exit(1)
