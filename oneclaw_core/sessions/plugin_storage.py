"""The storage of a plugin: values by keys, and tables, which are created, migrated and reached by transactions."""

from __future__ import annotations

import asyncio
import json
import math
import re
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from oneclaw_core.errors import ConstraintError, NotFoundError, StoreError, StoreVersionError, UsageError
from oneclaw_core.sessions.backend import ColumnType, damaged_value, foreign_table, now, value_of, without_literals
from oneclaw_core.sessions.database import Database
from oneclaw_core.sessions.sessions import check_id
from oneclaw_core.system.threads import run_in_thread
from oneclaw_core.types.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from oneclaw_core.sessions.backend import Backend, Connection, Cursor

    Arguments = ParamSpec("Arguments")
    Migration = Callable[["StorageConnection"], Any]

    # The parameters of statements: the plugin, the session that its values belong to, or empty, and mostly a key.
    _Place = dict[str, Any]

Value = TypeVar("Value")

MAX_VALUE_BYTES = 1_048_576
MAX_KEYS = 10_000
MAX_KEY_CHARACTERS = 500

_PLACE = "plugin = :plugin AND namespace = :namespace"
_IS_THERE = "(expires_at IS NULL OR expires_at > :now)"
_READ = f"SELECT value FROM plugin_values WHERE {_PLACE} AND key = :key AND {_IS_THERE}"
_LIST = f"""
    SELECT key, value FROM plugin_values
    WHERE {_PLACE} AND key >= :prefix AND substr(key, 1, :length) = :prefix AND {_IS_THERE} ORDER BY key"""
_REPLACE = f"""
    UPDATE plugin_values SET value = :value, expires_at = :expires_at, updated_at = :now
    WHERE {_PLACE} AND key = :key"""
_CHANGE = f"UPDATE plugin_values SET value = :value, updated_at = :now WHERE {_PLACE} AND key = :key"
_INSERT = """
    INSERT INTO plugin_values (plugin, namespace, key, value, session_id, expires_at, updated_at)
    VALUES (:plugin, :namespace, :key, :value, :session, :expires_at, :now)"""
_DELETE = f"DELETE FROM plugin_values WHERE {_PLACE} AND key = :key AND {_IS_THERE}"
_FORGET = "DELETE FROM plugin_values WHERE plugin = :plugin"
_COUNT_ALL = "SELECT count(*) FROM plugin_values WHERE plugin = :plugin"

# No two underscores in a row, so that no plugin's prefix begins another's.
_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_.][a-z0-9]+)*", re.IGNORECASE)
_MOST_NAME_CHARACTERS = 40

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


@dataclass(frozen=True, slots=True)
class PluginContent:
    """The stored content of a plugin.

    Attributes:
        values: how many values its storage has, those of sessions included.
        tables: names of its tables and views.
    """

    values: int
    tables: tuple[str, ...]


class PluginStorage:
    """The storage of a plugin in OneClaw's database, the same on every kind of database.

    Values are what JSON can hold, 1 MiB of JSON at most. A plugin has up to 10,000 keys, and as many for each session.
    No other plugin sees them. Every method is one transaction, also among several processes, and raises ``StoreError``
    if the database cannot do its part.
    """

    def __init__(self, database: Database, databases: PluginDatabases, plugin: str, session_id: str = "") -> None:
        self._database = database
        self._databases = databases
        self._plugin = plugin
        self._session_id = session_id

    def _at(self, key: str) -> _Place:
        return {"plugin": clean_text(self._plugin), "namespace": self._session_id, "key": clean_text(key), "now": now()}

    @property
    def url(self) -> str:
        """The URL of a database for an engine that opens one by itself.

        With SQLite that is a file beside OneClaw's own, with PostgreSQL the same database, with its password. What is
        in it is up to the plugin: OneClaw neither copies nor removes it.
        """
        return self._database.backend.plugin_url(self._plugin)

    async def get(self, key: str, default: Any = None) -> Any:
        """Read a value, the default if there is none or it has expired."""
        return await self._database.read(_read, self._at(key), default)

    async def set(self, key: str, value: Any, *, ttl_seconds: float | None = None) -> None:
        """Store a value.

        Args:
            key: 1 to 500 characters.
            value: what JSON can hold.
            ttl_seconds: the time after which it expires; ``None`` for never.

        Raises:
            UsageError: the key, the value or the time is not acceptable, or there are too many keys.
            NotFoundError: the session is gone.
        """
        _check_key(key)
        await self._database.write(_write, self._at(key), value, ttl_seconds)

    async def set_if_absent(self, key: str, value: Any, *, ttl_seconds: float | None = None) -> bool:
        """Store a value unless there is one, as :meth:`set` does; return True if it was stored.

        Of several processes that do so at once, one gets True.
        """
        _check_key(key)
        return await self._database.write(_write, self._at(key), value, ttl_seconds, only_if_absent=True)

    async def change(self, key: str, function: Callable[[Any], Any]) -> Any:
        """Change a value in one transaction, so that concurrent changes are not lost.

        Args:
            key: as for :meth:`set`.
            function: gets the value, ``None`` if there is none, and returns the new one, ``None`` to remove it. It runs
                in another thread, and may be called again. If it raises, nothing changes.

        Returns:
            The new value. The time at which it expires stays as it was.

        Raises:
            UsageError: as for :meth:`set`.
            NotFoundError: the session is gone.
        """
        _check_key(key)
        return await self._database.write(_change, self._at(key), function)

    async def delete(self, key: str) -> bool:
        """Delete a value; return True if there was one."""
        return await self._database.write(_remove, self._at(key))

    async def list(self, prefix: str = "") -> dict[str, Any]:
        """Read the values whose keys begin with a prefix, by their keys in order."""
        prefix = clean_text(prefix)
        return await self._database.read(_listed, {**self._at(""), "prefix": prefix, "length": len(prefix)})

    def of_session(self, session_id: str) -> PluginStorage:
        """Return the storage for values that belong to a session, and are deleted with it.

        Raises:
            NotFoundError: that is not a session's id.
        """
        check_id(session_id)
        return PluginStorage(self._database, self._databases, self._plugin, session_id)

    async def tables(self, migrations: Sequence[Callable[[StorageConnection], Any]]) -> PluginTables:
        """Create or migrate the plugin's tables.

        Args:
            migrations: the steps to the current tables. Released steps never change; a change is another step at the
                end. Each is one transaction, and of several processes one takes it.

        Raises:
            StoreVersionError: a newer version of the plugin wrote the tables.
            StoreError: a step uses other tables than the plugin's.
            UsageError: this is the storage of a session.
        """
        if self._session_id:
            raise UsageError("tables belong to a plugin, not to a session: ask the plugin's storage for them")
        return await self._databases.tables(self._plugin, migrations)


def content(connection: Connection, backend: Backend, plugin: str) -> PluginContent:
    """Count and list the stored content of a plugin."""
    tables = backend.tables_of(connection, prefix_of(plugin)) if _has_tables(plugin) else []
    values = int(value_of(connection.execute(_COUNT_ALL, {"plugin": clean_text(plugin)})))
    return PluginContent(values, tuple(tables))


def forget(connection: Connection, backend: Backend, plugin: str) -> PluginContent:
    """Remove a plugin's values, tables and their version."""
    tables = backend.drop_tables(connection, prefix_of(plugin)) if _has_tables(plugin) else []
    connection.execute("DELETE FROM plugin_schemas WHERE plugin = :plugin", {"plugin": plugin})
    values = connection.execute(_FORGET, {"plugin": clean_text(plugin)}).rowcount
    return PluginContent(values, tuple(tables))


def _read(connection: Connection, place: _Place, default: Any = None) -> Any:
    text = value_of(connection.execute(_READ, place))
    return default if text is None else _from_json(text, place["key"])


def _listed(connection: Connection, place: _Place) -> dict[str, Any]:
    return {key: _from_json(text, key) for key, text in connection.execute(_LIST, place)}


def _write(
    connection: Connection, place: _Place, value: Any, ttl_seconds: float | None, *, only_if_absent: bool = False
) -> bool:
    text, expires_at = _to_json(value, place["key"]), _expiry(ttl_seconds)
    _lock(connection, place)
    if only_if_absent and connection.execute(_READ, place).fetchone() is not None:
        return False
    _put(connection, _REPLACE, {**place, "value": text, "expires_at": expires_at})
    return True


def _change(connection: Connection, place: _Place, function: Callable[[Any], Any]) -> Any:
    _lock(connection, place)
    is_there = connection.execute(_READ, place).fetchone() is not None
    value = function(_read(connection, place))
    if value is None:
        _remove(connection, place)
        return None
    # A value that has expired is replaced; of another one the time stays.
    statement = _CHANGE if is_there else _REPLACE
    _put(connection, statement, {**place, "value": _to_json(value, place["key"]), "expires_at": None})
    return value


def _remove(connection: Connection, place: _Place) -> bool:
    _lock(connection, place)
    return connection.execute(_DELETE, place).rowcount > 0


def _put(connection: Connection, statement: str, row: _Place) -> None:
    if connection.execute(statement, row).rowcount:
        return
    connection.execute("DELETE FROM plugin_values WHERE plugin = :plugin AND expires_at <= :now", row)
    if value_of(connection.execute(f"SELECT count(*) FROM plugin_values WHERE {_PLACE}", row)) >= MAX_KEYS:
        raise UsageError(
            f"the storage of plugin {row['plugin']} is full: it holds {MAX_KEYS} keys already; delete some, or use "
            "tables"
        )
    try:
        connection.execute(_INSERT, {**row, "session": row["namespace"] or None})
    except ConstraintError as error:
        if error.lacks_parent:
            raise NotFoundError(f"there is no session {row['namespace']} that a value could belong to") from None
        raise


def _lock(connection: Connection, place: _Place) -> None:
    connection.lock(f"plugin value {place['plugin']} {place['namespace']} {place['key']}")


def _check_key(key: str) -> None:
    if not isinstance(key, str) or not 0 < len(key) <= MAX_KEY_CHARACTERS:
        raise UsageError(f"a key of a plugin's storage is a text of 1 to {MAX_KEY_CHARACTERS} characters")


def _expiry(ttl_seconds: float | None) -> int | None:
    if ttl_seconds is None:
        return None
    if not (math.isfinite(ttl_seconds) and ttl_seconds > 0):
        raise UsageError(f"ttl_seconds is a number of seconds above 0, not {ttl_seconds!r}")
    return now() + round(ttl_seconds * 1_000_000)


def _to_json(value: Any, key: str) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        try:
            size = len(text.encode())
        except UnicodeEncodeError:  # a lone surrogate, which no database can hold, but an escape sequence can
            text = json.dumps(value, allow_nan=False, separators=(",", ":"))
            size = len(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"the value of {clean_text(key)!r} must be what JSON can hold ({error})") from error
    if size > MAX_VALUE_BYTES:
        raise UsageError(
            f"the value of {clean_text(key)!r} has {size} bytes as JSON, {MAX_VALUE_BYTES} are allowed: use a file in "
            "the plugin's folder, or tables"
        )
    return text


def _from_json(text: str, key: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise damaged_value(f"value of a plugin ({key})") from error


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


def _has_tables(plugin: str) -> bool:
    """Return True if a plugin of this name can have tables."""
    return _NAME.fullmatch(plugin) is not None and len(plugin) <= _MOST_NAME_CHARACTERS


def prefix_of(plugin: str) -> str:
    """Write the prefix of the names of a plugin's tables.

    Raises:
        StoreError: a plugin of this name can have no tables.
    """
    if not _has_tables(plugin):
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
    versions: dict[str, int] = dict(connection.execute("SELECT plugin, version FROM plugin_schemas").fetchall())
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
