"""The store of settings, permissions and disabled tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_core.sessions import settings
from oneclaw_core.sessions.store_part import StorePart

if TYPE_CHECKING:
    from collections.abc import Callable

    from oneclaw_core.sessions.settings import Decision, SwitchKind, ToolStates


class StoredSettings(StorePart):
    """Settings, permissions and disabled tools."""

    async def settings(self) -> dict[str, Any]:
        """Read all settings."""
        return await self._database.read(settings.read_settings)

    async def set_setting(self, key: str, value: Any) -> None:
        """Store a setting.

        Raises:
            SettingsError: JSON cannot hold the value.
        """
        await self._database.write(settings.set_setting, key, value)

    async def change_setting(self, key: str, change: Callable[[Any], Any]) -> Any:
        """Change a setting in one transaction, so that concurrent changes are not lost.

        Args:
            key: of the setting.
            change: returns the new value for the current one; ``None`` stands for the default. It runs in another
                thread, and may be called again.

        Returns:
            The previous value.

        Raises:
            SettingsError: JSON cannot hold the value.
        """
        return await self._database.write(settings.change_setting, key, change)

    async def remove_setting(self, key: str) -> bool:
        """Reset a setting to its default; return True if it was set."""
        return await self._database.write(settings.remove_setting, key)

    async def permissions(self) -> dict[str, str]:
        """Read the user's decisions: ``grant`` or ``deny`` by the permission's name."""
        return await self._database.read(settings.read_permissions)

    async def set_permission(self, name: str, decision: Decision) -> None:
        """Store a decision of the user.

        Raises:
            UsageError: it is neither ``grant`` nor ``deny``.
        """
        await self._database.write(settings.set_permission, name, decision)

    async def remove_permission(self, name: str) -> bool:
        """Remove a decision; return True if there was one."""
        return await self._database.write(settings.remove_permission, name)

    async def reset_permissions(self) -> int:
        """Remove and count all decisions."""
        return await self._database.write(settings.reset_permissions)

    async def tool_states(self) -> ToolStates:
        """Read which tools and groups are disabled."""
        return await self._database.read(settings.read_tool_states)

    async def set_tool_enabled(self, kind: SwitchKind, name: str, enabled: bool) -> None:
        """Enable or disable a tool or a group, installed or not.

        Raises:
            UsageError: the kind is neither ``tool`` nor ``group``.
        """
        await self._database.write(settings.set_tool_enabled, kind, name, enabled)
