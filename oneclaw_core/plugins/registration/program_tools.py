"""Register tools of the embedding program, which has no plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.plugins.registration.record import PROGRAM_PLUGIN, PluginRecord
from oneclaw_core.tools.registry import ToolSourceInfo, ToolSourceType
from oneclaw_core.tools.toolset import ToolGroupDefinition, generated_group_definition

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core.plugins.catalogue.merging import Catalog
    from oneclaw_core.tools.definition import Tool


def add_program_tools(catalog: Catalog, tools: Iterable[Tool], group: str | ToolGroupDefinition | None) -> None:
    """Register tools; see :meth:`oneclaw_core.OneClaw.add_tools`."""
    registry = catalog.registry
    record = next((each for each in catalog.plugins if each.name == PROGRAM_PLUGIN), None)
    if record is None:
        record = PluginRecord(PROGRAM_PLUGIN, target="the embedding program")
        catalog.plugins.append(record)
    name = group.name if isinstance(group, ToolGroupDefinition) else group
    for each in tools:
        own_group = name or getattr(each, "group", None)
        kind = ToolSourceType.TOOL_GROUP if own_group else ToolSourceType.PLUGIN
        registry.register(each, ToolSourceInfo(kind, own_group, PROGRAM_PLUGIN))
        record.tools.append(each.definition.name)
        if isinstance(group, ToolGroupDefinition):
            registry.register_group(group, PROGRAM_PLUGIN)
        elif own_group and registry.get_group_definition(own_group) is None:
            names = registry.get_tool_groups().get(own_group, [])
            registry.register_group(generated_group_definition(own_group, names), PROGRAM_PLUGIN)
