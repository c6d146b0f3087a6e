"""A connection to a database, with the same statements and parameters on every kind of database.

Parameters are written ``:name`` in the statement and passed as a mapping. Differences between databases are methods
here or attributes of the :class:`Dialect`, so that statements need not know which database they run on.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from oneclaw_core.errors import StoreDamagedError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence

Row = tuple[Any, ...]

NO_PARAMETERS: Mapping[str, Any] = {}
ENDLESS = 2**63 - 1
"""The greatest row number, and the limit of a query without one."""

# How many values one IN list may have is limited, differently in every database.
_VALUES_PER_QUERY = 500

# The first alternative wins: literals, quoted names, comments and casts hold no placeholders.
_PART = re.compile(
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


@dataclass(frozen=True, slots=True)
class Dialect:
    """The syntax of statements for one kind of database.

    Attributes:
        name: ``sqlite`` or ``postgresql``.
        types: how the type of a column is written.
        numbered_key: the type and the constraint of a primary key that numbers rows, each number given once.
        number_once: follows on a row number that is the primary key and never given twice, ``None`` where no row
            number is given twice anyway.
    """

    name: str
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

    @abstractmethod
    def stream(self, sql: str, size: int) -> Generator[list[Any]]:
        """Run a query and read its rows in batches of ``size``, without keeping all in memory."""

    @abstractmethod
    def read_locked(self, sql: str, parameters: Mapping[str, Any]) -> Cursor:
        """Run a query and lock the rows it finds until this transaction ends."""

    @abstractmethod
    def lock(self, topic: str) -> None:
        """Lock a topic until this transaction ends, after waiting for other transactions that locked it."""

    @abstractmethod
    def try_lock(self, topic: str) -> bool:
        """Lock a topic unless another transaction has it; return True if it is locked."""

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
    message), an ``:expression``, the numbers ``:first`` and ``:last``, the moments ``:since`` and ``:until``, and a
    ``:limit``; it gives the newest first. ``find_sessions`` takes an ``:expression``, ``:since``, ``:until`` and a
    ``:limit``.

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


def rewrite_placeholders(sql: str, placeholder: Callable[[str], str], text: Callable[[str], str] = str) -> str:
    """Rewrite the ``:name`` placeholders of a statement for a driver.

    Args:
        sql: the statement; literals, quoted names, comments and casts hold no placeholders.
        placeholder: returns the placeholder of a name.
        text: escapes the other parts.
    """
    pieces, end = [], 0
    for part in _PART.finditer(sql):
        name = part["name"]
        pieces += [text(sql[end : part.start()]), text(part[0]) if name is None else placeholder(name)]
        end = part.end()
    return "".join([*pieces, text(sql[end:])])


def without_literals(sql: str) -> str:
    """Remove literals and comments from a statement, and the quotes of names."""
    return _PART.sub(lambda part: part[0].strip('"') if part[0][0] in '":' else " ", sql)
