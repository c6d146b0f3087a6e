"""Settings, and disabled tools and groups.

With the decisions on permissions they are also read without opening the store, see :func:`read_states`. Every version
of the schema keeps the tables of this module as they are.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from oneclaw_core.errors import SettingsError, UsageError
from oneclaw_core.sessions.backend import looking_into
from oneclaw_core.sessions.connection import damaged_value
from oneclaw_core.sessions.grants import GRANTS_SINCE, read_grants, read_permissions
from oneclaw_core.sessions.timestamps import now
from oneclaw_core.types.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from oneclaw_core.sessions.backend import Backend
    from oneclaw_core.sessions.connection import Connection
    from oneclaw_core.types.permissions import Grant

SwitchKind = Literal["tool", "group"]


@dataclass(frozen=True, slots=True)
class ToolStates:
    """The disabled tools and groups, installed or not."""

    disabled_tools: frozenset[str] = frozenset()
    disabled_groups: frozenset[str] = frozenset()


_SETTINGS = "SELECT key, value FROM settings ORDER BY key"
_SET_SETTING = """
    INSERT INTO settings (key, value, updated_at) VALUES (:key, :value, :moment)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at"""
_REMOVE_SETTING = "DELETE FROM settings WHERE key = :key"
_DISABLED = "SELECT kind, name FROM tool_states WHERE NOT enabled"
_SWITCH = """
    INSERT INTO tool_states (kind, name, enabled) VALUES (:kind, :name, :enabled)
    ON CONFLICT (kind, name) DO UPDATE SET enabled = excluded.enabled"""


def read_settings(connection: Connection) -> dict[str, Any]:
    """Read all settings, by their keys in alphabetical order."""
    found = {}
    for key, value in connection.execute(_SETTINGS).fetchall():
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
    return connection.execute(_REMOVE_SETTING, {"key": clean_text(key)}).rowcount > 0


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
    disabled: dict[str, set[str]] = {"tool": set(), "group": set()}
    for kind, name in connection.execute(_DISABLED).fetchall():
        disabled.setdefault(kind, set()).add(name)
    return ToolStates(frozenset(disabled["tool"]), frozenset(disabled["group"]))


def set_tool_enabled(connection: Connection, kind: SwitchKind, name: str, enabled: bool) -> None:
    """Enable or disable a tool or a group.

    Raises:
        UsageError: the kind is neither ``tool`` nor ``group``.
    """
    if kind not in ("tool", "group"):
        raise UsageError(f"'tool' or 'group' can be enabled and disabled, not {kind!r}")
    connection.execute(_SWITCH, {"kind": kind, "name": clean_text(name), "enabled": enabled})


@dataclass(frozen=True, slots=True)
class UserStates:
    """The settings of the user; all empty for a new home.

    Attributes:
        settings: values by their keys.
        grants: decisions on permissions.
        disabled_tools: names of disabled tools, installed or not.
        disabled_groups: names of disabled groups.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    grants: tuple[Grant, ...] = ()
    disabled_tools: frozenset[str] = frozenset()
    disabled_groups: frozenset[str] = frozenset()


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
    return UserStates(
        settings=read_settings(connection),
        grants=decided(connection),
        disabled_tools=tools.disabled_tools,
        disabled_groups=tools.disabled_groups,
    )


def _check_texts(states: UserStates) -> None:
    """Reject values of other types, which a damaged SQLite file may hold instead of a text."""
    names = (*states.settings, *states.disabled_tools, *states.disabled_groups)
    if not all(isinstance(each, str) for each in names):
        raise TypeError("what should be a text is none")
