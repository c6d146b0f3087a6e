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
from oneclaw_core.store import postgres_address
from oneclaw_core.store.sqlite_file import DRIVER_ERRORS, explained, path_of, stored_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
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


def states_of(url: str) -> QuickStates:
    """Read what the user has set, without changing the database.

    Args:
        url: of the database.

    Raises:
        StoreVersionError: a newer OneClaw wrote it.
        StoreDamagedError: it is damaged, or another program's.
        StoreError: it cannot be read.
    """
    if not postgres_address.is_meant(url):
        return read_states(path_of(url))
    from oneclaw_core.store.postgres_states import one_state

    with one_state(url) as (name, version, query):
        return QuickStates() if version == 0 else _read(query, name)


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
            return _read(connection.execute, str(database_path))
    except DRIVER_ERRORS as error:
        raise explained(error, database_path) from error


def _read(query: Callable[[str], Iterable[Sequence[Any]]], name: str) -> QuickStates:
    try:
        disabled = _texts(query("SELECT kind, name FROM tool_states WHERE NOT enabled"))
        settings = _texts(query("SELECT key, value FROM settings ORDER BY key"))
        return QuickStates(
            settings={key: json.loads(value) for key, value in settings},
            permissions=dict(_texts(query("SELECT name, decision FROM permissions"))),
            disabled_tools=frozenset(tool for kind, tool in disabled if kind == "tool"),
            disabled_groups=frozenset(tool for kind, tool in disabled if kind == "group"),
        )
    except (ValueError, TypeError, RecursionError) as error:
        raise StoreDamagedError(
            f"the database {name} holds a damaged setting: put a backup copy in its place"
        ) from error


def _texts(rows: Iterable[Sequence[Any]]) -> list[tuple[str, str]]:
    """Take pairs of texts; a damaged SQLite file may hold anything in their place."""
    pairs = [(one, other) for one, other in rows]
    if not all(isinstance(each, str) for pair in pairs for each in pair):
        raise TypeError("what should be a text is none")
    return pairs
