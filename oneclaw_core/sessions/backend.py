"""The interface of a kind of database, which a plugin can implement for another one."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oneclaw_core.errors import StoreError, StoreVersionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from oneclaw_core.errors import StoreDamagedError
    from oneclaw_core.sessions.connection import Connection
    from oneclaw_core.sessions.locks import SessionLocks
    from oneclaw_core.sessions.schema import Table

SCHEMA_VERSION = 18

NO_SNAPSHOT = (
    "no snapshot: OneClaw takes none of databases on servers; back them up before an upgrade, PostgreSQL with pg_dump"
)
"""Said where a database on a server is migrated."""

_log = logging.getLogger("oneclaw.store")


@dataclass(frozen=True, slots=True)
class Inspection:
    """The state of a database, for ``oneclaw doctor``.

    Attributes:
        message: describes the database, or what is wrong with it.
        remedy: what to do about it; ``None`` if nothing is wrong.
    """

    message: str
    remedy: str | None = None


class Backend(ABC):
    """A database of one kind at one address. Creating a backend connects to nothing.

    Attributes:
        name: the database as messages show it, without user and password.
        url: the URL of the database, with the password; never shown.
        threads: the number of transactions that may run at a time.
        driver_errors: the exceptions of the driver.
        how_to_migrate: what to do to migrate an older database.
    """

    how_to_migrate = "back it up with its server's tools (PostgreSQL: pg_dump), then: oneclaw db migrate"
    name: str
    url: str
    threads: int
    driver_errors: tuple[type[Exception], ...]

    # Connecting

    @abstractmethod
    def connect(self) -> Connection:
        """Connect to the existing database."""

    def connect_read_only(self) -> Connection:
        """Connect to the existing database without changing anything."""
        return self.connect()

    def exists(self) -> bool:
        """Return True if the database exists; a server is only asked when a connection is made.

        Raises:
            StoreError: the database is not accessible.
        """
        return True

    def prepare(self) -> Connection:
        """Connect to the database, create it if it is missing, and migrate it to the current schema."""
        connection = self.connect()
        try:
            with connection.transaction(writes=False):
                version = self.version(connection)
            if 0 < version < SCHEMA_VERSION:
                self.keep_before_migration(version, SCHEMA_VERSION)
            if version < SCHEMA_VERSION:
                self.bring_up_to_date(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def bring_up_to_date(self, connection: Connection) -> None:
        """Create the tables of an empty database, or migrate those of an older one, in one transaction.

        It reads the version first. So a killed process leaves the version before or after, and of two processes that
        open a database at once only one migrates it.

        Raises:
            StoreVersionError: a newer OneClaw wrote the database.
            StoreDamagedError: it belongs to another program, or is damaged.
        """
        from oneclaw_core.sessions.migrations import create, migrate

        current = {"version": SCHEMA_VERSION}
        with connection.transaction(writes=True):
            self.begin_migration(connection)
            version = self.version(connection)
            if version == 0:
                create(connection)
                connection.execute("INSERT INTO schema_version (version) VALUES (:version)", current)
                self.finish_creation(connection)
            elif version < SCHEMA_VERSION:
                migrate(connection, version)
                connection.execute("UPDATE schema_version SET version = :version", current)

    def prepare_read_only(self) -> Connection:
        """Connect to the database without changing it; one that is missing or has no tables is created.

        Raises:
            StoreVersionError: the database is older: it is not migrated for a command that only reads; or it is newer.
        """
        if not self.exists():
            return self.prepare()
        connection = self.connect_read_only()
        try:
            with connection.transaction(writes=False):
                version = self.version(connection)
            if 0 < version < SCHEMA_VERSION:
                raise StoreVersionError(
                    f"the database {self.name} was written by an older OneClaw (schema {version}, this one needs "
                    f"{SCHEMA_VERSION}), and a command that only reads does not migrate it; to migrate it: "
                    f"{self.how_to_migrate}"
                )
        except BaseException:
            connection.close()
            raise
        if version:
            return connection
        connection.close()
        return self.prepare()

    # The schema

    def keep_before_migration(self, version: int, newest: int, plugin: str | None = None) -> None:
        """Take a snapshot before a schema is migrated, or say that there is none.

        Args:
            version: of the schema now.
            newest: of the schema afterwards.
            plugin: whose tables are migrated, if it is not the database as a whole.

        Raises:
            StoreError: the snapshot cannot be written.
        """
        what = f"the tables of plugin {plugin} in {self.name}" if plugin else self.name
        _log.warning("migrating %s from schema %d to %d; %s", what, version, newest, NO_SNAPSHOT)

    def version(self, connection: Connection, known_version: int = SCHEMA_VERSION) -> int:
        """Read the version of the schema, 0 for an empty database.

        Args:
            known_version: the newest version that this program supports.

        Raises:
            StoreVersionError: the database is newer.
            StoreDamagedError: it belongs to another program, or its version is missing.
        """
        if not self.has_tables(connection):
            return 0
        rows = connection.execute("SELECT version FROM schema_version").fetchall()
        version = rows[0][0] if len(rows) == 1 else None
        if not isinstance(version, int) or version < 1:
            raise self.damaged()
        if version > known_version:
            raise StoreVersionError(
                f"the database {self.name} was written by a newer OneClaw (schema {version}, this one knows "
                f"{known_version}): upgrade oneclaw-core"
            )
        return version

    @abstractmethod
    def has_tables(self, connection: Connection) -> bool:
        """Return True if the database has OneClaw's tables, False if it is empty.

        Raises:
            StoreDamagedError: it belongs to another program, or tables are missing.
        """

    def begin_migration(self, connection: Connection) -> None:  # noqa: B027  # optional
        """Block migrations by other processes until this transaction ends."""

    def finish_creation(self, connection: Connection) -> None:  # noqa: B027  # optional
        """Add to new tables what is specific to this kind of database."""

    # Transactions

    @abstractmethod
    def session_locks(self, directory: Path) -> SessionLocks:
        """Return the locks of sessions.

        Args:
            directory: for lock files, where locks are files.
        """

    def hold_open(self, directory: Path) -> Callable[[], None]:
        """Keep the database from being replaced until the returned function is called.

        Args:
            directory: for lock files, where locks are files.

        Raises:
            StoreError: the lock cannot be used.
        """
        return lambda: None

    def is_transient(self, error: BaseException | None) -> bool:
        """Return True if the transaction changed nothing and may succeed when it is retried."""
        return False

    def lift_time_limits(self, connection: Connection) -> None:  # noqa: B027  # optional
        """Remove the time limits of statements in this transaction."""

    def lock_tables(self, connection: Connection, tables: Sequence[str]) -> None:  # noqa: B027  # optional
        """Block writes of other transactions to tables until this one ends."""

    # Errors and damage

    @abstractmethod
    def explain(self, error: BaseException | None) -> StoreError:
        """Describe an error of the driver in one line that says what to do."""

    @abstractmethod
    def damaged(self) -> StoreDamagedError:
        """Return the error for tables that are missing or invalid."""

    def has_invalid_values(self, connection: Connection) -> bool:
        """Return True if a column holds a value of another type; reads all rows."""
        return False

    @abstractmethod
    def inspect(self, connection: Connection) -> Inspection:
        """Describe the database and check it.

        Raises:
            StoreVersionError: a newer OneClaw wrote it.
            StoreDamagedError: it is damaged, or belongs to another program.
        """

    # Tables of plugins

    @abstractmethod
    def confined_to(self, prefix: str) -> Backend:
        """Return a backend for the same database whose statements reach only tables with a prefix."""

    def plugin_url(self, plugin: str) -> str:
        """Return the URL of a database for an engine that a plugin opens itself."""
        return self.url

    @abstractmethod
    def tables_of(self, connection: Connection, prefix: str) -> list[str]:
        """List the tables and views with a prefix."""

    @abstractmethod
    def drop_tables(self, connection: Connection, prefix: str) -> list[str]:
        """Drop and list the tables and views with a prefix."""

    # Row numbers

    @abstractmethod
    def last_number(self, connection: Connection, table: Table) -> int:
        """Return the last row number that a table assigned, 0 for none."""

    @abstractmethod
    def set_last_number(self, connection: Connection, table: Table, number: int) -> None:
        """Set the row number that a table continues from."""


@contextmanager
def explaining(backend: Backend) -> Iterator[None]:
    """Convert exceptions of the driver in a block to ``StoreError``."""
    try:
        yield
    except backend.driver_errors as error:
        raise backend.explain(error) from error


@contextmanager
def looking_into(backend: Backend) -> Iterator[Connection | None]:
    """Read a database in one transaction, without creating or migrating it.

    Yields:
        A connection; ``None`` if there is no database.

    Raises:
        StoreError: the database cannot be read.
    """
    if not backend.exists():
        yield None
        return
    with explaining(backend), closing(backend.connect_read_only()) as connection:
        connection.begin(writes=False)
        yield connection


def foreign_table(name: str, prefix: str) -> StoreError:
    """Return the error for a statement that uses a table without the plugin's prefix."""
    return StoreError(
        f"a plugin's statement may use tables and indexes whose names begin with {prefix!r} only, not {name!r}"
    )


def invalid_statement(reason: str) -> StoreError:
    """Return the error for a statement that the database cannot parse."""
    return StoreError(f"a plugin's statement is not understood: {' '.join(reason.split())[:300]}")
