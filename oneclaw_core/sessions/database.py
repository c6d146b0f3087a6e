"""Run transactions on worker threads and await them from the event loop.

A transaction is a plain function that takes a connection and returns a value. It runs on one thread as a whole:
changing threads for every statement, as an asynchronous driver does, is several times slower.

The backend decides the number of threads, see :class:`oneclaw_core.sessions.backend.Backend`. Each thread keeps one
connection, so that the threads are the pool.

A write returns after its commit.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from oneclaw_core.errors import OneClawError, StoreError
from oneclaw_core.sessions.backend import Backend, Connection, damaged_value, explaining

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Self

Value = TypeVar("Value")

_TRIES = 8
_FIRST_PAUSE_SECONDS = 0.005
# What our own code raises when it gets a number for a text, or the like.
_OF_WRONG_VALUES = (TypeError, AttributeError, ValueError, OverflowError)


class Database:
    """An open database, returned by :meth:`open`.

    Attributes:
        backend: what kind it is, and where.
        is_read_only: True if nothing is written.
    """

    def __init__(self, backend: Backend, *, threads: int | None = None, is_read_only: bool = False) -> None:
        self.backend = backend
        self.is_read_only = is_read_only
        threads = threads or backend.threads
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="oneclaw-store")
        self._release: Callable[[], None] | None = None
        # Each thread keeps its connection.
        self._of_thread = threading.local()
        self._connections: list[Connection] = []
        # The transactions of cancelled tasks that go on.
        self._abandoned: set[Future[Any]] = set()

    @classmethod
    async def open(cls, backend: Backend, *, lock_directory: Path | None = None, is_read_only: bool = False) -> Self:
        """Open a database, create it if it is missing, and migrate it to the current schema.

        Args:
            backend: what kind it is, and where.
            lock_directory: for the lock that keeps it from being replaced while it is open; ``None`` for no lock.
            is_read_only: True to change nothing in an existing database, which may be in a read-only directory.

        Raises:
            StoreVersionError: a newer OneClaw wrote it, or an older one and it is not to be changed.
            StoreDamagedError: it is damaged, or another program's.
            StoreError: it cannot be opened; the message says what to do.
        """
        database = cls(backend, is_read_only=is_read_only)
        try:
            await database._in_thread(lambda: database._prepare(lock_directory))
        except BaseException:
            await database.close()
            raise
        return database

    async def read(self, work: Callable[..., Value], *args: Any, **kwargs: Any) -> Value:
        """Run a function that only reads, in a transaction that sees one state of the database throughout.

        Args:
            work: called with a connection and the other arguments.

        Returns:
            What ``work`` returns.

        Raises:
            StoreError: the database cannot be read, in its finer kinds.
        """
        return await self._in_thread(lambda: self._transact(lambda it: work(it, *args, **kwargs), writes=False))

    async def write(self, work: Callable[..., Value], *args: Any, **kwargs: Any) -> Value:
        """Run a function in a transaction that no other writer can interfere with.

        Cancelling the waiting task does not stop it. Where a database runs several such transactions at a time, the
        function itself locks what it is about, see :meth:`oneclaw_core.sessions.backend.Connection.lock`.

        Args:
            work: called with a connection and the other arguments. If it raises, nothing of it is stored; it may be
                run again when another transaction stood in the way.

        Returns:
            What ``work`` returns.

        Raises:
            StoreError: nothing was stored; the message says why and what to do.
        """
        return await self._in_thread(lambda: self._transact(lambda it: work(it, *args, **kwargs), writes=True))

    def when_settled(self, then: Callable[[], None]) -> None:
        """Call a function after the transactions of cancelled tasks.

        Args:
            then: called at once, or later in any thread.
        """
        left = [each for each in tuple(self._abandoned) if not each.done()]
        if left:
            left[0].add_done_callback(lambda _: self.when_settled(then))
        else:
            then()

    async def close(self) -> None:
        """Wait for open transactions and close the connections; closing again does nothing."""
        await asyncio.to_thread(self._shut_down)

    async def _in_thread(self, work: Callable[[], Value]) -> Value:
        try:
            job = self._threads.submit(work)
        except RuntimeError:
            raise StoreError(f"the database {self.backend.name} is closed: open it again") from None
        try:
            return await asyncio.shield(asyncio.wrap_future(job))
        except asyncio.CancelledError:
            # A cancelled task leaves its transaction in the queue.
            if not job.done():
                self._abandoned.add(job)
                job.add_done_callback(self._abandoned.discard)
            raise

    def _transact(self, work: Callable[[Connection], Value], *, writes: bool) -> Value:
        pause_seconds = _FIRST_PAUSE_SECONDS
        for tries_left in range(_TRIES - 1, -1, -1):
            try:
                return self._try(work, writes=writes)
            except self.backend.driver_errors as error:
                if not tries_left or not self.backend.is_transient(error):
                    raise self.backend.explain(error) from error
            except OneClawError:
                raise  # says by itself what is wrong
            except _OF_WRONG_VALUES as error:
                if self._has_invalid_values():
                    raise damaged_value() from error
                raise
            # Those that stood in each other's way are not to do so again.
            time.sleep(pause_seconds * random.random())  # noqa: S311  # nothing secret
            pause_seconds *= 2
        raise AssertionError("unreachable")

    def _try(self, work: Callable[[Connection], Value], *, writes: bool) -> Value:
        connection = self._connection_of_thread()
        try:
            connection.begin(writes=writes)
            value = work(connection)
            connection.commit()
        except BaseException:
            self._undo(connection)
            raise
        return value

    def _undo(self, connection: Connection) -> None:
        """Roll back, or close a connection that cannot."""
        try:
            connection.rollback()
        except self.backend.driver_errors:
            self._of_thread.connection = None
            self._connections.remove(connection)
            connection.close()

    def _has_invalid_values(self) -> bool:
        with explaining(self.backend):
            connection = self._connection_of_thread()
            with connection.transaction(writes=False):
                return self.backend.has_invalid_values(connection)

    def _connection_of_thread(self) -> Connection:
        connection: Connection | None = getattr(self._of_thread, "connection", None)
        if connection is not None:
            return connection
        return self._keep(self.backend.connect_read_only() if self.is_read_only else self.backend.connect())

    def _keep(self, connection: Connection) -> Connection:
        self._of_thread.connection = connection
        self._connections.append(connection)
        return connection

    def _prepare(self, lock_directory: Path | None) -> None:
        if self.is_read_only:
            lock_directory = None
        # Beside a database that is not OneClaw's, no directory is made.
        if lock_directory is not None and lock_directory.is_dir():
            self._release = self.backend.hold_open(lock_directory)
        with explaining(self.backend):
            self._keep(self.backend.prepare_read_only() if self.is_read_only else self.backend.prepare())
        if lock_directory is not None and self._release is None:
            self._release = self.backend.hold_open(lock_directory)

    def _shut_down(self) -> None:
        self._threads.shutdown()
        while self._connections:
            self._connections.pop().close()
        if self._release is not None:
            self._release()
            self._release = None
