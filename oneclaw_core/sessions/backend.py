"""What a kind of database provides, so that :class:`~oneclaw_core.sessions.database.Database` can use it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from oneclaw_core.sessions import postgres_address

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from oneclaw_core.errors import StoreError
    from oneclaw_core.sessions.connection import Connection
    from oneclaw_core.sessions.session_locks import SessionLocks
    from oneclaw_core.sessions.tables import Table

BUSY_SECONDS = 10.0


class Backend(Protocol):
    """A database of one kind, at one address; nothing is open until it is connected to.

    Attributes:
        name: the database as messages show it, without user and password.
        threads: how many transactions may run at a time.
        driver_errors: what the driver raises.
    """

    name: str
    threads: int
    driver_errors: tuple[type[Exception], ...]

    def connect(self) -> Connection:
        """Connect to the database, which must be there."""
        ...

    def connect_to_read(self) -> Connection | None:
        """Connect without changing anything; ``None`` if there is no database.

        Raises:
            StoreError: it cannot be seen whether there is one.
        """
        ...

    def prepare(self) -> Connection:
        """Connect to the database, make it if it is missing, and bring it to the current schema."""
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
        """Return True if the transaction did nothing, and may succeed if it is simply begun again."""
        ...

    def holds_wrong_values(self, connection: Connection) -> bool:
        """Return True if a column holds a value that does not belong there; reads everything."""
        ...

    def take_time(self, connection: Connection) -> None:
        """Let the statements of this transaction take as long as they need."""
        ...

    def keep_writers_out(self, connection: Connection, tables: Sequence[str]) -> None:
        """Keep other transactions from writing to tables until this one ends."""
        ...

    def confined_to(self, prefix: str) -> Backend:
        """Make the same database, where statements reach the tables alone whose names begin with a prefix."""
        ...

    def plugin_url(self, plugin: str) -> str:
        """Write the URL of a database that an engine of a plugin opens by itself."""
        ...

    def tables_of(self, connection: Connection, prefix: str) -> list[str]:
        """List the tables and views whose names begin with a prefix."""
        ...

    def drop_tables(self, connection: Connection, prefix: str) -> list[str]:
        """Drop the tables and views whose names begin with a prefix, and list them."""
        ...

    def last_number(self, connection: Connection, table: Table) -> int:
        """Read the last number that a table gave to a row, 0 for none."""
        ...

    def set_last_number(self, connection: Connection, table: Table, number: int) -> None:
        """Let the numbers of a table's rows follow on a number."""
        ...


def backend_of(url: str, *, busy_seconds: float = BUSY_SECONDS) -> Backend:
    """Find the kind of database that a URL means.

    Args:
        url: ``sqlite:///PATH`` or ``postgresql+psycopg://USER:PASSWORD@HOST/DATABASE``.
        busy_seconds: how long to wait for others that write.

    Raises:
        StoreError: the URL means none, or the driver is missing. What the URL says is not repeated: it may hold a
            password.
    """
    if postgres_address.is_meant(url):
        # First, for that says it if the driver is missing.
        address = postgres_address.parse(url)
        from oneclaw_core.sessions.postgres_backend import PostgresBackend

        return PostgresBackend(address, busy_seconds)
    from oneclaw_core.sessions.sqlite_backend import SqliteBackend
    from oneclaw_core.sessions.sqlite_file import path_of

    return SqliteBackend(path_of(url), busy_seconds)


@contextmanager
def explaining(backend: Backend) -> Iterator[None]:
    """Turn what a driver raises in a block into a ``StoreError``."""
    try:
        yield
    except backend.driver_errors as error:
        raise backend.explained(error) from error
