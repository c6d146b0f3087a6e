"""The core tool that finds tool groups which a long list leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_core.types.tool_definition import SelfRunningTool, ToolDefinition
from oneclaw_core.types.tool_groups import FIND_TOOL_GROUPS, LISTED_DESCRIPTION_CHARACTERS, LOAD_TOOL_GROUP, one_line
from oneclaw_core.types.tools import ALL_TOOLS, ToolResult

if TYPE_CHECKING:
    from oneclaw_core.tools.context import ToolContext
    from oneclaw_core.tools.registry import ToolRegistry

_MAX_GROUPS = 10
_MAX_TOOLS = 5


class FindToolGroupsTool(SelfRunningTool):
    """The core tool by which a model finds groups; a request has it only if the list of groups is long."""

    def __init__(self, registry: ToolRegistry) -> None:
        self._registry = registry
        self.definition = ToolDefinition(
            name=FIND_TOOL_GROUPS,
            description="Find tool groups that are not listed, by what their tools can do. "
            f"Returns names of groups; load one with {LOAD_TOOL_GROUP} to use its tools.",
            parameters={
                "type": "object",
                "properties": {"query": {"type": "string", "description": "Words for what is to be done"}},
                "required": ["query"],
                "additionalProperties": False,
            },
            read_only=True,
            timeout_seconds=30,
        )

    async def execute(self, arguments: dict[str, Any], context: ToolContext | None = None) -> ToolResult:
        """Rank the groups of the agent by the query.

        Returns:
            A line for each group, with the tools in it that fit.
        """
        registry = self._registry
        index = await registry.search.index()
        toolset = registry.toolset(context.selection if context is not None else ALL_TOOLS)
        groups = {each.name: each for each in toolset.groups}

        def accepts(group: str | None, tool: str | None) -> bool:
            return group in groups and (tool is None or (registry.is_enabled(tool) and toolset.allows(tool)))

        found = index.find_groups(arguments["query"], _MAX_GROUPS, accepts)
        if not found:
            return ToolResult.success("No tool group fits. Try other words for what is to be done.")
        if context is not None and any(self._is_foreign(tools) for _, tools in found):
            context.mark_outside("the descriptions of tool groups")
        lines = (self._line(groups[name].description, name, tools) for name, tools in found)
        return ToolResult.success("\n".join(lines))

    def _line(self, description: str, name: str, tools: list[str]) -> str:
        fitting = f" Tools that fit: {', '.join(tools[:_MAX_TOOLS])}" if tools else ""
        return f"- {name}: {one_line(description, LISTED_DESCRIPTION_CHARACTERS)}{fitting}"

    def _is_foreign(self, tools: list[str]) -> bool:
        sources = (self._registry.get_source_info(name) for name in tools[:_MAX_TOOLS])
        return any(source is not None and source.is_foreign for source in sources)
