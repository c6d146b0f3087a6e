"""Locks of sessions, which allow one turn of a session at a time.

Beside a SQLite database they are files, which the operating system unlocks when a process ends.

A server releases the lock of a session when the holder's connection is lost, while the holder may be alive. So
acquiring such a lock stores a new token in the session's row, and writes of a turn check that token. Lock files cannot
be lost, and have no tokens.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
from contextlib import suppress
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from oneclaw_core.errors import StoreError
from oneclaw_core.system.private_files import make_private_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from oneclaw_core.sessions.backend import Connection

Value = TypeVar("Value")

_FIRST_PAUSE_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 0.1
# A younger file may be about to be locked by a turn that would not wait.
_LEAST_AGE_SECONDS = 3_600
# Of sessions, and of processes with work in the background.
_OURS = r"(?:process-)?[0-9a-f]{32}\.lock"
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class HeldSession(NamedTuple):
    """An acquired lock of a session.

    Attributes:
        release: called once, from any thread.
        token: stored in the session's row until another holder acquires the lock, see
            above; ``None`` if the lock cannot be lost.
    """

    release: Callable[[], None]
    token: int | None = None


class SessionLocks(Protocol):
    """Locks of sessions between all processes that use a database."""

    async def acquire(self, session_id: str, wait_seconds: float) -> HeldSession | None:
        """Acquire the lock of a session, unless another holder has it, in this process or another one.

        Args:
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
    """Lock files in a directory that all processes share, see ``flock(2)``; the package filelock is slower.

    The files and their directory are made if missing, readable by their owner only. A file is removed when its lock is
    released; a process that is killed leaves one behind, see :func:`remove_unheld`.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def acquire(self, session_id: str, wait_seconds: float) -> HeldSession | None:
        """See :class:`SessionLocks`."""
        path = self._directory / f"{session_id}.lock"
        import asyncio  # listings import this module, and do without asyncio

        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait_seconds
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                descriptor = _try(path)
            except OSError as error:
                raise StoreError(
                    f"the lock file {path} cannot be used ({error.strerror or error}): check the path and that this "
                    "user may write there"
                ) from error
            if descriptor is not None:
                return HeldSession(partial(_release, descriptor, path))
            remaining = deadline - loop.time()
            if not remaining > 0:
                return None
            await asyncio.sleep(min(pause, remaining))
            pause = min(pause * 1.5, _LONGEST_PAUSE_SECONDS)

    async def close(self) -> None:
        """Do nothing: no file stays open."""


def remove_unheld(directory: Path) -> None:
    """Remove the lock files that killed processes, and versions before 0.3, have left behind."""
    latest = time.time() - _LEAST_AGE_SECONDS
    with suppress(OSError):
        for entry in list(os.scandir(directory)):
            if re.fullmatch(_OURS, entry.name) and entry.stat(follow_symlinks=False).st_mtime < latest:
                path = directory / entry.name
                if (descriptor := _try(path)) is not None:
                    _release(descriptor, path)


def _try(path: Path) -> int | None:
    """Return the descriptor of a lock file that is locked now, ``None`` if another holder has it."""
    directory = open_directory(path.parent)
    try:
        fcntl.flock(directory, fcntl.LOCK_SH | fcntl.LOCK_NB)
        while True:
            descriptor = os.open(path, _FLAGS, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_at(descriptor, path):
                    return descriptor
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)  # its holder has removed it since it was opened
    except BlockingIOError:
        return None
    finally:
        os.close(directory)


def open_directory(directory: Path) -> int:
    """Open a directory of lock files to lock it as a whole; it is made if it is missing."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY
    try:
        return os.open(directory, flags)
    except FileNotFoundError:
        make_private_directory(directory)
        return os.open(directory, flags)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


def _release(descriptor: int, path: Path) -> None:
    # It is removed while it is locked: a process that has opened it meanwhile finds another one there, or none.
    with suppress(OSError):
        if _is_at(descriptor, path):
            path.unlink()
    # A process that was forked meanwhile has the file open, too.
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def fenced(work: Callable[..., Value], token: int | None) -> Callable[..., Value]:
    """Return a function that writes to a session only while the session's row has a token.

    Args:
        work: writes to one session.
        token: of the lock under which it runs; ``None`` changes nothing.
    """
    if token is None:
        return work

    @wraps(work)
    def with_token(connection: Connection, *args: Any, **kwargs: Any) -> Value:
        connection.token = token
        try:
            return work(connection, *args, **kwargs)
        finally:
            connection.token = None

    return with_token


def update_own(connection: Connection, statement: str, parameters: Mapping[str, Any]) -> int:
    """Change the row of a session, unless another turn has its lock.

    Args:
        statement: an ``UPDATE`` of ``sessions`` that ends with the condition which finds the row.
        parameters: by the names in the statement.

    Returns:
        How many rows were changed.
    """
    if connection.token is None:
        return connection.execute(statement, parameters).rowcount
    own = f"{statement} AND lock_token = :token"
    return connection.execute(own, {**parameters, "token": connection.token}).rowcount
