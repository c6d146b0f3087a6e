"""The storage of a plugin: values by keys, and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import UsageError
from oneclaw_core.sessions import plugin_values
from oneclaw_core.sessions.sessions import check_id

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from oneclaw_core.sessions.database import Database
    from oneclaw_core.sessions.plugin_tables import PluginDatabases, PluginTables
    from oneclaw_core.sessions.storage_connection import StorageConnection


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

    @property
    def url(self) -> str:
        """The URL of a database for an engine that opens one by itself.

        With SQLite that is a file beside OneClaw's own, with PostgreSQL the same database, with its password. What is
        in it is up to the plugin: OneClaw neither copies nor removes it.
        """
        return self._database.backend.plugin_url(self._plugin)

    async def get(self, key: str, default: Any = None) -> Any:
        """Read a value, the default if there is none or it has expired."""
        return await self._database.read(plugin_values.read, self._plugin, self._session_id, key, default)

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
        plugin_values.check_key(key)
        await self._database.write(plugin_values.write, self._plugin, self._session_id, key, value, ttl_seconds)

    async def set_if_absent(self, key: str, value: Any, *, ttl_seconds: float | None = None) -> bool:
        """Store a value unless there is one, as :meth:`set` does; return True if it was stored.

        Of several processes that do so at once, one gets True.
        """
        plugin_values.check_key(key)
        return await self._database.write(
            plugin_values.write,
            self._plugin,
            self._session_id,
            key,
            value,
            ttl_seconds,
            only_if_absent=True,
        )

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
        plugin_values.check_key(key)
        return await self._database.write(plugin_values.change, self._plugin, self._session_id, key, function)

    async def delete(self, key: str) -> bool:
        """Delete a value; return True if there was one."""
        return await self._database.write(plugin_values.remove, self._plugin, self._session_id, key)

    async def list(self, prefix: str = "") -> dict[str, Any]:
        """Read the values whose keys begin with a prefix, by their keys in order."""
        return await self._database.read(plugin_values.listed, self._plugin, self._session_id, prefix)

    def of_session(self, session_id: str) -> PluginStorage:
        """Return the storage for values that belong to a session, and are deleted with it.

        Raises:
            NotFoundError: that is no session's id.
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
