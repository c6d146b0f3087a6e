"""What the user has set: settings, decisions on permissions, disabled tools and groups."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import bindparam, delete, insert, select, update

from oneclaw_core.errors import SettingsError, StoreDamagedError, UsageError
from oneclaw_core.store.schema import permissions, settings, tool_states
from oneclaw_core.store.statements import run
from oneclaw_core.store.timestamps import now
from oneclaw_core.store.write_locks import one_at_a_time
from oneclaw_core.tools.result import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import ColumnElement, Connection, Table

Decision = Literal["grant", "deny"]
SwitchKind = Literal["tool", "group"]


@dataclass(frozen=True, slots=True)
class ToolStates:
    """What is disabled, also of what is not installed now."""

    disabled_tools: frozenset[str] = frozenset()
    disabled_groups: frozenset[str] = frozenset()


_SETTINGS = select(settings.c.key, settings.c.value).order_by(settings.c.key)
_REMOVE_SETTING = delete(settings).where(settings.c.key == bindparam("it"))
_PERMISSIONS = select(permissions.c.name, permissions.c.decision).order_by(permissions.c.name)
_REMOVE_PERMISSION = delete(permissions).where(permissions.c.name == bindparam("it"))
_REMOVE_PERMISSIONS = delete(permissions)
_DISABLED = select(tool_states.c.kind, tool_states.c.name).where(tool_states.c.enabled.is_(False))


def read_settings(connection: Connection) -> dict[str, Any]:
    """Read all settings, by their keys in alphabetical order."""
    found = {}
    for key, value in run(connection, _SETTINGS).fetchall():
        try:
            found[key] = json.loads(value)
        except (ValueError, TypeError, RecursionError) as error:
            raise StoreDamagedError(
                f"the database holds a damaged setting ({key}): put a backup copy in its place"
            ) from error
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
    _put(connection, settings, {"key": clean_text(key)}, {"value": text, "updated_at": now()})


def remove_setting(connection: Connection, key: str) -> bool:
    """Take a setting back to its default.

    Returns:
        Whether it was set.
    """
    return connection.execute(_REMOVE_SETTING, {"it": clean_text(key)}).rowcount > 0


def change_setting(connection: Connection, key: str, change: Callable[[Any], Any]) -> Any:
    """Make a setting's value of the one that it has; what others do to it meanwhile is not lost.

    Args:
        connection: of a transaction that writes.
        key: of the setting.
        change: gets the value, ``None`` if it is not set, and gives the new one, ``None`` to take the setting back to
            its default; may be called again.

    Returns:
        The value that it had.

    Raises:
        SettingsError: JSON cannot hold the value.
    """
    one_at_a_time(connection, f"setting {key}")
    before = read_settings(connection).get(key)
    after = change(before)
    if after is None:
        remove_setting(connection, key)
    else:
        set_setting(connection, key, after)
    return before


def read_permissions(connection: Connection) -> dict[str, str]:
    """Read the user's decisions: ``grant`` or ``deny`` by the permission's name."""
    return dict(run(connection, _PERMISSIONS).fetchall())


def set_permission(connection: Connection, name: str, decision: Decision) -> None:
    """Remember a decision of the user.

    Raises:
        UsageError: it is neither ``grant`` nor ``deny``.
    """
    if decision not in ("grant", "deny"):
        raise UsageError(f"a decision on a permission is 'grant' or 'deny', not {decision!r}")
    _put(connection, permissions, {"name": clean_text(name)}, {"decision": decision, "updated_at": now()})


def remove_permission(connection: Connection, name: str) -> bool:
    """Forget a decision.

    Returns:
        Whether there was one.
    """
    return connection.execute(_REMOVE_PERMISSION, {"it": clean_text(name)}).rowcount > 0


def reset_permissions(connection: Connection) -> int:
    """Forget all decisions.

    Returns:
        How many there were.
    """
    return connection.execute(_REMOVE_PERMISSIONS).rowcount


def read_tool_states(connection: Connection) -> ToolStates:
    """Read what is disabled."""
    disabled: dict[str, set[str]] = {"tool": set(), "group": set()}
    for kind, name in run(connection, _DISABLED).fetchall():
        disabled.setdefault(kind, set()).add(name)
    return ToolStates(frozenset(disabled["tool"]), frozenset(disabled["group"]))


def set_tool_enabled(connection: Connection, kind: SwitchKind, name: str, enabled: bool) -> None:
    """Switch a tool or a group on or off.

    Raises:
        UsageError: the kind is neither ``tool`` nor ``group``.
    """
    if kind not in ("tool", "group"):
        raise UsageError(f"'tool' or 'group' can be enabled and disabled, not {kind!r}")
    _put(connection, tool_states, {"kind": kind, "name": clean_text(name)}, {"enabled": enabled})


def _put(connection: Connection, table: Table, key: dict[str, Any], values: dict[str, Any]) -> None:
    """Change the row of a key, or add it."""
    one_at_a_time(connection, table.name)
    conditions: list[ColumnElement[bool]] = [table.c[name] == value for name, value in key.items()]
    if connection.execute(update(table).where(*conditions).values(**values)).rowcount == 0:
        connection.execute(insert(table).values(**key, **values))
