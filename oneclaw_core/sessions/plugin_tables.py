"""Tables of plugins: create and migrate them, and run transactions on them."""

from __future__ import annotations

import asyncio
import re
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from oneclaw_core.errors import StoreError, StoreVersionError
from oneclaw_core.sessions.backend import foreign_table
from oneclaw_core.sessions.connection import ColumnType, without_literals
from oneclaw_core.sessions.database import Database
from oneclaw_core.system.threads import run_in_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from oneclaw_core.sessions.backend import Backend
    from oneclaw_core.sessions.connection import Connection, Cursor

    Arguments = ParamSpec("Arguments")
    Migration = Callable[["StorageConnection"], Any]

Value = TypeVar("Value")

# No two underscores in a row, so that no plugin's prefix begins another's.
_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_.][a-z0-9]+)*", re.IGNORECASE)
_MOST_NAME_CHARACTERS = 40

_VERSIONS = "SELECT plugin, version FROM plugin_schemas"
_SET_VERSION = """
    INSERT INTO plugin_schemas (plugin, version) VALUES (:plugin, :version)
    ON CONFLICT (plugin) DO UPDATE SET version = excluded.version"""

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


class PluginTables:
    """The tables of a plugin; every method is one transaction.

    Functions run in a thread of the database, and may be run again when another transaction stood in the way. What they
    return is passed on: values, not cursors. Keep functions that write short: on SQLite one transaction writes at a
    time, that of a turn included.
    """

    def __init__(self, database: Database, prefix: str) -> None:
        self._database = database
        self._prefix = prefix

    async def read(
        self,
        function: Callable[Concatenate[StorageConnection, Arguments], Value],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Value:
        """Run a function that reads; it sees one state of the tables throughout.

        Args:
            function: called with a connection and the other arguments.

        Raises:
            StoreError: the database cannot do its part, or a statement is not for the plugin's tables.
        """
        return await self._database.read(
            lambda connection: function(StorageConnection(connection, self._prefix), *args, **kwargs)
        )

    async def write(
        self,
        function: Callable[Concatenate[StorageConnection, Arguments], Value],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Value:
        """Run a function that writes; if it raises, nothing of it is stored.

        Args:
            function: called with a connection and the other arguments.

        Raises:
            ConstraintError: a constraint refuses a row.
            StoreError: the database cannot do its part, or a statement is not for the plugin's tables.
        """
        return await self._database.write(
            lambda connection: function(StorageConnection(connection, self._prefix), *args, **kwargs)
        )


class PluginDatabases:
    """The connections of plugins to their tables, one for each plugin that asks for it."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._databases: dict[str, Database] = {}

    async def tables(self, plugin: str, migrations: Sequence[Migration]) -> PluginTables:
        """Bring a plugin's tables up to date, see :meth:`~oneclaw_core.sessions.PluginStorage.tables`."""
        prefix = prefix_of(plugin)
        database = self._databases.get(prefix)
        if database is None:
            database = self._databases[prefix] = Database(self._backend.confined_to(prefix), threads=1)
        version = await database.read(_version, plugin, len(migrations))
        if 0 < version < len(migrations):
            await run_in_thread(partial(self._backend.keep_before_migration, version, len(migrations), plugin))
        while version < len(migrations):
            version = await database.write(_migrate, self._backend, plugin, migrations)
        return PluginTables(database, prefix)

    async def close(self) -> None:
        """Wait for what is under way, then close the connections."""
        await asyncio.gather(*(database.close() for database in self._databases.values()))


def has_tables(plugin: str) -> bool:
    """Return True if a plugin of this name can have tables."""
    return _NAME.fullmatch(plugin) is not None and len(plugin) <= _MOST_NAME_CHARACTERS


def prefix_of(plugin: str) -> str:
    """Write the prefix of the names of a plugin's tables.

    Raises:
        StoreError: a plugin of this name can have no tables.
    """
    if not has_tables(plugin):
        raise StoreError(
            f"a plugin named {plugin[:100]!r} can have no tables: its name needs to be letters and digits, with single "
            f"hyphens or underscores between them, {_MOST_NAME_CHARACTERS} characters at most"
        )
    return re.sub(r"[-.]", "_", plugin).lower() + "__"


def _migrate(connection: Connection, backend: Backend, plugin: str, migrations: Sequence[Migration]) -> int:
    """Take one step, unless another process has; return the version."""
    backend.begin_migration(connection)
    version = _version(connection, plugin, len(migrations))
    if version < len(migrations):
        migrations[version](StorageConnection(connection, prefix_of(plugin)))
        version += 1
        connection.execute(_SET_VERSION, {"plugin": plugin, "version": version})
    return version


def _version(connection: Connection, plugin: str, newest: int) -> int:
    """Read how many migrations a plugin's tables have had.

    Raises:
        StoreVersionError: more than the plugin knows.
        StoreError: another plugin has the same prefix.
    """
    versions: dict[str, int] = dict(connection.execute(_VERSIONS).fetchall())
    version = versions.get(plugin, 0)
    if version > newest:
        raise StoreVersionError(
            f"the tables of plugin {plugin} were written by a newer version of it (schema {version}, this one knows "
            f"{newest}): upgrade the plugin's package"
        )
    other = next((each for each in versions if each != plugin and prefix_of(each) == prefix_of(plugin)), None)
    if other is not None:
        raise StoreError(
            f"plugin {plugin} can have no tables: those of plugin {other} have the same prefix; if that is gone, "
            f"remove what it left with: oneclaw plugins forget {other}"
        )
    return version
