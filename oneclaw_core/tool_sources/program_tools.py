"""The tools that an embedding program adds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.plugins.plugin import PROGRAM_PLUGIN, Plugin
from oneclaw_core.types.tool_groups import ToolGroupDefinition, generated_group_definition
from oneclaw_core.types.tools import ToolSourceInfo, ToolSourceType

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core.plugins.catalog import Catalog
    from oneclaw_core.types.tool_definition import Tool


def add_program_tools(catalog: Catalog, tools: Iterable[Tool], group: str | ToolGroupDefinition | None) -> None:
    """Register tools; see :meth:`oneclaw_core.OneClaw.add_tools`."""
    registry = catalog.registry
    plugin = next((each for each in catalog.plugins if each.name == PROGRAM_PLUGIN), None)
    if plugin is None:
        plugin = Plugin(PROGRAM_PLUGIN, target="the embedding program", has_own_loop=False)
        catalog.plugins.append(plugin)
    name = group.name if isinstance(group, ToolGroupDefinition) else group
    for each in tools:
        own_group = name or getattr(each, "group", None)
        kind = ToolSourceType.TOOL_GROUP if own_group else ToolSourceType.PLUGIN
        registry.register(each, ToolSourceInfo(kind, own_group, PROGRAM_PLUGIN))
        plugin.tools.append(each.definition.name)
        if isinstance(group, ToolGroupDefinition):
            registry.register_group(group, PROGRAM_PLUGIN)
        elif own_group and registry.get_group_definition(own_group) is None:
            names = registry.get_tool_groups().get(own_group, [])
            registry.register_group(generated_group_definition(own_group, names), PROGRAM_PLUGIN)
