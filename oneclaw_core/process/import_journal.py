"""The journal of imports, by which the next process knows a plugin that ended the program.

A process that runs a plugin's code for the first time holds a lock on the file, and writes down which plugin it is. The
operating system releases the lock however the process ends: a file that is not empty while its lock is free names the
plugin whose code ended the process. A process that ends by itself empties the file.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from oneclaw_core.system.private_files import make_private_directory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WAIT_SECONDS = 60.0
"""The longest time that a process waits for another one that imports new plugins."""
_MAX_BYTES = 16_384


class Journal:
    """The file of one environment.

    Args:
        path: the file; ``None`` for nowhere, which notes nothing.

    Attributes:
        path: the same.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._descriptor: int | None = None
        self._process = os.getpid()

    @contextmanager
    def held(self, *, is_waiting: bool = True) -> Iterator[Journal]:
        """Hold the lock; without a place for the file, or while another process holds it too long, go on without.

        Args:
            is_waiting: False to go on at once while another process holds it.
        """
        self._open(WAIT_SECONDS if is_waiting else 0)
        atexit.register(self._empty)  # Ctrl-C in another thread blames no plugin
        try:
            yield self
        finally:
            atexit.unregister(self._empty)
            self._empty()

    def left_behind(self) -> str:
        """Return the key of the plugin whose code ended a process, ``""`` if there is none."""
        try:
            if self.path is None or self._descriptor is not None or not self.path.stat().st_size:
                return ""
        except OSError:
            return ""
        self._open(0)
        if self._descriptor is None:
            return ""  # its process lives
        _, key = self._noted(self._descriptor)
        self._empty()
        return key

    def note(self, key: str) -> None:
        """Write down the plugin whose code runs next; ``""`` for none."""
        self._write(f"{self._process}\n{key}".encode("utf-8", "replace")[:_MAX_BYTES])

    def _write(self, content: bytes) -> None:
        if self._descriptor is not None:
            with suppress(OSError):
                os.ftruncate(self._descriptor, 0)
                os.pwrite(self._descriptor, content, 0)

    def _open(self, seconds: float) -> None:
        if self.path is None:
            return
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            make_private_directory(self.path.parent)
            descriptor = os.open(self.path, flags, 0o600)
        except OSError:
            return
        deadline = time.monotonic() + seconds
        while True:
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            process, _ = self._noted(descriptor)
            if process and not _is_alive(process):
                break  # a process that a plugin forked still holds the lock
            if time.monotonic() >= deadline:
                os.close(descriptor)
                return
            time.sleep(0.05)
        self._descriptor = descriptor

    def _noted(self, descriptor: int) -> tuple[int, str]:
        """Read the process that wrote the note, and the key."""
        number, _, key = os.pread(descriptor, _MAX_BYTES, 0).decode("utf-8", "replace").partition("\n")
        return (int(number) if number.isdecimal() else 0), key

    def _empty(self) -> None:
        """Empty the file and release the lock, also for a process that a plugin forked; that one itself does not."""
        if self._descriptor is None or os.getpid() != self._process:
            return
        self._write(b"")
        with suppress(OSError):
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
            os.close(self._descriptor)
        self._descriptor = None


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
