"""The user's settings, decisions on permissions, disabled tools and groups; and the log of permissions.

All but the log is also read without opening the store, see :func:`read_states`. Every version of the schema keeps the
tables of settings and disabled tools as they are.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from oneclaw_core.errors import SettingsError, UsageError
from oneclaw_core.sessions.backend import damaged_value, insertion, looking_into, now, to_datetime, to_stored
from oneclaw_core.types.permissions import Decision, Grant, PermissionUse
from oneclaw_core.types.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from oneclaw_core.sessions.backend import Backend, Connection

SwitchKind = Literal["tool", "group"]


@dataclass(frozen=True, slots=True)
class ToolStates:
    """The names of disabled tools and groups, installed or not."""

    disabled_tools: frozenset[str] = frozenset()
    disabled_groups: frozenset[str] = frozenset()


_SET_SETTING = """
    INSERT INTO settings (key, value, updated_at) VALUES (:key, :value, :moment)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at"""
_SWITCH = """
    INSERT INTO tool_states (kind, name, enabled) VALUES (:kind, :name, :enabled)
    ON CONFLICT (kind, name) DO UPDATE SET enabled = excluded.enabled"""

# The first version of the schema that has the table; decisions of older ones are permissions and patterns alone.
GRANTS_SINCE = 10
# How many entries the log keeps.
MAX_LOG_ENTRIES = 50_000
_PRUNED_EVERY = 500
_MAX_TEXT_CHARACTERS = 4_000

_KEY = ("permission", "pattern", "agent", "task", "directory")
_COLUMNS = (*_KEY, "decision", "expires_at", "source", "created_at", "last_used_at")
_THIS = " AND ".join(f"{each} = :{each}" for each in _KEY)
# Of two with the same key the newer one holds.
_SET_GRANT = f"""
    {insertion("grants", _COLUMNS)}
    ON CONFLICT ({", ".join(_KEY)}) DO UPDATE SET
        decision = excluded.decision, expires_at = excluded.expires_at, source = excluded.source,
        created_at = excluded.created_at, last_used_at = NULL"""
_REMOVE_GRANTS = "DELETE FROM grants WHERE permission = :permission AND pattern = :pattern"
_USED = f"UPDATE grants SET last_used_at = :moment WHERE {_THIS}"
# All but the key of the grant.
_LOG_COLUMNS = tuple(each for each in PermissionUse._fields if each != "grant")
_RECORD = insertion("permission_log", _LOG_COLUMNS)
_READ_LOG = f"SELECT {', '.join(_LOG_COLUMNS)} FROM permission_log"
_LOG = f"{_READ_LOG} ORDER BY id DESC LIMIT :limit"
_LOG_OF_SESSION = f"{_READ_LOG} WHERE session_id = :session ORDER BY id DESC LIMIT :limit"


def read_settings(connection: Connection) -> dict[str, Any]:
    """Read all settings, by their keys in alphabetical order."""
    found = {}
    for key, value in connection.execute("SELECT key, value FROM settings ORDER BY key").fetchall():
        try:
            found[key] = json.loads(value)
        except (ValueError, TypeError, RecursionError) as error:
            raise damaged_value(f"setting ({key})") from error
    return found


def set_setting(connection: Connection, key: str, value: Any) -> None:
    """Store a setting: anything that JSON can hold.

    Raises:
        SettingsError: JSON cannot hold the value.
    """
    try:
        text = clean_text(json.dumps(value, ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise SettingsError(f"the value of setting {key!r} must be what JSON can hold ({error})") from error
    connection.execute(_SET_SETTING, {"key": clean_text(key), "value": text, "moment": now()})


def remove_setting(connection: Connection, key: str) -> bool:
    """Reset a setting to its default; return True if it was set."""
    return connection.execute("DELETE FROM settings WHERE key = :key", {"key": clean_text(key)}).rowcount > 0


def change_setting(connection: Connection, key: str, change: Callable[[Any], Any]) -> Any:
    """Change a setting in one transaction, so that concurrent changes are not lost.

    Args:
        key: of the setting.
        change: gets the value, ``None`` if it is not set, and gives the new one, ``None`` to take the setting back to
            its default; may be called again.

    Returns:
        The value that it had.

    Raises:
        SettingsError: JSON cannot hold the value.
    """
    connection.lock(f"setting {key}")
    before = read_settings(connection).get(key)
    after = change(before)
    if after is None:
        remove_setting(connection, key)
    else:
        set_setting(connection, key, after)
    return before


def read_tool_states(connection: Connection) -> ToolStates:
    """Read the disabled tools and groups."""
    disabled = connection.execute("SELECT kind, name FROM tool_states WHERE NOT enabled").fetchall()
    tools, groups = (frozenset(name for kind, name in disabled if kind == each) for each in ("tool", "group"))
    return ToolStates(tools, groups)


def set_tool_enabled(connection: Connection, kind: SwitchKind, name: str, enabled: bool) -> None:
    """Enable or disable a tool or a group.

    Raises:
        UsageError: the kind is neither ``tool`` nor ``group``.
    """
    if kind not in ("tool", "group"):
        raise UsageError(f"'tool' or 'group' can be enabled and disabled, not {kind!r}")
    connection.execute(_SWITCH, {"kind": kind, "name": clean_text(name), "enabled": enabled})


def read_grants(connection: Connection) -> tuple[Grant, ...]:
    """Read what the user decided, by permission and pattern, without what only a newer version understands."""
    rows = connection.execute(f"SELECT {', '.join(_COLUMNS)} FROM grants ORDER BY permission, pattern, id").fetchall()
    return tuple(_grant(row) for row in rows if row[5] in set(Decision))


def read_permissions(connection: Connection) -> tuple[Grant, ...]:
    """Read what the user decided from a database of a version before :data:`GRANTS_SINCE`."""
    rows = connection.execute("SELECT name, decision FROM permissions ORDER BY name").fetchall()
    splits = ((name.partition(":"), decision) for name, decision in rows if decision in set(Decision))
    return tuple(
        Grant(permission, pattern or None, Decision(decision), source="version 0.1")
        for (permission, _, pattern), decision in splits
    )


def set_grant(connection: Connection, grant: Grant) -> None:
    """Store a decision; it takes the place of one on the same permission, pattern, agent, task and directory."""
    expires_at = to_stored(grant.until) if grant.until is not None else None
    connection.execute(
        _SET_GRANT,
        {
            **_key(grant.key),
            "decision": str(grant.decision),
            "expires_at": expires_at,
            "source": grant.source,
            "created_at": now(),
            "last_used_at": None,
        },
    )


def remove_grants(connection: Connection, permission: str, pattern: str | None = None) -> int:
    """Remove and count the decisions on a permission as a whole, or on one pattern of it, for whomever they hold."""
    return connection.execute(
        _REMOVE_GRANTS, {"permission": clean_text(permission), "pattern": clean_text(pattern or "")}
    ).rowcount


def remove_grant(connection: Connection, grant: Grant) -> bool:
    """Remove one decision; return False if it is gone."""
    return bool(connection.execute(f"DELETE FROM grants WHERE {_THIS}", _key(grant.key)).rowcount)


def remove_task_grants(connection: Connection, task: str) -> int:
    """Remove and count the decisions for a scheduled task, given its id."""
    return connection.execute("DELETE FROM grants WHERE task = :task", {"task": clean_text(task)}).rowcount


def reset_grants(connection: Connection) -> int:
    """Remove and count all decisions."""
    return connection.execute("DELETE FROM grants").rowcount


def record_use(connection: Connection, use: PermissionUse) -> None:
    """Add an entry to the log, and note with the grant that it was used. The log keeps the newest entries."""
    moment = now()
    row = {name: getattr(use, name) for name in _LOG_COLUMNS}
    texts = {name: clean_text(text)[:_MAX_TEXT_CHARACTERS] for name, text in row.items() if isinstance(text, str)}
    number = connection.insert_numbered(_RECORD, {**row, **texts, "at": moment}, "id")
    if use.grant is not None:
        connection.execute(_USED, {**_key(use.grant), "moment": moment})
    if number > MAX_LOG_ENTRIES and number % _PRUNED_EVERY == 0:
        connection.execute("DELETE FROM permission_log WHERE id <= :id", {"id": number - MAX_LOG_ENTRIES})


def record_known_use(connection: Connection, use: PermissionUse, known: tuple[Grant, ...]) -> bool:
    """Record a use that was granted by what was known; return False, and record nothing, if that has changed."""
    if read_grants(connection) != known:
        return False
    record_use(connection, use)
    return True


def read_log(connection: Connection, limit: int, session_id: str | None = None) -> list[PermissionUse]:
    """Read the newest entries of the log, the newest first.

    Args:
        limit: how many at most.
        session_id: of which session; ``None`` for all.
    """
    place = {"limit": limit, "session": session_id}
    rows = connection.execute(_LOG if session_id is None else _LOG_OF_SESSION, place).fetchall()
    found = (dict(zip(_LOG_COLUMNS, row, strict=True)) for row in rows)
    return [
        PermissionUse(
            **it | {"detail": it["detail"] or "", "is_granted": bool(it["is_granted"]), "at": to_datetime(it["at"])}
        )
        for it in found
    ]


def _grant(row: tuple[Any, ...]) -> Grant:
    it = dict(zip(_COLUMNS, row, strict=True))
    return Grant(
        it["permission"],
        decision=Decision(it["decision"]),
        source=it["source"],
        until=_moment(it["expires_at"]),
        created_at=_moment(it["created_at"]),
        last_used_at=_moment(it["last_used_at"]),
        **{each: it[each] or None for each in _KEY[1:]},
    )


def _moment(stored: int | None) -> datetime | None:
    return to_datetime(stored) if stored is not None else None


def _key(key: tuple[str, str | None, str | None, str | None, str | None]) -> dict[str, str]:
    return {name: clean_text(value or "") for name, value in zip(_KEY, key, strict=True)}


@dataclass(frozen=True, slots=True)
class UserStates(ToolStates):
    """The settings of the user; all empty for a new home.

    Attributes:
        settings: values by their keys.
        grants: decisions on permissions.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    grants: tuple[Grant, ...] = ()


def read_states(backend: Backend) -> UserStates:
    """Read what the user has set without opening the store: nothing is created, migrated or written.

    Raises:
        StoreVersionError: a newer OneClaw wrote the database.
        StoreDamagedError: it is damaged, or belongs to another program.
        StoreError: it cannot be read.
    """
    with looking_into(backend) as connection:
        version = backend.version(connection) if connection is not None else 0
        if connection is None or version == 0:
            return UserStates()
        try:
            states = read_user_states(connection, read_grants if version >= GRANTS_SINCE else read_permissions)
            _check_texts(states)
        except (TypeError, ValueError) as error:
            raise damaged_value("setting") from error
        return states


def read_user_states(
    connection: Connection, decided: Callable[[Connection], tuple[Grant, ...]] = read_grants
) -> UserStates:
    """Read all that the user has set."""
    tools = read_tool_states(connection)
    return UserStates(tools.disabled_tools, tools.disabled_groups, read_settings(connection), decided(connection))


def _check_texts(states: UserStates) -> None:
    """Reject values of other types, which a damaged SQLite file may hold instead of a text."""
    names = (*states.settings, *states.disabled_tools, *states.disabled_groups)
    if not all(isinstance(each, str) for each in names):
        raise TypeError("what should be a text is none")
