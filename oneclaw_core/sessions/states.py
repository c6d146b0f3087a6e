"""Read what the user has set without opening the store: nothing is created, migrated or written.

Every version of the schema keeps the tables that are read here as they are.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import StoreDamagedError
from oneclaw_core.sessions import settings
from oneclaw_core.sessions.backend import backend_of, explaining
from oneclaw_core.sessions.sqlite_file import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from oneclaw_core.sessions.connection import Connection


@dataclass(frozen=True, slots=True)
class UserStates:
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


@contextmanager
def looking_into(url: str) -> Iterator[tuple[Connection, int] | None]:
    """Look into a database, all at one moment.

    Args:
        url: of the database.

    Yields:
        A connection and the version of the schema, 0 for a database that is still empty; ``None`` if there is none.

    Raises:
        StoreVersionError: a newer OneClaw wrote it.
        StoreDamagedError: it is damaged, or another program's.
        StoreError: it cannot be read.
    """
    backend = backend_of(url)
    with explaining(backend):
        connection = backend.connect_to_read()
        if connection is None:
            yield None
            return
        try:
            connection.begin(writes=False)
            yield connection, backend.version(connection, SCHEMA_VERSION)
        finally:
            connection.close()


def read_states(url: str) -> UserStates:
    """Read what the user has set.

    Args:
        url: of the database.

    Raises:
        StoreError: as for :func:`looking_into`.
    """
    with looking_into(url) as found:
        if found is None or found[1] == 0:
            return UserStates()
        connection = found[0]
        try:
            tools = settings.read_tool_states(connection)
            states = UserStates(
                settings=settings.read_settings(connection),
                permissions=settings.read_permissions(connection),
                disabled_tools=tools.disabled_tools,
                disabled_groups=tools.disabled_groups,
            )
            _check_texts(states)
        except (TypeError, ValueError) as error:
            raise StoreDamagedError("the database holds a damaged setting: put a backup copy in its place") from error
        return states


def _check_texts(states: UserStates) -> None:
    """Refuse what a damaged SQLite file may hold in the place of a text."""
    names = (*states.settings, *states.permissions, *states.disabled_tools, *states.disabled_groups)
    if not all(isinstance(each, str) for each in (*names, *states.permissions.values())):
        raise TypeError("what should be a text is none")
