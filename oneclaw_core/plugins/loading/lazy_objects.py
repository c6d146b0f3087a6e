"""Stand-ins for objects of a plugin that is not imported yet; they import it at their first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from oneclaw_core.errors import PluginError

if TYPE_CHECKING:
    from oneclaw_core.plugins.registration.entry import ToolEntry
    from oneclaw_core.plugins.registration.record import PluginRecord
    from oneclaw_core.tools.context import ToolContext
    from oneclaw_core.tools.definition import Tool, ToolDefinition
    from oneclaw_core.types.tools import ToolResult


class LazyTool:
    """A tool known by its entry, whose code is imported when it first runs.

    Attributes:
        definition: what a model is told about it.
        entry: what else is known about it.
        isolation: as of the tool.
        asks_itself: likewise.
        checks_own_arguments: likewise.
    """

    def __init__(self, entry: ToolEntry, record: PluginRecord) -> None:
        self.definition: ToolDefinition = entry.definition
        self.entry = entry
        self.isolation = entry.isolation
        self.asks_itself = entry.asks_itself
        self.checks_own_arguments = entry.checks_own_arguments
        self._record = record
        self._tool: Tool | None = None

    def __repr__(self) -> str:
        return f"<tool {self.name} of plugin {self._record.name}>"

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.definition.name

    @property
    def description(self) -> str:
        """The description that a model is sent."""
        return self.definition.description

    async def execute(self, arguments: dict[str, Any], context: ToolContext | None = None) -> ToolResult:
        """Run the tool, importing its code before the first time.

        Args:
            arguments: as for the tool.
            context: likewise; by default one outside a call of the executor, in the home and the current directory.

        Raises:
            PluginError: the plugin cannot be imported, or does not have the tool any more.
        """
        from oneclaw_core.tools.call import invoke
        from oneclaw_core.tools.context import detached_context

        return await invoke(await self.loaded(), arguments, context or detached_context(self.name))

    async def loaded(self) -> Tool:
        """Return the tool itself.

        Raises:
            PluginError: the plugin cannot be imported, or does not have the tool any more.
        """
        if self._tool is None:
            self._tool = self._of_manifest() if self.entry.target is not None else await self._of_plugin()
        return self._tool

    def _of_manifest(self) -> Tool:
        from oneclaw_core.tools.manifest_tool import FunctionTarget, ManifestTool

        module, _, attribute = str(self.entry.target).partition(":")
        target = FunctionTarget(module, attribute, self.entry.origin)
        isolation: Literal["process"] | None = "process" if self.isolation == "process" else None
        return ManifestTool(self.definition, target, isolation, asks_itself=self.asks_itself)

    async def _of_plugin(self) -> Tool:
        loaded = await self._record.load()
        tool = loaded.tools.get(self.name)
        if tool is None:
            raise PluginError(
                f"the plugin {self._record.name} does not register the tool {self.name!r} any more: upgrade "
                f"{self._record.distribution or 'it'}, or disable it with: oneclaw plugins disable "
                f"{self._record.name}"
            )
        return tool
