"""A tool of a plugin whose code is imported when it first runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.manifests.manifest import ManifestTool
from oneclaw_core.plugins.first_use import load_object
from oneclaw_core.tools.invoke import DeferredTool, FunctionTarget

if TYPE_CHECKING:
    from oneclaw_core.plugins.plugin import Plugin, Registration
    from oneclaw_core.types.tools import Tool, ToolDefinition


class LazyTool(DeferredTool):
    """A tool known by its registration, whose code is imported when it first runs.

    Attributes:
        registration: what is known about it.
    """

    def __init__(self, registration: Registration, definition: ToolDefinition, plugin: Plugin) -> None:
        super().__init__(definition)
        self.registration = registration
        self._plugin = plugin

    def __repr__(self) -> str:
        return f"<tool {self.name} of plugin {self._plugin.name}>"

    async def _load(self) -> Tool:
        registration = self.registration
        if registration.target is not None:
            module, _, attribute = registration.target.partition(":")
            target = FunctionTarget(module, attribute, str(registration.options.get("origin", "")))
            return ManifestTool(self.definition, target)
        tool: Tool = await load_object(self._plugin, registration)
        return tool
