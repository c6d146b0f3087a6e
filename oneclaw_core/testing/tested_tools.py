"""Finding the tool that a test means by a name or a function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.errors import ToolDefinitionError
from oneclaw_core.plugins.catalogue.merging import LazyTool
from oneclaw_core.tools.definition import ToolDefinition
from oneclaw_core.tools.function import FunctionTool
from oneclaw_core.tools.manifest_tool import ManifestTool
from oneclaw_core.tools.registry import ToolRegistry, ToolSourceInfo, ToolSourceType

if TYPE_CHECKING:
    from oneclaw_core.tools.definition import Tool


def tool_name(tool: Tool | object, registry: ToolRegistry) -> str:
    """Find the name under which a tool is registered.

    Args:
        tool: a name, a function with ``@tool``, a ``Tool`` object, or the function that a manifest names.
        registry: the tools there are; a tool that is none of them is registered.

    Raises:
        ToolDefinitionError: it is no tool.
        DuplicateToolError: another tool has its name.
    """
    if isinstance(tool, str):
        return tool
    for name in registry.get_all_tool_names():
        registered = registry.get_tool(name)
        if registered is tool or _runs(registered, tool):
            return name
    definition = getattr(tool, "definition", None)
    if not isinstance(definition, ToolDefinition):
        raise ToolDefinitionError(
            f"{tool!r} is no tool: give its name, decorate it with @tool, or name it in the manifest of a plugin that "
            "is loaded in this test (see the fixture oneclaw_plugins)"
        )
    registry.register(tool, ToolSourceInfo(ToolSourceType.PLUGIN, plugin="test"))  # type: ignore[arg-type]  # it checks
    return definition.name


def _runs(registered: Tool | None, function: object) -> bool:
    place = f"{getattr(function, '__module__', None)}:{getattr(function, '__qualname__', None)}"
    if isinstance(registered, ManifestTool):
        return f"{registered.target.module}:{registered.target.attribute}" == place
    if not isinstance(registered, LazyTool):
        return False
    if registered.entry.target is not None:
        return registered.entry.target == place
    # Registered by an installed plugin that is not imported yet.
    return isinstance(function, FunctionTool) and registered.name == function.name
