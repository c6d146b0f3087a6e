"""File locks between processes, which the operating system releases when a process ends."""

from __future__ import annotations

import asyncio
import fcntl
import os
from typing import TYPE_CHECKING

from oneclaw_core.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

_FIRST_PAUSE_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 0.1
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class HeldLock:
    """An acquired lock, see ``flock(2)``; the package filelock is slower."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def release(self) -> None:
        """Release the lock; releasing it again does nothing."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            # A process that was forked meanwhile has the file open, too.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)


async def acquire(path: Path, wait_seconds: float) -> HeldLock | None:
    """Acquire the lock of a file, unless another holder has it, in this process or another one.

    Args:
        path: the lock's file; it and its directory are made if missing, readable by their owner only, and stay.
        wait_seconds: how long to wait for another holder; 0 tries once.

    Returns:
        The lock, to be given back by its ``release``; ``None`` if somebody else still holds it.

    Raises:
        StoreError: the file cannot be made or locked.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + wait_seconds
    pause = _FIRST_PAUSE_SECONDS
    while True:
        try:
            lock = _try(path)
        except OSError as error:
            raise StoreError(
                f"the lock file {path} cannot be used ({error.strerror or error}): check the path and that this user "
                "may write there"
            ) from error
        remaining = deadline - loop.time()
        if lock is not None or not remaining > 0:
            return lock
        await asyncio.sleep(min(pause, remaining))
        pause = min(pause * 1.5, _LONGEST_PAUSE_SECONDS)


def _try(path: Path) -> HeldLock | None:
    try:
        descriptor = os.open(path, _FLAGS, 0o600)
    except FileNotFoundError:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, _FLAGS, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            return None
        raise
    return HeldLock(descriptor)
