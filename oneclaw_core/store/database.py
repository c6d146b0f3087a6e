"""Transactions on a thread of their own, awaited from the event loop.

SQLAlchemy is used synchronously, and deliberately so. Measured per small transaction on a 2-core machine: 2.2 ms with
SQLAlchemy's asyncio layer over aiosqlite, which changes threads for every statement, against 0.37 ms for a whole
transaction sent to a thread as one function; and 0.8 s against 0.5 s to import. A turn has 5 ms for all of its
transactions. So a transaction here is a plain function that takes a connection and returns a value.

SQLite has one thread: it allows one writer at a time anyway, and readers of the same process wait their turn cheaply.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import URL, create_engine, event
from sqlalchemy.exc import DBAPIError

from oneclaw_core.errors import StoreError
from oneclaw_core.store.migrations import bring_up_to_date
from oneclaw_core.store.sqlite_file import create_file, explained, path_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Self

    from sqlalchemy import Connection, Engine

    Arguments = ParamSpec("Arguments")

Value = TypeVar("Value")

BUSY_SECONDS = 10.0
LOCKS = {"oneclaw_locks": True}
_RETRY_SECONDS = 0.02


class Database:
    """An open database. Made by :meth:`open`; :meth:`close` waits for the transactions under way.

    Attributes:
        path: the file.
    """

    def __init__(self, path: Path, *, threads: int = 1, busy_seconds: float = BUSY_SECONDS) -> None:
        self.path = path
        self._busy_seconds = busy_seconds
        self._reading = make_engine(path, threads, busy_seconds)
        self._writing = self._reading.execution_options(**LOCKS)
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="oneclaw-store")

    @classmethod
    async def open(cls, url: str, *, threads: int = 1, busy_seconds: float = BUSY_SECONDS) -> Self:
        """Open a database, make it if it is missing, and bring it to the current schema.

        Args:
            url: ``sqlite:///PATH``.
            threads: how many transactions may run at a time.
            busy_seconds: how long to wait for other processes that write.

        Raises:
            StoreVersionError: a newer OneClaw wrote it.
            StoreDamagedError: it is damaged, or another program's.
            StoreError: it cannot be opened; the message says what to do.
        """
        database = cls(path_of(url), threads=threads, busy_seconds=busy_seconds)
        try:
            await database._in_thread(database._prepare)
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
        """Run a function in a transaction that sees one state of the database throughout.

        Args:
            work: must not write.
            *args: what it gets after its connection.
            **kwargs: likewise.

        Returns:
            What ``work`` returns.

        Raises:
            StoreError: the database cannot be read, in its finer kinds.
        """
        return await self._in_thread(lambda: self._transact(self._reading, lambda it: work(it, *args, **kwargs)))

    async def write(
        self,
        work: Callable[Concatenate[Connection, Arguments], Value],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Value:
        """Run a function in a transaction that no other writer can interfere with.

        Cancelling the waiting task does not stop it.

        Args:
            work: if it raises, nothing is stored.
            *args: what it gets after its connection.
            **kwargs: likewise.

        Returns:
            What ``work`` returns.

        Raises:
            StoreError: nothing was stored; the message says why and what to do.
        """
        return await self._in_thread(lambda: self._transact(self._writing, lambda it: work(it, *args, **kwargs)))

    async def close(self) -> None:
        """Wait for the transactions under way and close the file; more than once does no harm."""
        await asyncio.to_thread(self._shut_down)

    async def _in_thread(self, work: Callable[[], Value]) -> Value:
        try:
            future = self._threads.submit(work)
        except RuntimeError:
            raise StoreError(f"the database {self.path} is closed: open it again") from None
        # Without the shield a cancelled task would take a waiting transaction out of the queue.
        return await asyncio.shield(asyncio.wrap_future(future))

    def _transact(self, engine: Engine, work: Callable[[Connection], Value]) -> Value:
        try:
            with engine.begin() as connection:
                return work(connection)
        except DBAPIError as error:
            raise explained(error.orig, self.path) from error

    def _prepare(self) -> None:
        create_file(self.path)
        try:
            # First of all a look whose file it is: another program's is not to be changed in any way.
            bring_up_to_date(self._reading, self._writing, self.path)
            self._write_ahead()
        except DBAPIError as error:
            raise explained(error.orig, self.path) from error
        except sqlite3.Error as error:
            raise explained(error, self.path) from error

    def _write_ahead(self) -> None:
        """Let readers and a writer work at the same time; lasting, so that later openings find it done."""
        deadline = time.monotonic() + self._busy_seconds
        connection = self._reading.raw_connection()
        try:
            cursor = connection.cursor()
            while cursor.execute("PRAGMA journal_mode").fetchone() != ("wal",):
                try:
                    cursor.execute("PRAGMA journal_mode = WAL")
                except sqlite3.OperationalError as error:
                    # SQLite does not wait for a writer here by itself.
                    if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                        raise
                    time.sleep(_RETRY_SECONDS)
                else:
                    # Where the file system knows no shared memory, the old way stays, and works.
                    break
            cursor.close()
        finally:
            connection.close()

    def _shut_down(self) -> None:
        self._threads.shutdown()
        self._reading.dispose()


def make_engine(path: Path, threads: int = 1, busy_seconds: float = BUSY_SECONDS) -> Engine:
    """Make an engine whose transactions read.

    Those of ``engine.execution_options(**LOCKS)`` may write.
    """
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        connect_args={"timeout": busy_seconds, "isolation_level": None},
        pool_size=threads,
        max_overflow=0,
        # An error's text must not carry what people wrote.
        hide_parameters=True,
    )

    # The driver begins no transactions ("isolation_level": None), as SQLAlchemy's documentation of SQLite advises; a
    # transaction that will write locks at once, for one that starts as a reader cannot always become a writer.
    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().keys() & LOCKS
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    @event.listens_for(engine, "connect")
    def connect(connection: Any, record: object) -> None:
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            # With a write-ahead log a killed process loses nothing, a machine without power its last transactions.
            connection.execute("PRAGMA synchronous = NORMAL")
        except sqlite3.Error:
            # The pool does not know the connection yet and would leave it open.
            connection.close()
            raise

    return engine
