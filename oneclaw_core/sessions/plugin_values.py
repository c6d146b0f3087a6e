"""Read and write values of plugins by keys."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import ConstraintError, NotFoundError, StoreDamagedError, UsageError
from oneclaw_core.sessions.connection import value_of
from oneclaw_core.sessions.timestamps import now
from oneclaw_core.types.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from oneclaw_core.sessions.connection import Connection

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
_COUNT_ALL = "SELECT count(*) FROM plugin_values WHERE plugin = :plugin"


def read(connection: Connection, plugin: str, namespace: str, key: str, default: Any) -> Any:
    """Read a value, the default if there is none or it has expired."""
    text = value_of(connection.execute(_READ, {**_place(plugin, namespace), "key": clean_text(key)}))
    return default if text is None else _from_json(text, key)


def listed(connection: Connection, plugin: str, namespace: str, prefix: str) -> dict[str, Any]:
    """Read the values whose keys begin with a prefix, by their keys in order."""
    prefix = clean_text(prefix)
    rows = connection.execute(_LIST, {**_place(plugin, namespace), "prefix": prefix, "length": len(prefix)})
    return {key: _from_json(text, key) for key, text in rows}


def write(
    connection: Connection,
    plugin: str,
    namespace: str,
    key: str,
    value: Any,
    ttl_seconds: float | None,
    *,
    only_if_absent: bool = False,
) -> bool:
    """Store a value.

    Args:
        connection: of a transaction that writes.
        plugin: the plugin's name.
        namespace: the id of a session, or empty.
        key: of the value.
        value: what JSON can hold.
        ttl_seconds: how long it lasts, ``None`` for no end.
        only_if_absent: True to leave alone a value that is there.

    Returns:
        True if it was stored.

    Raises:
        UsageError: the key, the value or the time is not acceptable, or there are too many keys.
        NotFoundError: the session is gone.
    """
    text, expires_at = _to_json(value, key), _expiry(ttl_seconds)
    _lock(connection, plugin, namespace, key)
    if only_if_absent and _is_there(connection, plugin, namespace, key):
        return False
    _put(connection, _REPLACE, plugin, namespace, key, {"value": text, "expires_at": expires_at})
    return True


def change(connection: Connection, plugin: str, namespace: str, key: str, function: Callable[[Any], Any]) -> Any:
    """Change a value, ``None`` for none, so that concurrent changes are not lost.

    Returns:
        The new value; ``None`` removed it.

    Raises:
        UsageError: as for :func:`write`.
        NotFoundError: likewise.
    """
    _lock(connection, plugin, namespace, key)
    is_there = _is_there(connection, plugin, namespace, key)
    value = function(read(connection, plugin, namespace, key, None))
    if value is None:
        remove(connection, plugin, namespace, key)
        return None
    # A value that has expired is replaced; of another one the time stays.
    statement = _CHANGE if is_there else _REPLACE
    _put(connection, statement, plugin, namespace, key, {"value": _to_json(value, key), "expires_at": None})
    return value


def remove(connection: Connection, plugin: str, namespace: str, key: str) -> bool:
    """Delete a value; return True if there was one."""
    _lock(connection, plugin, namespace, key)
    return connection.execute(_DELETE, {**_place(plugin, namespace), "key": clean_text(key)}).rowcount > 0


def count(connection: Connection, plugin: str) -> int:
    """Count all values of a plugin."""
    return int(value_of(connection.execute(_COUNT_ALL, {"plugin": clean_text(plugin)})))


def forget(connection: Connection, plugin: str) -> int:
    """Delete all values of a plugin, and count them."""
    return connection.execute(_FORGET, {"plugin": clean_text(plugin)}).rowcount


def check_key(key: str) -> None:
    """Reject a key that is empty or too long.

    Raises:
        UsageError: it is.
    """
    if not isinstance(key, str) or not 0 < len(key) <= MAX_KEY_CHARACTERS:
        raise UsageError(f"a key of a plugin's storage is a text of 1 to {MAX_KEY_CHARACTERS} characters")


def _put(connection: Connection, statement: str, plugin: str, namespace: str, key: str, values: dict[str, Any]) -> None:
    parameters = {**_place(plugin, namespace), "key": clean_text(key), "session": namespace or None, **values}
    if connection.execute(statement, parameters).rowcount:
        return
    connection.execute(_DELETE_EXPIRED, parameters)
    if value_of(connection.execute(_COUNT, parameters)) >= MAX_KEYS:
        raise UsageError(
            f"the storage of plugin {plugin} is full: it holds {MAX_KEYS} keys already; delete some, or use tables"
        )
    try:
        connection.execute(_INSERT, parameters)
    except ConstraintError as error:
        if error.lacks_parent:
            raise NotFoundError(f"there is no session {namespace} that a value could belong to") from None
        raise


def _is_there(connection: Connection, plugin: str, namespace: str, key: str) -> bool:
    return connection.execute(_READ, {**_place(plugin, namespace), "key": clean_text(key)}).fetchone() is not None


def _lock(connection: Connection, plugin: str, namespace: str, key: str) -> None:
    connection.lock(f"plugin value {plugin} {namespace} {clean_text(key)}")


def _place(plugin: str, namespace: str) -> dict[str, Any]:
    return {"plugin": clean_text(plugin), "namespace": namespace, "now": now()}


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
        raise StoreDamagedError(
            f"the database holds a damaged value of a plugin ({key}): put a backup copy in its place"
        ) from error
