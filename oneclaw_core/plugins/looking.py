"""The first look at a plugin in this process: import it and call its registration hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.config.plugin_settings import describe_settings
from oneclaw_core.plugins import isolation
from oneclaw_core.plugins.manager import PluginManager
from oneclaw_core.process.process_state import restored

if TYPE_CHECKING:
    from oneclaw_core.plugins.plugin import Plugin
    from oneclaw_core.tools.registry import ToolRegistry


class Looker:
    """Looks at plugins in this process, each in a daemon thread with a time limit.

    Args:
        registry: passed to ``register_tools``.

    Attributes:
        manager: the plugin manager.
    """

    def __init__(self, registry: ToolRegistry) -> None:
        self._registry = registry
        self.manager = PluginManager(registry)

    def look(self, plugin: Plugin) -> None:
        """Find out what a plugin registers, and undo what its import does to the process."""
        manager = self.manager

        def describe() -> None:
            loaded = manager.describe(plugin)
            describe_settings(plugin)
            plugin.loaded = loaded if plugin.given is not None else None

        with restored(plugin):
            try:
                isolation.ForeignCall(describe, f"look at {plugin.name}", isolation.LOAD_SECONDS).wait()
            except TimeoutError:
                step = manager.step[plugin.name]
                cause = f"it did not end within {isolation.LOAD_SECONDS:g} s"
                plugin.report(step, cause, plugin.remedy, check="import.hangs" if step == "import" else "hooks.hangs")
                self.manager = PluginManager(self._registry)  # the thread that goes on has the other one
