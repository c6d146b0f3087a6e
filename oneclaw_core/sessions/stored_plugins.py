"""The storage of plugins in the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.sessions.store_part import StorePart

if TYPE_CHECKING:
    from oneclaw_core.sessions.plugin_storage import PluginStorage
    from oneclaw_core.sessions.plugin_tables import PluginContent


class StoredPlugins(StorePart):
    """Values and tables of plugins."""

    def plugin_storage(self, plugin: str) -> PluginStorage:
        """Return the storage of a plugin by its name."""
        from oneclaw_core.sessions.plugin_storage import PluginStorage
        from oneclaw_core.sessions.plugin_tables import PluginDatabases

        if self._plugin_databases is None:
            self._plugin_databases = PluginDatabases(self._database.backend)
        return PluginStorage(self._database, self._plugin_databases, plugin)

    async def plugin_content(self, plugin: str) -> PluginContent:
        """Count and list what a plugin has stored."""
        from oneclaw_core.sessions import plugin_tables

        return await self._database.read(plugin_tables.content, self._database.backend, plugin)

    async def forget_plugin(self, plugin: str) -> PluginContent:
        """Remove everything that a plugin has stored: values, tables and the version of its tables."""
        from oneclaw_core.sessions import plugin_tables

        return await self._database.write(plugin_tables.forget, self._database.backend, plugin)
