"""`oneclaw groups`: the tool groups there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from oneclaw_core.cli.catalog import load_catalog
from oneclaw_core.cli.command_group import CommandGroup
from oneclaw_core.cli.output import json_option, print_json, print_table
from oneclaw_core.tools.toolset import one_line

if TYPE_CHECKING:
    from oneclaw_core.cli.catalog import HomeCatalog
    from oneclaw_core.tools.toolset import ToolGroupDefinition

_DESCRIPTION_CHARACTERS = 100


@click.group(cls=CommandGroup)
def groups() -> None:
    """List tool groups; `oneclaw tools disable --group NAME` disables one."""


@groups.command("list")
@json_option
def list_groups(as_json: bool) -> None:
    """List all tool groups, disabled ones included."""
    catalog = load_catalog()
    tool_names = catalog.registry.get_tool_groups()
    documents = [
        _document(catalog, group, tool_names.get(group.name, []))
        for group in catalog.registry.get_all_group_definitions()
    ]
    if as_json:
        print_json(documents)
    else:
        print_table(("name", "plugin", "tools", "state", "description"), [_row(each) for each in documents])


def _document(catalog: HomeCatalog, group: ToolGroupDefinition, tool_names: list[str]) -> dict[str, Any]:
    return {
        "name": group.name,
        "display_name": group.display_name,
        "description": group.description,
        "plugin": _plugin_of(catalog, group.name, tool_names),
        "tools": tool_names,
        "enabled": group.name not in catalog.states.disabled_groups,
    }


def _plugin_of(catalog: HomeCatalog, name: str, tool_names: list[str]) -> str | None:
    """The plugin that the group's metadata come from; of generated ones, the plugin of the first tool."""
    for record in catalog.plugins:
        if name in record.groups:
            return record.name
    source = catalog.registry.get_source_info(tool_names[0]) if tool_names else None
    return source.plugin if source is not None else None


def _row(document: dict[str, Any]) -> tuple[str, ...]:
    return (
        document["name"],
        document["plugin"] or "",
        str(len(document["tools"])),
        "enabled" if document["enabled"] else "disabled",
        one_line(document["description"], _DESCRIPTION_CHARACTERS),
    )
