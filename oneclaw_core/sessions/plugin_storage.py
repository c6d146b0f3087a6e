"""The storage of a plugin: values by keys, and tables."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import ConstraintError, NotFoundError, UsageError
from oneclaw_core.sessions.connection import damaged_value, value_of
from oneclaw_core.sessions.plugin_tables import has_tables, prefix_of
from oneclaw_core.sessions.sessions import check_id
from oneclaw_core.sessions.timestamps import now
from oneclaw_core.types.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from oneclaw_core.sessions.backend import Backend
    from oneclaw_core.sessions.connection import Connection
    from oneclaw_core.sessions.database import Database
    from oneclaw_core.sessions.plugin_tables import PluginDatabases, PluginTables, StorageConnection

    # The name of a plugin, and the id of the session that its values belong to, or empty.
    _Place = dict[str, str]

MAX_VALUE_BYTES = 1_048_576
MAX_KEYS = 10_000
MAX_KEY_CHARACTERS = 500

_PLACE = "plugin = :plugin AND namespace = :namespace"
_IS_THERE = "(expires_at IS NULL OR expires_at > :now)"
_READ = f"SELECT value FROM plugin_values WHERE {_PLACE} AND key = :key AND {_IS_THERE}"
_LIST = f"""
    SELECT key, value FROM plugin_values
    WHERE {_PLACE} AND key >= :prefix AND substr(key, 1, :length) = :prefix AND {_IS_THERE} ORDER BY key"""
_COUNT = f"SELECT count(*) FROM plugin_values WHERE {_PLACE}"
_REPLACE = f"""
    UPDATE plugin_values SET value = :value, expires_at = :expires_at, updated_at = :now
    WHERE {_PLACE} AND key = :key"""
_CHANGE = f"UPDATE plugin_values SET value = :value, updated_at = :now WHERE {_PLACE} AND key = :key"
_INSERT = """
    INSERT INTO plugin_values (plugin, namespace, key, value, session_id, expires_at, updated_at)
    VALUES (:plugin, :namespace, :key, :value, :session, :expires_at, :now)"""
_DELETE = f"DELETE FROM plugin_values WHERE {_PLACE} AND key = :key AND {_IS_THERE}"
_DELETE_EXPIRED = "DELETE FROM plugin_values WHERE plugin = :plugin AND expires_at <= :now"
_FORGET = "DELETE FROM plugin_values WHERE plugin = :plugin"
_FORGET_VERSION = "DELETE FROM plugin_schemas WHERE plugin = :plugin"
_COUNT_ALL = "SELECT count(*) FROM plugin_values WHERE plugin = :plugin"


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
        self._place = {"plugin": clean_text(plugin), "namespace": session_id}

    @property
    def url(self) -> str:
        """The URL of a database for an engine that opens one by itself.

        With SQLite that is a file beside OneClaw's own, with PostgreSQL the same database, with its password. What is
        in it is up to the plugin: OneClaw neither copies nor removes it.
        """
        return self._database.backend.plugin_url(self._plugin)

    async def get(self, key: str, default: Any = None) -> Any:
        """Read a value, the default if there is none or it has expired."""
        return await self._database.read(_read, self._place, key, default)

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
        await self._database.write(_write, self._place, key, value, ttl_seconds)

    async def set_if_absent(self, key: str, value: Any, *, ttl_seconds: float | None = None) -> bool:
        """Store a value unless there is one, as :meth:`set` does; return True if it was stored.

        Of several processes that do so at once, one gets True.
        """
        _check_key(key)
        return await self._database.write(_write, self._place, key, value, ttl_seconds, only_if_absent=True)

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
        return await self._database.write(_change, self._place, key, function)

    async def delete(self, key: str) -> bool:
        """Delete a value; return True if there was one."""
        return await self._database.write(_remove, self._place, key)

    async def list(self, prefix: str = "") -> dict[str, Any]:
        """Read the values whose keys begin with a prefix, by their keys in order."""
        return await self._database.read(_listed, self._place, prefix)

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
    tables = backend.tables_of(connection, prefix_of(plugin)) if has_tables(plugin) else []
    values = int(value_of(connection.execute(_COUNT_ALL, {"plugin": clean_text(plugin)})))
    return PluginContent(values, tuple(tables))


def forget(connection: Connection, backend: Backend, plugin: str) -> PluginContent:
    """Remove a plugin's values, tables and their version."""
    tables = backend.drop_tables(connection, prefix_of(plugin)) if has_tables(plugin) else []
    connection.execute(_FORGET_VERSION, {"plugin": plugin})
    values = connection.execute(_FORGET, {"plugin": clean_text(plugin)}).rowcount
    return PluginContent(values, tuple(tables))


def _read(connection: Connection, place: _Place, key: str, default: Any) -> Any:
    text = value_of(connection.execute(_READ, _of_key(place, key)))
    return default if text is None else _from_json(text, key)


def _listed(connection: Connection, place: _Place, prefix: str) -> dict[str, Any]:
    prefix = clean_text(prefix)
    rows = connection.execute(_LIST, {**place, "prefix": prefix, "length": len(prefix), "now": now()})
    return {key: _from_json(text, key) for key, text in rows}


def _write(
    connection: Connection,
    place: _Place,
    key: str,
    value: Any,
    ttl_seconds: float | None,
    *,
    only_if_absent: bool = False,
) -> bool:
    text, expires_at = _to_json(value, key), _expiry(ttl_seconds)
    _lock(connection, place, key)
    if only_if_absent and _is_there(connection, place, key):
        return False
    _put(connection, _REPLACE, place, key, {"value": text, "expires_at": expires_at})
    return True


def _change(connection: Connection, place: _Place, key: str, function: Callable[[Any], Any]) -> Any:
    _lock(connection, place, key)
    is_there = _is_there(connection, place, key)
    value = function(_read(connection, place, key, None))
    if value is None:
        _remove(connection, place, key)
        return None
    # A value that has expired is replaced; of another one the time stays.
    statement = _CHANGE if is_there else _REPLACE
    _put(connection, statement, place, key, {"value": _to_json(value, key), "expires_at": None})
    return value


def _remove(connection: Connection, place: _Place, key: str) -> bool:
    _lock(connection, place, key)
    return connection.execute(_DELETE, _of_key(place, key)).rowcount > 0


def _put(connection: Connection, statement: str, place: _Place, key: str, values: dict[str, Any]) -> None:
    parameters = {**_of_key(place, key), "session": place["namespace"] or None, **values}
    if connection.execute(statement, parameters).rowcount:
        return
    connection.execute(_DELETE_EXPIRED, parameters)
    if value_of(connection.execute(_COUNT, parameters)) >= MAX_KEYS:
        raise UsageError(
            f"the storage of plugin {place['plugin']} is full: it holds {MAX_KEYS} keys already; delete some, or use "
            "tables"
        )
    try:
        connection.execute(_INSERT, parameters)
    except ConstraintError as error:
        if error.lacks_parent:
            raise NotFoundError(f"there is no session {place['namespace']} that a value could belong to") from None
        raise


def _is_there(connection: Connection, place: _Place, key: str) -> bool:
    return connection.execute(_READ, _of_key(place, key)).fetchone() is not None


def _lock(connection: Connection, place: _Place, key: str) -> None:
    connection.lock(f"plugin value {place['plugin']} {place['namespace']} {clean_text(key)}")


def _of_key(place: _Place, key: str) -> dict[str, Any]:
    return {**place, "key": clean_text(key), "now": now()}


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
