"""Locks between processes, which the operating system releases when a process ends, however it ends."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from oneclaw_core.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

    from filelock import BaseFileLock

_FIRST_PAUSE_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 0.1


async def acquire(path: Path, wait_seconds: float) -> BaseFileLock | None:
    """Take a lock, which any other holder of the same file excludes, in this process too.

    Args:
        path: the lock's file; it and its directory are made if missing, readable by their owner only, and stay.
        wait_seconds: how long to wait for another holder; 0 tries once.

    Returns:
        The lock, to be given back by its ``release``; ``None`` if somebody else still holds it.

    Raises:
        StoreError: the file cannot be made or locked.
    """
    from filelock import FileLock, Timeout

    loop = asyncio.get_running_loop()
    deadline = loop.time() + wait_seconds
    pause = _FIRST_PAUSE_SECONDS
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = FileLock(path, mode=0o600, thread_local=False)
        while True:
            try:
                lock.acquire(blocking=False)
            except Timeout:
                remaining = deadline - loop.time()
                if not remaining > 0:
                    return None
            else:
                return lock
            await asyncio.sleep(min(pause, remaining))
            pause = min(pause * 1.5, _LONGEST_PAUSE_SECONDS)
    except (OSError, NotImplementedError) as error:
        # filelock's Timeout is an OSError too, but does not come this far.
        reason = getattr(error, "strerror", None) or str(error)
        raise StoreError(
            f"the lock file {path} cannot be used ({reason}): check the path and that this user may write there"
        ) from error
