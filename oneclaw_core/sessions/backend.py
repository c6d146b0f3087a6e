"""A kind of database, which a plugin can implement for another one: its backend, its connections and its search index.

The same statements run on every kind. Parameters are written ``:name`` in a statement and passed as a mapping. Moments
are stored as whole microseconds since 1970 in UTC, which every database sorts alike. Differences between databases are
methods here or attributes of the :class:`Dialect`, so that statements need not know which database they run on.
"""

from __future__ import annotations

import logging
import re
import time
from abc import ABC, abstractmethod
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from oneclaw_core.errors import StoreDamagedError, StoreError, StoreVersionError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from oneclaw_core.sessions.locks import SessionLocks
    from oneclaw_core.sessions.schema import Table

SCHEMA_VERSION = 18

NO_SNAPSHOT = (
    "no snapshot: OneClaw takes none of databases on servers; back them up before an upgrade, PostgreSQL with pg_dump"
)
"""Said where a database on a server is migrated."""

_log = logging.getLogger("oneclaw.store")

Row = tuple[Any, ...]

NO_PARAMETERS: Mapping[str, Any] = {}
ENDLESS = 2**63 - 1
"""The greatest row number, and the limit of a query without one."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# How many values one IN list may have is limited, differently in every database.
_VALUES_PER_QUERY = 500

# The first alternative wins: literals, quoted names, comments and casts hold no placeholders.
SQL_PART = re.compile(
    r"""
    '(?:[^']|'')*'
    | "(?:[^"]|"")*"
    | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$
    | --[^\n]*
    | /\*.*?\*/
    | ::
    | :(?P<name>[A-Za-z_]\w*)
    """,
    re.VERBOSE | re.DOTALL,
)


class ColumnType(StrEnum):
    """The types of columns."""

    TEXT = "text"
    INTEGER = "integer"
    BIG_INTEGER = "big integer"
    ROW_NUMBER = "row number"
    FLOAT = "float"
    BOOLEAN = "boolean"
    BYTES = "bytes"


class Dialect(NamedTuple):
    """The syntax of statements for one kind of database.

    Attributes:
        types: how the type of a column is written.
        numbered_key: the type and the constraint of a primary key that numbers rows, each number given once.
        number_once: follows on a row number that is the primary key and never given twice, ``None`` where no row
            number is given twice anyway.
    """

    types: Mapping[ColumnType, str]
    numbered_key: str
    number_once: str | None = None


class Cursor(Protocol):
    """The rows of a statement."""

    @property
    def description(self) -> Any:
        """A sequence for each column, which begins with its name."""
        ...

    @property
    def rowcount(self) -> int:
        """The number of rows that the statement has changed."""
        ...

    def fetchone(self) -> Any:
        """Read the next row as a tuple, ``None`` if there is none."""
        ...

    def fetchall(self) -> list[Any]:
        """Read the remaining rows."""
        ...

    def close(self) -> None:
        """Discard the remaining rows."""
        ...

    def __iter__(self) -> Iterator[Any]: ...


class Connection(ABC):
    """A connection, used by one thread at a time.

    Attributes:
        dialect: how statements are written.
        token: the token of the session lock under which the transaction writes, see
            :mod:`oneclaw_core.sessions.locks`; ``None`` if it may write to any session.
    """

    dialect: Dialect
    token: int | None = None

    @abstractmethod
    def execute(self, sql: str, parameters: Mapping[str, Any] = NO_PARAMETERS) -> Cursor:
        """Run one statement.

        Args:
            sql: with placeholders ``:name``.
            parameters: values by the names in the statement; others are ignored.

        Raises:
            ConstraintError: a constraint refuses a row.
        """

    @abstractmethod
    def execute_many(self, sql: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Run one statement for each mapping of parameters.

        Raises:
            ConstraintError: a constraint refuses a row.
        """

    @abstractmethod
    def insert_numbered(self, sql: str, parameters: Mapping[str, Any], column: str) -> int:
        """Insert a row into a table that numbers its rows.

        Args:
            sql: the ``INSERT`` of one row, without the column of its number.
            parameters: as for :meth:`execute`.
            column: of the row number.

        Returns:
            The new row's number.
        """

    def stream(self, sql: str, size: int) -> Generator[list[Any]]:
        """Run a query and read its rows in batches of ``size``, without keeping all in memory."""
        cursor = self.execute(sql)
        while rows := list(islice(cursor, size)):
            yield rows

    def read_locked(self, sql: str, parameters: Mapping[str, Any]) -> Cursor:
        """Run a query and lock the rows it finds until this transaction ends, unless it is the only one that writes."""
        return self.execute(sql, parameters)

    def lock(self, topic: str) -> None:  # noqa: B027  # nothing to do where one transaction writes at a time
        """Lock a topic until this transaction ends, after waiting for other transactions that locked it."""

    @property
    @abstractmethod
    def search_index(self) -> SearchIndex:
        """The full-text index."""

    @abstractmethod
    def begin(self, *, writes: bool) -> None:
        """Begin a transaction. One that does not write sees one state of the database throughout."""

    @abstractmethod
    def commit(self) -> None:
        """Commit the transaction."""

    @abstractmethod
    def rollback(self) -> None:
        """Roll back the transaction, if one is open."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection; closing it again does nothing."""

    @contextmanager
    def transaction(self, *, writes: bool) -> Iterator[None]:
        """Run a block in a transaction, and roll it back if the block raises."""
        self.begin(writes=writes)
        try:
            yield
            self.commit()
        except BaseException:
            self.rollback()
            raise


class SearchIndex(ABC):
    """The full-text index of a database, in one transaction.

    The statements take and give the following. ``newest`` gives a number that no message in the index exceeds.
    ``nth_newest`` skips ``:skipped`` of the newest messages that fit an ``:expression`` and gives the next one's
    number. ``count`` counts the messages that fit an ``:expression``. ``find_messages`` takes ``:characters`` (of each
    message), an ``:expression``, the moments ``:since`` and ``:until``, and a ``:limit``; it gives the newest first.
    ``find_sessions`` takes an ``:expression``, ``:since``, ``:until`` and a ``:limit``.

    Attributes:
        INDEXED_CHARACTERS: the length of the part of a message that is indexed.
        CHARACTERS_READ: the length of all texts that a search reads.
        MESSAGES_PER_BATCH: the number of new messages after which :meth:`index_batch` is called.
    """

    INDEXED_CHARACTERS = 100_000
    CHARACTERS_READ = 600_000
    MESSAGES_PER_BATCH = 256

    newest: str
    nth_newest: str
    count: str
    find_messages: str
    find_sessions: str

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    @abstractmethod
    def create_tables(self) -> None:
        """Create an empty index."""

    @abstractmethod
    def is_current(self) -> bool:
        """Return True if the index has all messages and sessions."""

    @abstractmethod
    def index_new(self) -> None:
        """Index new messages and sessions."""

    @abstractmethod
    def index_batch(self) -> None:
        """Index some new messages without blocking the session that is written to."""

    @abstractmethod
    def forget_session(self, session_id: str) -> None:
        """Remove a session and its child sessions from the index, before they are deleted."""

    @abstractmethod
    def forget_heading(self, session_id: str) -> None:
        """Remove the name and title of a session from the index, before they change."""

    @abstractmethod
    def all_of(self, terms: Iterable[str]) -> str:
        """Return the expression for texts that have all terms."""

    @abstractmethod
    def any_of(self, terms: Iterable[str]) -> str:
        """Return the expression for texts that have one of the terms."""

    @abstractmethod
    def prepare_search(self) -> None:
        """Configure the transaction for searching."""

    @staticmethod
    def terms(text: str) -> set[str]:
        """Return the terms by which a text is found."""
        from oneclaw_core.search.words import index_terms  # imported for what is indexed alone

        return index_terms(text)

    @staticmethod
    def heading(name: str | None, title: str | None) -> str:
        """Return the indexed text of a session: its name and its title."""
        return ": ".join(each for each in (name, title) if each)


class Inspection(NamedTuple):
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
        with closed_on_error(connection):
            with connection.transaction(writes=False):
                version = self.version(connection)
            if 0 < version < SCHEMA_VERSION:
                self.keep_before_migration(version, SCHEMA_VERSION)
            if version < SCHEMA_VERSION:
                self.bring_up_to_date(connection)
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
        with closed_on_error(connection):
            with connection.transaction(writes=False):
                version = self.version(connection)
            if 0 < version < SCHEMA_VERSION:
                raise StoreVersionError(
                    f"the database {self.name} was written by an older OneClaw (schema {version}, this one needs "
                    f"{SCHEMA_VERSION}), and a command that only reads does not migrate it; to migrate it: "
                    f"{self.how_to_migrate}"
                )
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
def closed_on_error(connection: Connection) -> Iterator[None]:
    """Close a connection if a block raises."""
    try:
        yield
    except BaseException:
        connection.close()
        raise


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


def now() -> int:
    """Return the current moment as it is stored."""
    return time.time_ns() // 1000


def to_datetime(microseconds: int) -> datetime:
    """Convert a stored moment to a datetime in UTC.

    Raises:
        OverflowError: it is none that a calendar knows.
        TypeError: it is not a number.
    """
    return _EPOCH + timedelta(microseconds=microseconds)


def to_stored(moment: datetime) -> int:
    """Convert a datetime with a time zone to a stored moment."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def value_of(cursor: Cursor) -> Any:
    """Read the first column of the first row; ``None`` if there is no row."""
    row = cursor.fetchone()
    return None if row is None else row[0]


def damaged_value(what: str = "value") -> StoreDamagedError:
    """Return the error for something stored that cannot be read."""
    return StoreDamagedError(f"the database holds a damaged {what}: put a backup copy in its place")


def insertion(table: str, columns: Iterable[str]) -> str:
    """Return the statement that inserts a row, with a placeholder for each column."""
    names = list(columns)
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join(f':{each}' for each in names)})"


def with_list(sql: str, name: str, values: Sequence[Any]) -> tuple[str, dict[str, Any]]:
    """Write a placeholder for each value of a list.

    Args:
        sql: holds ``(:NAME)``, as in ``id IN (:ids)``.
        name: of the placeholder.
        values: one or more.

    Returns:
        The statement and the values as its parameters.
    """
    parameters = {f"{name}_{number}": value for number, value in enumerate(values)}
    return sql.replace(f"(:{name})", f"({', '.join(f':{each}' for each in parameters)})"), parameters


def rows_in(
    connection: Connection, sql: str, name: str, values: Sequence[Any], parameters: Mapping[str, Any] = NO_PARAMETERS
) -> Iterator[Any]:
    """Run a query for a list of any length, in parts; see :func:`with_list` for the arguments."""
    for start in range(0, len(values), _VALUES_PER_QUERY):
        statement, in_list = with_list(sql, name, values[start : start + _VALUES_PER_QUERY])
        yield from connection.execute(statement, {**parameters, **in_list})


def without_literals(sql: str) -> str:
    """Remove literals and comments from a statement, and the quotes of names."""
    return SQL_PART.sub(lambda part: part[0].strip('"') if part[0][0] in '":' else " ", sql)
