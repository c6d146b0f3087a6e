"""The core tools by which a model finds tool groups, and loads one."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from oneclaw_core.types.tool_groups import (
    FIND_TOOL_GROUPS,
    LISTED_DESCRIPTION_CHARACTERS,
    LOAD_TOOL_GROUP,
    SCRIPT_TOOL,
    ToolGroupDefinition,
    one_line,
)
from oneclaw_core.types.tools import ALL_TOOLS, SelfRunningTool, ToolBehaviour, ToolDefinition, ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from oneclaw_core.tools.context import ToolContext
    from oneclaw_core.tools.registry import ToolRegistry, Toolset

    TypesOfResults = Callable[[Sequence[ToolDefinition]], str]


class LoadToolGroupTool(SelfRunningTool):
    """The core tool by which a model makes a group's tools active (RFC-040, step 3).

    Args:
        registry: the tools there are.
        types_of_results: writes what tools give to scripts; ``""`` for nothing.
    """

    def __init__(self, registry: ToolRegistry, types_of_results: TypesOfResults = lambda definitions: "") -> None:
        self._registry = registry
        self._types_of_results = types_of_results
        self.definition = ToolDefinition(
            name=LOAD_TOOL_GROUP,
            description="Load all tools in a tool group to make them available for use. "
            "You MUST load a tool group before you can use any tools in it. "
            "After loading, the tools will be available for the rest of this conversation.",
            parameters={
                "type": "object",
                "properties": {"group_name": {"type": "string", "description": "The name of the tool group to load"}},
                "required": ["group_name"],
            },
            read_only=True,
            timeout_seconds=5,
            # The spec gives this tool special error types for bad arguments.
            behaviour=ToolBehaviour(checks_own_arguments=True),
        )

    async def execute(self, arguments: dict[str, Any], context: ToolContext | None = None) -> ToolResult:
        """List the tools of the group. The turn makes them active if the call succeeds.

        Args:
            arguments: ``{"group_name": ...}``.
            context: says which tools the agent may have; without one, all.

        Returns:
            The tools' names and descriptions, or one of the errors ``missing_parameter``, ``not_found`` and
            ``empty_group``.
        """
        name = arguments.get("group_name")
        if not isinstance(name, str):
            return ToolResult.error("missing_parameter", "Required parameter 'group_name' is missing.")
        group = self._registry.get_group_definition(name)
        selection = context.selection if context is not None else ALL_TOOLS
        tools = self._registry.toolset(selection)
        if group is None or not tools.has_group(name):
            known = self._known_groups(tools) if selection.is_everything else tools.groups
            if tools.finds_groups:
                known = [each for each in known if not each.may_be_unlisted]
            available = ", ".join(each.name for each in known) or "none"
            if tools.finds_groups:
                available += f", and others, which {FIND_TOOL_GROUPS} finds"
            text = f"Tool group '{name}' not found. Available groups: {available}"
            missing = self._registry.how_to_get("tool group", name) if group is None else None
            return ToolResult.error("not_found", text if missing is None else f"{text}; {missing}")
        open_group = self._registry.get_group_opener(name)
        if open_group is not None and not self._registry.is_group_disabled(name):
            with context.paused() if context is not None else nullcontext():
                await open_group()
        definitions = self._registry.toolset(selection).tools_of(name)
        if not definitions:
            return ToolResult.error("empty_group", f"Tool group '{name}' has no available tools.")
        if context is not None:
            for each in definitions:
                found = self._registry.find(each.name)
                if found is not None and found.source.is_foreign:
                    context.mark_outside(f"the descriptions of the tools in the group {name}")
                    break
        lines = "\n".join(f"- {each.name}: {one_line(each.description)}" for each in definitions)
        loaded = f"Loaded {len(definitions)} tools from group '{group.display_name}':\n{lines}"
        if not (self._registry.is_enabled(SCRIPT_TOOL) and tools.allows(SCRIPT_TOOL)):
            return ToolResult.success(loaded)
        return ToolResult.success("\n\n".join(filter(None, [loaded, self._types_of_results(definitions)])))

    def _known_groups(self, tools: Toolset) -> list[ToolGroupDefinition]:
        """Return the groups listed to an agent with all tools: empty ones too (RFC-040, step 3), disabled ones not."""
        loadable = {group.name for group in tools.groups}
        with_tools = self._registry.get_tool_groups()
        return [
            group
            for group in self._registry.get_all_group_definitions()
            if group.name in loadable
            or (group.name not in with_tools and not self._registry.is_group_disabled(group.name))
        ]


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
