"""Reading what the user has set without SQLAlchemy, whose import takes half a second that no listing has.

Every version of the schema keeps the three tables that are read here readable in this way.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import StoreDamagedError, StoreError
from oneclaw_core.store.sqlite_file import explained, stored_version

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_BUSY_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class QuickStates:
    """What the user has set; all empty for a new home.

    Attributes:
        settings: values by their keys.
        permissions: ``grant`` or ``deny`` by the permission's name.
        disabled_tools: names of disabled tools, installed or not.
        disabled_groups: names of disabled groups.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    permissions: Mapping[str, str] = field(default_factory=dict)
    disabled_tools: frozenset[str] = frozenset()
    disabled_groups: frozenset[str] = frozenset()


def read_states(database_path: Path) -> QuickStates:
    """Read what the user has set, without writing to the file.

    Args:
        database_path: the SQLite file; a missing one counts as empty.

    Raises:
        StoreVersionError: a newer OneClaw wrote the file.
        StoreDamagedError: it is damaged, or another program's.
        StoreError: it cannot be read.
    """
    try:
        if not database_path.exists():
            return QuickStates()
    except OSError as error:
        raise StoreError(
            f"the database {database_path} cannot be read ({error.strerror}): let this user read its directory"
        ) from error
    address = database_path.absolute().as_uri() + "?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)) as connection:
            # One transaction, so that all tables are seen in one state.
            connection.execute("BEGIN")
            if stored_version(connection.execute, database_path) == 0:
                return QuickStates()
            return QuickStates(
                settings=_settings(connection),
                permissions=dict(connection.execute("SELECT name, decision FROM permissions ORDER BY name")),
                disabled_tools=_disabled(connection, "tool"),
                disabled_groups=_disabled(connection, "group"),
            )
    except sqlite3.Error as error:
        raise explained(error, database_path) from error
    except (ValueError, TypeError, RecursionError) as error:
        raise StoreDamagedError(
            f"the database {database_path} holds a damaged setting: put a backup copy in its place"
        ) from error


def _settings(connection: sqlite3.Connection) -> dict[str, Any]:
    return {key: json.loads(value) for key, value in connection.execute("SELECT key, value FROM settings ORDER BY key")}


def _disabled(connection: sqlite3.Connection, kind: str) -> frozenset[str]:
    rows = connection.execute("SELECT name FROM tool_states WHERE kind = ? AND NOT enabled", (kind,))
    return frozenset(name for (name,) in rows)
