"""Run transactions on worker threads and await them from the event loop.

A transaction is a plain function that takes a connection and returns a value. It runs on one thread as a whole:
changing threads for every statement, as an asynchronous driver does, is several times slower.

The backend decides the number of threads, see :class:`oneclaw_core.sessions.backend.Backend`. Each thread keeps one
connection, so that the threads are the pool.

With one thread, the writes that wait for it are committed together, and the tasks that wait are woken together, which
makes concurrent sessions faster. A write returns after its commit.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from oneclaw_core.errors import OneClawError, StoreError
from oneclaw_core.sessions.backend import explaining
from oneclaw_core.sessions.connection import damaged_value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import Self

    from oneclaw_core.sessions.backend import Backend
    from oneclaw_core.sessions.connection import Connection

    Arguments = ParamSpec("Arguments")

Value = TypeVar("Value")

_TRIES = 8
_FIRST_PAUSE_SECONDS = 0.005
# Few enough that none waits long for the others.
_MOST_WRITES_TOGETHER = 32
_MOST_READS_TOGETHER = 8
# Then two are left to the thread, which waits for the disk: the first moves the log into the database file, and the
# second begins the log anew.
_MOST_OWN_WRITES = 250
# What our own code raises when it gets a number for a text, or the like.
_OF_WRONG_VALUES = (TypeError, AttributeError, ValueError, OverflowError)


class _Job:
    """Work that waits for a thread, or has run there.

    Attributes:
        work: a write takes the connection, anything else nothing.
        loop: of the task that waits.
        outcome: awaited by it.
        is_done: True if it has run; then one of the two following is its result.
        settled: set once it has run, if the task that waited was cancelled.
    """

    __slots__ = ("error", "is_done", "loop", "outcome", "settled", "value", "work")

    def __init__(self, work: Callable[..., Any]) -> None:
        self.work = work
        self.loop = asyncio.get_running_loop()
        self.outcome: asyncio.Future[Any] = self.loop.create_future()
        self.is_done = False
        self.value: Any = None
        self.error: BaseException | None = None
        self.settled: Future[None] | None = None


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
        # Of the event loop's own thread, made at the first use.
        self._own: Connection | None = None
        self._has_own = not is_read_only
        self._own_writes = 0
        # By function, what it read last, with the version of the data before.
        self._kept: dict[Callable[[Connection], Any], tuple[int, Any]] = {}
        self._own_thread = threading.get_ident()
        self._abandoned: set[Future[None]] = set()
        self._are_writes_grouped = threads == 1
        # What waits for a thread. A thread that runs takes more until nothing is left.
        self._guard = threading.Lock()
        self._most_running = threads
        self._running = 0
        self._writes: deque[_Job] = deque()
        self._others: deque[_Job] = deque()

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

    async def read(
        self,
        work: Callable[Concatenate[Connection, Arguments], Value],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Value:
        """Run a function that only reads, in a transaction that sees one state of the database throughout.

        Returns:
            What ``work`` returns.

        Raises:
            StoreError: the database cannot be read, in its finer kinds.
        """
        return await self._in_thread(lambda: self._transact(lambda it: work(it, *args, **kwargs), writes=False))

    async def read_now(self, work: Callable[[Connection], Value]) -> Value:
        """Read a few rows, in the thread of the event loop if that waits for nothing, else as :meth:`read`.

        Raises:
            StoreError: the database cannot be read, in its finer kinds.
        """
        own = self._own_connection()
        if own is not None:
            try:
                with own.transaction(writes=False):
                    return work(own)
            except self.backend.driver_errors + _OF_WRONG_VALUES:
                # Another connection writes the first page, or something is wrong, which what follows says.
                self._close_own()
        return await self.read(work)

    async def read_kept(self, work: Callable[[Connection], Value]) -> Value:
        """Read as :meth:`read_now`, or return what was read last if nothing has been written since.

        What :meth:`write_now` has written does not count.

        Args:
            work: must not write; a function of a module, which returns what no one changes.

        Raises:
            StoreError: the database cannot be read, in its finer kinds.
        """
        own, version = self._own_connection(), None
        if own is not None:
            try:
                version = self.backend.data_version(own)
            except self.backend.driver_errors:
                self._close_own()
            kept = self._kept.get(work)
            if kept is not None and kept[0] == version:
                return cast("Value", kept[1])
        value = await self.read_now(work)
        if version is not None and self._own is own:
            self._kept[work] = version, value
        return value

    async def write(
        self,
        work: Callable[Concatenate[Connection, Arguments], Value],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Value:
        """Run a function in a transaction that no other writer can interfere with.

        Cancelling the waiting task does not stop it. Where a database runs several such transactions at a time, the
        function itself locks what it is about, see :meth:`oneclaw_core.sessions.connection.Connection.lock`.

        Args:
            work: if it raises, nothing of it is stored; may be run again when another transaction stood in the way.

        Returns:
            What ``work`` returns.

        Raises:
            StoreError: nothing was stored; the message says why and what to do.
        """
        if not self._are_writes_grouped:
            return await self._in_thread(lambda: self._transact(lambda it: work(it, *args, **kwargs), writes=True))
        return cast("Value", await self._done(_Job(lambda it: work(it, *args, **kwargs)), self._writes))

    async def write_now(
        self,
        work: Callable[Concatenate[Connection, Arguments], Value],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Value:
        """Write a few rows, in the thread of the event loop if no one else writes, else as :meth:`write`.

        The first write after a checkpoint that another write has made begins the log anew, and waits for the disk once.

        Args:
            work: as for :meth:`write`.
            *args: what it gets after its connection.
            **kwargs: keyword arguments for it.

        Raises:
            StoreError: nothing was stored; the message says why and what to do.
        """
        # A thread that runs has the lock, or takes these writes along with others.
        own = None if self._running else self._own_connection()
        if own is not None and self._own_writes < _MOST_OWN_WRITES:
            try:
                with own.transaction(writes=True):
                    value = work(own, *args, **kwargs)
            except self.backend.driver_errors + _OF_WRONG_VALUES as error:
                # Another connection writes, or something is wrong, which what follows says.
                if not self.backend.is_busy(error):
                    self._close_own()
            else:
                self._own_writes += 1
                return value
        elif own is not None:
            self._own_writes = (self._own_writes + 1) % (_MOST_OWN_WRITES + 2)
        return await self.write(work, *args, **kwargs)

    def when_settled(self, then: Callable[[], None]) -> None:
        """Call a function after the transactions of cancelled tasks.

        Args:
            then: called at once, or later in any thread.
        """
        left = set(self._abandoned)
        if not left:
            then()
            return
        guard = threading.Lock()

        def one_less(done: Future[None]) -> None:
            with guard:
                left.remove(done)
                is_last = not left
            if is_last:
                then()

        for each in tuple(left):
            each.add_done_callback(one_less)

    async def close(self) -> None:
        """Wait for open transactions and close the connections; closing again does nothing."""
        self._has_own = False
        self._close_own()
        await asyncio.to_thread(self._shut_down)

    def _own_connection(self) -> Connection | None:
        """Return the connection of the event loop's thread; ``None`` in another, and where it cannot be had."""
        if not self._has_own or threading.get_ident() != self._own_thread:
            return None
        if self._own is None:
            try:
                self._own = self.backend.connect_without_waiting()
            except self.backend.driver_errors:
                return None
            self._has_own = self._own is not None
        return self._own

    def _close_own(self) -> None:
        own, self._own = self._own, None
        self._kept.clear()  # the next connection counts anew
        if own is not None:
            own.close()

    async def _in_thread(self, work: Callable[[], Value]) -> Value:
        return cast("Value", await self._done(_Job(work), self._others))

    async def _done(self, job: _Job, queue: deque[_Job]) -> Any:
        """Run a job in a thread and return its value."""
        with self._guard:
            queue.append(job)
            needs_thread = self._running < self._most_running
            self._running += needs_thread
        if needs_thread:
            try:
                self._threads.submit(self._run_waiting)
            except RuntimeError:
                with self._guard:
                    self._running -= 1
                    queue.remove(job)
                raise StoreError(f"the database {self.backend.name} is closed: open it again") from None
        try:
            return await job.outcome
        except asyncio.CancelledError:
            # A cancelled task leaves its transaction in the queue.
            with self._guard:
                if not job.is_done:
                    job.settled = Future()
                    self._abandoned.add(job.settled)
                    job.settled.add_done_callback(self._abandoned.discard)
            raise

    def _run_waiting(self) -> None:
        """Run jobs in this thread until none waits."""
        while True:
            with self._guard:
                writes = _taken(self._writes, _MOST_WRITES_TOGETHER)
                others = _taken(self._others, _MOST_READS_TOGETHER if self._are_writes_grouped else 1)
                if not writes and not others:
                    self._running -= 1
                    return
            if writes:
                self._run_together(writes)
                self._deliver(writes)
            for each in others:
                try:
                    each.value = each.work()
                except BaseException as error:  # noqa: BLE001  # belongs to the task that waits
                    each.error = error
            if others:
                self._deliver(others)

    def _run_together(self, writes: Sequence[_Job]) -> None:
        try:
            values = self._transact(lambda it: [each.work(it) for each in writes], writes=True)
        except BaseException as error:  # noqa: BLE001  # belongs to the task that waits
            if len(writes) == 1:
                writes[0].error = error
                return
            # Nothing of any of them is stored; the fault of one is not that of the others.
            for each in writes:
                self._run_together([each])
        else:
            for each, value in zip(writes, values, strict=True):
                each.value = value

    def _deliver(self, jobs: Sequence[_Job]) -> None:
        """Wake the tasks that wait for some jobs, with one call for each event loop."""
        with self._guard:
            for each in jobs:
                each.is_done = True
        for loop in {each.loop for each in jobs}:
            try:
                loop.call_soon_threadsafe(_set_outcomes, [each for each in jobs if each.loop is loop])
            except RuntimeError:
                if not loop.is_closed():  # else nothing waits any more
                    raise
        for each in jobs:
            if each.settled is not None:
                each.settled.set_result(None)

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
        if connection is None:
            connect = self.backend.connect_read_only if self.is_read_only else self.backend.connect
            connection = self._keep(connect())
        return connection

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
        release, self._release = self._release, None
        if release is not None:
            release()


def _taken(queue: deque[_Job], most: int) -> list[_Job]:
    return [queue.popleft() for _ in range(min(most, len(queue)))]


def _set_outcomes(jobs: Sequence[_Job]) -> None:
    for each in jobs:
        if each.outcome.done():  # cancelled
            continue
        if each.error is None:
            each.outcome.set_result(each.value)
        else:
            each.outcome.set_exception(each.error)
