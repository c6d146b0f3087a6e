"""What a kind of database has to bring, so that :class:`~oneclaw_core.store.database.Database` can use it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection, Engine

    from oneclaw_core.errors import StoreError
    from oneclaw_core.store.session_locks import SessionLocks


# Execution options of a connection, which say what kind of transaction begins next.
LOCKS = {"oneclaw_locks": True}
READS = {"oneclaw_locks": False}


class Backend(Protocol):
    """A database of one kind, at one address; nothing is open until an engine is used.

    Attributes:
        name: the database as messages show it, without user and password.
        threads: how many transactions may run at a time.
        driver_errors: what the driver raises, where SQLAlchemy does not stand between.
    """

    name: str
    threads: int
    driver_errors: tuple[type[Exception], ...]

    def make_engine(self, threads: int) -> Engine:
        """Make an engine with at most so many connections.

        Its transactions read; those of ``engine.execution_options(**LOCKS)`` may write.
        """
        ...

    def prepare(self, reading: Engine) -> None:
        """Make the database if it is missing, and bring it to the current schema."""
        ...

    def version(self, connection: Connection, known_version: int) -> int:
        """Find out which version of the schema it holds, 0 if it is still empty.

        Raises:
            StoreVersionError: it is newer than the known version.
            StoreDamagedError: it belongs to another program, or lacks its version.
        """
        ...

    def begin_migration(self, connection: Connection) -> None:
        """Keep other processes from migrating until this transaction ends."""
        ...

    def finish_creation(self, connection: Connection) -> None:
        """Add to new tables what only this kind of database has."""
        ...

    def session_locks(self, directory: Path) -> SessionLocks:
        """Make the locks of sessions.

        Args:
            directory: where the files are, if they are files.
        """
        ...

    def explained(self, error: BaseException | None) -> StoreError:
        """Say in one line what an error of the driver means and what to do."""
        ...

    def is_worth_another_try(self, error: BaseException | None) -> bool:
        """Whether the transaction did nothing, and may succeed if it is simply begun again."""
        ...

    def holds_wrong_values(self, reading: Engine) -> bool:
        """Whether a column holds a value that does not belong there; takes as long as reading everything."""
        ...


def lacks_parent(error: BaseException | None) -> bool:
    """Whether a row was refused because the row that it refers to is gone."""
    return (
        getattr(error, "sqlstate", None) == "23503"
        or getattr(error, "sqlite_errorname", None) == "SQLITE_CONSTRAINT_FOREIGNKEY"
    )


def backend_of(url: str, *, busy_seconds: float) -> Backend:
    """Find the kind of database that a URL means.

    Args:
        url: ``sqlite:///PATH`` or ``postgresql+psycopg://USER:PASSWORD@HOST/DATABASE``.
        busy_seconds: how long to wait for others that write.

    Raises:
        StoreError: the URL means none, or the driver is missing. What the URL says is not repeated: it may hold a
            password.
    """
    from oneclaw_core.store import postgres_address

    if postgres_address.is_meant(url):
        # First, for that says it if the driver is missing.
        address = postgres_address.parse(url)
        from oneclaw_core.store.postgres_backend import PostgresBackend

        return PostgresBackend(address, busy_seconds)
    from oneclaw_core.store.sqlite_backend import SqliteBackend
    from oneclaw_core.store.sqlite_file import path_of

    return SqliteBackend(path_of(url), busy_seconds)
