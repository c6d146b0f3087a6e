"""The choices of the user in an open home: settings, decisions on permissions, disabled tools and plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_core.config.setting_fields import read_timeout
from oneclaw_core.config.settings import read_settings, validated_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core.config.core_settings import Settings
    from oneclaw_core.permissions.decisions import Decisions
    from oneclaw_core.project.trust import Project
    from oneclaw_core.sessions.settings import ToolStates, UserStates
    from oneclaw_core.sessions.store import Store
    from oneclaw_core.sessions.turns import TurnSetup, TurnStart
    from oneclaw_core.tool_sources.tool_sources import ToolSources
    from oneclaw_core.tools.registry import ToolRegistry


class UserChoices:
    """The choices of the user, which another process may change at any time.

    Args:
        store: keeps them.
        environ: the environment with settings.
        registry: the tools.
        decisions: on permissions.
        tool_sources: of plugins.
        project: the start directory.
    """

    def __init__(
        self,
        store: Store,
        environ: Mapping[str, str],
        registry: ToolRegistry,
        decisions: Decisions,
        tool_sources: ToolSources,
        project: Project,
    ) -> None:
        self._store = store
        self._environ = environ
        self._registry = registry
        self._decisions = decisions
        self._tool_sources = tool_sources
        self._project = project
        self._used: Mapping[str, Any] | None = None

    def read(self, setup: TurnSetup) -> Settings:
        """Read the settings of OneClaw for a turn."""
        return read_settings(setup.settings, self._environ)

    async def settings(self) -> Settings:
        """Read the settings of OneClaw as they are now."""
        return validated_settings(await self._store.settings(), self._environ)

    def use_setup(self, setup: TurnSetup) -> None:
        """Use what is stored as a turn is resolved."""
        self._use_settings(setup.settings)
        self._use_tools(setup.tool_states)

    def use_start(self, start: TurnStart) -> None:
        """Use what is stored as a turn begins."""
        self._decisions.replace(start.grants)
        self._use_tools(start.tool_states)

    def use(self, states: UserStates) -> None:
        """Use what is stored by now."""
        self._decisions.replace(states.grants)
        self._use_tools(states)
        self._use_settings(states.settings)

    async def refresh(self) -> UserStates:
        """Read what is stored by now, use it, and return it."""
        states = await self._store.user_states()
        self.use(states)
        return states

    async def refresh_tools(self) -> None:
        """Use the tools and groups that are disabled by now."""
        self._use_tools(await self._store.tool_states())

    def _use_tools(self, states: ToolStates | UserStates) -> None:
        self._registry.set_disabled(states.disabled_tools, states.disabled_groups)

    def _use_settings(self, stored: Mapping[str, Any]) -> None:
        if stored == self._used:
            return
        self._used = stored
        self._project.use_pins(stored)
        disabled = disabled_plugins(stored, self._environ)
        self._tool_sources.set_disabled(disabled)
        self._registry.set_disabled_plugins(disabled)


def disabled_plugins(stored: Mapping[str, Any], environ: Mapping[str, str]) -> frozenset[str]:
    """Read the one setting that is needed before anything else.

    An invalid value counts as none, so that listings work whatever is stored.
    """
    return frozenset(listed_setting(stored, environ, "disabled_plugins"))


def review_required(stored: Mapping[str, Any], environ: Mapping[str, str]) -> bool:
    """Read the setting ``reviewed_plugins_only`` before settings are validated; an invalid value counts as on."""
    value = environ.get("ONECLAW_REVIEWED_PLUGINS_ONLY") or stored.get("reviewed_plugins_only", False)
    return value is not False and str(value).strip().casefold() not in ("false", "no", "off", "0")


def listed_setting(stored: Mapping[str, Any], environ: Mapping[str, str], key: str) -> list[str]:
    """Read a setting that is a list of texts, before settings are validated."""
    value = environ.get(f"ONECLAW_{key.upper()}") or stored.get(key, ())
    items = value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else ()
    return [str(each).strip() for each in items if str(each).strip()]


def hook_timeouts(stored: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, float]:
    """Return the user's time limits of hooks in seconds, by plugin; what cannot be read is left out."""
    read = map(read_timeout, listed_setting(stored, environ, "hook_timeouts"))
    return dict(each for each in read if each is not None)
