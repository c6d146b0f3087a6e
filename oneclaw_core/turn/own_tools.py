"""The tools that a program gives to one turn alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.errors import DuplicateToolError, UsageError
from oneclaw_core.plugins.plugin import PROGRAM_PLUGIN
from oneclaw_core.tools.registry import RegisteredTool, ToolRegistry, definition_of
from oneclaw_core.types.tools import ToolSourceInfo, ToolSourceType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from oneclaw_core.types.tool_definition import Tool

OF_TURN = ToolSourceInfo(ToolSourceType.PLUGIN, plugin=PROGRAM_PLUGIN)


def tools_of_turn(given: Iterable[Tool], registry: ToolRegistry) -> Mapping[str, RegisteredTool]:
    """Return the tools of a turn by their names, in the order in which they were given.

    Raises:
        UsageError: they are no list.
        ToolDefinitionError: one is no tool.
        DuplicateToolError: the name of one is taken.
    """
    try:
        tools = tuple(given)
    except TypeError:
        raise UsageError(f"tools must be a list of tools, not {type(given).__name__}") from None
    found: dict[str, RegisteredTool] = {}
    for tool in tools:
        definition = definition_of(tool)
        name = definition.name
        if name in found or registry.find(name, reads=False) is not None:
            holder = "given twice" if name in found else "there already"
            raise DuplicateToolError(f"a tool named {name!r} is {holder}: give the tool of this turn another name")
        found[name] = RegisteredTool(tool, definition, OF_TURN)
    return found
