"""The base of the parts of the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from oneclaw_core.sessions.fences import fenced

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from oneclaw_core.sessions.connection import Connection
    from oneclaw_core.sessions.database import Database
    from oneclaw_core.sessions.plugin_tables import PluginDatabases

    Arguments = ParamSpec("Arguments")

Value = TypeVar("Value")


class StorePart:
    """Methods of the store about one concept. Each is one transaction on the database that all parts share."""

    def __init__(self, database: Database, lock_directory: Path) -> None:
        self._database = database
        self._locks = database.backend.session_locks(lock_directory)
        self._plugin_databases: PluginDatabases | None = None
        # By session, the tokens of the locks that this process holds.
        self._tokens: dict[str, int] = {}

    def _write_own(
        self,
        work: Callable[Concatenate[Connection, str, Arguments], Value],
        session_id: str,
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Coroutine[Any, Any, Value]:
        """Write to a session, unless its lock was acquired here and another process has acquired it since."""
        return self._database.write(fenced(work, self._tokens.get(session_id)), session_id, *args, **kwargs)
