"""What keeps two turns of a session apart: files beside a SQLite database, or else locks of the server's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from oneclaw_core.sessions import locks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class HeldSession:
    """The lock of a session that was taken.

    Attributes:
        release: called once, from any thread.
        token: what the session's row bears until somebody else takes the lock, see :mod:`oneclaw_core.sessions.fences`;
            ``None`` where nobody else can before it is given back.
    """

    release: Callable[[], None]
    token: int | None = None


class SessionLocks(Protocol):
    """Locks of sessions between all processes that use a database."""

    async def acquire(self, session_id: str, wait_seconds: float) -> HeldSession | None:
        """Take the lock of a session, which any other holder excludes, in this process too.

        Args:
            session_id: the session.
            wait_seconds: how long to wait for another holder; 0 tries once.

        Returns:
            The lock; ``None`` if somebody else still holds it.

        Raises:
            StoreError: locks cannot be used.
        """
        ...

    async def close(self) -> None:
        """Give up what is open; more than once does no harm."""
        ...


class FileLocks:
    """Files in a directory, which all processes that use the database share."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def acquire(self, session_id: str, wait_seconds: float) -> HeldSession | None:
        """See :class:`SessionLocks`."""
        lock = await locks.acquire(self._directory / f"{session_id}.lock", wait_seconds)
        return None if lock is None else HeldSession(lock.release)

    async def close(self) -> None:
        """Nothing is open."""
