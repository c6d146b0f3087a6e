"""Read what the user has set without opening the store: nothing is created, migrated or written.

Every version of the schema keeps the tables that are read here as they are.
"""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import StoreDamagedError
from oneclaw_core.sessions import settings
from oneclaw_core.sessions.backend import explaining

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from oneclaw_core.sessions.backend import Backend
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
def looking_into(backend: Backend) -> Iterator[Connection | None]:
    """Read a database in one transaction, without creating or migrating it.

    Yields:
        A connection; ``None`` if there is no database.

    Raises:
        StoreError: the database cannot be read.
    """
    if not backend.exists():
        yield None
        return
    with explaining(backend), closing(backend.connect_read_only()) as connection:
        connection.begin(writes=False)
        yield connection


def read_states(backend: Backend) -> UserStates:
    """Read what the user has set.

    Raises:
        StoreVersionError: a newer OneClaw wrote the database.
        StoreDamagedError: it is damaged, or belongs to another program.
        StoreError: it cannot be read.
    """
    with looking_into(backend) as connection:
        if connection is None or backend.version(connection) == 0:
            return UserStates()
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
    """Reject values of other types, which a damaged SQLite file may hold instead of a text."""
    names = (*states.settings, *states.permissions, *states.disabled_tools, *states.disabled_groups)
    if not all(isinstance(each, str) for each in (*names, *states.permissions.values())):
        raise TypeError("what should be a text is none")
