"""The connection with which plugins create and use their own tables."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import StoreError
from oneclaw_core.sessions.confinement import foreign_table
from oneclaw_core.sessions.connection import ColumnType
from oneclaw_core.sessions.statement_text import without_literals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_core.sessions.connection import Connection, Cursor

_FIRST_WORD = re.compile(r"\s*(\w+)")
_STATEMENTS = frozenset({"select", "with", "values", "insert", "update", "delete", "create", "alter", "drop"})
_DEFINITIONS = frozenset({"create", "alter", "drop"})
_DEFINED = re.compile(
    r"\s*(?:create|alter|drop)\s+(?:unique\s+)?(?:table|index|view)\s+(?:if\s+(?:not\s+)?exists\s+)?(\w+)",
    re.IGNORECASE,
)
_RENAMED = re.compile(r"\brename\s+to\s+(\w+)", re.IGNORECASE)
_RESERVED = re.compile(r"\b(sqlite_\w*|plugin_schemas|pg_\w+)", re.IGNORECASE)


class StorageConnection:
    """A transaction on a plugin's tables, the same on every kind of database.

    The names of tables, indexes and views begin with the plugin's prefix, see :meth:`table`. Statements of other
    tables are refused. This guards against slips, not against malice: a plugin runs in OneClaw's process.

    Write ``TEXT``, ``BIGINT``, ``DOUBLE PRECISION`` and ``BOOLEAN`` for types of columns, and the attributes below for
    what has no common name. SQLite returns 0 and 1 for ``BOOLEAN``. ``INSERT ... ON CONFLICT`` works on both.

    Attributes:
        prefix: of the names of tables, such as ``audit_log__``.
        numbered_key: the type of a column ``id`` that is the primary key and numbers the rows.
        bytes_type: the type of a column that holds bytes.
    """

    def __init__(self, connection: Connection, prefix: str) -> None:
        self.prefix = prefix
        self.numbered_key = connection.dialect.numbered_key
        self.bytes_type = connection.dialect.types[ColumnType.BYTES]
        self._connection = connection

    def table(self, name: str) -> str:
        """Return the name of a table, an index or a view with the plugin's prefix."""
        return f"{self.prefix}{name}"

    def execute(self, sql: str, parameters: Mapping[str, Any] | None = None) -> Cursor:
        """Run one statement.

        Args:
            sql: with placeholders ``:name``, never with values in its text.
            parameters: values by the names in the statement.

        Returns:
            The rows. Read them before the function ends: after its transaction they are gone.

        Raises:
            ConstraintError: a constraint refuses a row. Let it pass: on PostgreSQL the transaction cannot go on.
            StoreError: the statement is not for the plugin's tables.
        """
        _check(sql, self.prefix)
        return self._connection.execute(sql, parameters or {})

    def execute_many(self, sql: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Run one statement for each mapping of parameters, as :meth:`execute` does."""
        _check(sql, self.prefix)
        self._connection.execute_many(sql, rows)

    def insert(self, sql: str, parameters: Mapping[str, Any]) -> int:
        """Insert one row into a table with a column ``id`` of the type :attr:`numbered_key`.

        Args:
            sql: the ``INSERT``, without the column ``id``.
            parameters: as for :meth:`execute`.

        Returns:
            The ``id`` of the row.
        """
        _check(sql, self.prefix)
        return self._connection.insert_numbered(sql, parameters, "id")


@lru_cache(maxsize=256)
def _check(sql: str, prefix: str) -> None:
    """Reject statements on other tables than the plugin's.

    Raises:
        StoreError: it is refused; the message says why.
    """
    text = without_literals(sql).strip().rstrip(";")
    first = _FIRST_WORD.match(text)
    word = first[1].lower() if first is not None else ""
    if word not in _STATEMENTS:
        raise StoreError(f"a plugin's statement begins with one of {', '.join(sorted(_STATEMENTS)).upper()}")
    if ";" in text:
        raise StoreError("a plugin's statements are run one by one")
    reserved = _RESERVED.search(text)
    if reserved is not None:
        raise foreign_table(reserved[1], prefix)
    if word in _DEFINITIONS:
        defined = _DEFINED.match(text)
        if defined is None:
            raise StoreError("a plugin creates, alters and drops tables, indexes and views, and nothing else")
        for name in (defined[1], *_RENAMED.findall(text)):
            if not name.lower().startswith(prefix):
                raise foreign_table(name, prefix)
