"""Locks of sessions, which allow one turn of a session at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from oneclaw_core.sessions import locks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class HeldSession:
    """An acquired lock of a session.

    Attributes:
        release: called once, from any thread.
        token: stored in the session's row until another holder acquires the lock, see
            :mod:`oneclaw_core.sessions.fences`; ``None`` if the lock cannot be lost.
    """

    release: Callable[[], None]
    token: int | None = None


class SessionLocks(Protocol):
    """Locks of sessions between all processes that use a database."""

    async def acquire(self, session_id: str, wait_seconds: float) -> HeldSession | None:
        """Acquire the lock of a session, unless another holder has it, in this process or another one.

        Args:
            session_id: the session.
            wait_seconds: how long to wait for another holder; 0 tries once.

        Returns:
            The lock; ``None`` if another holder still has it.

        Raises:
            StoreError: locks cannot be used.
        """
        ...

    async def close(self) -> None:
        """Release all locks; closing again does nothing."""
        ...


class FileLocks:
    """Lock files in a directory that all processes share."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def acquire(self, session_id: str, wait_seconds: float) -> HeldSession | None:
        """See :class:`SessionLocks`."""
        lock = await locks.acquire(self._directory / f"{session_id}.lock", wait_seconds)
        return None if lock is None else HeldSession(lock.release)

    async def close(self) -> None:
        """Do nothing: no file stays open."""
