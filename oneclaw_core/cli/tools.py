"""Tools and tool groups: `oneclaw tools` and `oneclaw groups`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from oneclaw_core.cli.catalog import HomeCatalog, load_catalog
from oneclaw_core.cli.command_group import CommandGroup
from oneclaw_core.cli.output import document_of, json_option, print_listing, print_text
from oneclaw_core.cli.running import with_configuration
from oneclaw_core.types.tool_groups import one_line

if TYPE_CHECKING:
    from oneclaw_core.sessions.settings import SwitchKind
    from oneclaw_core.tools.registry import ToolRegistry

_DESCRIPTION_CHARACTERS = 100


@click.group(cls=CommandGroup)
def tools() -> None:
    """List tools, enable and disable them."""


@tools.command("list")
@click.option("--group", metavar="NAME", help="Only the tools of this tool group.")
@click.option("--agent", metavar="NAME", help="Only the tools that this agent has.")
@json_option
def list_tools(group: str | None, agent: str | None, as_json: bool) -> None:
    """List all tools, disabled ones included."""
    catalog = load_catalog()
    registry = catalog.registry
    if group is not None and registry.get_group_definition(group) is None:
        from oneclaw_core.config.configuration import check_known

        check_known(registry, "group", group)
    names = registry.get_all_tool_names() if group is None else registry.get_tool_groups().get(group, [])
    if agent is not None:
        selected = registry.toolset(
            with_configuration(lambda changes: changes.agents.get(agent), is_read_only=True).selection
        )
        names = [name for name in names if selected.allows(name)]
    columns = ("name", "group", "plugin", "state", "description")
    documents, rows = (_document(registry, name) for name in names), (_row(catalog, name) for name in names)
    print_listing(as_json, documents, columns, rows)


@tools.command("enable")
@click.argument("name")
@click.option("--group", "is_group", is_flag=True, help="NAME is a tool group.")
def enable(name: str, is_group: bool) -> None:
    """Enable a tool again, or with --group a whole tool group."""
    _switch(name, is_group, is_enabled=True)
    catalog = load_catalog()
    source = None if is_group else catalog.registry.get_source_info(name)
    if source is not None and source.group_name in catalog.states.disabled_groups:
        print_text(f"its tool group is still disabled: oneclaw tools enable --group {source.group_name}")


@tools.command("disable")
@click.argument("name")
@click.option("--group", "is_group", is_flag=True, help="NAME is a tool group.")
def disable(name: str, is_group: bool) -> None:
    """Disable a tool, or with --group a tool group.

    Models neither see nor call disabled tools.
    """
    _switch(name, is_group, is_enabled=False)


def _switch(name: str, is_group: bool, *, is_enabled: bool) -> None:
    kind: SwitchKind = "group" if is_group else "tool"
    with_configuration(lambda changes: changes.tools.switch(kind, name, is_enabled=is_enabled))
    print_text(f"{'tool group' if is_group else 'tool'} {name} is {'enabled' if is_enabled else 'disabled'}")


def _document(registry: ToolRegistry, name: str) -> dict[str, Any]:
    tool, source = registry.get_tool(name), registry.get_source_info(name)
    assert tool is not None, name
    assert source is not None, name
    return {
        "name": name,
        "description": tool.definition.description,
        "group": source.group_name,
        "plugin": source.plugin,
        "enabled": registry.is_enabled(name),
        "parameters": dict(tool.definition.parameters),
        **document_of(tool.definition, "required_permissions", "timeout_seconds"),
        **document_of(tool.definition, "read_only", "idempotent", "output_schema"),
    }


def _row(catalog: HomeCatalog, name: str) -> tuple[str, ...]:
    tool = catalog.registry.find(name)
    assert tool is not None, name
    if name in catalog.states.disabled_tools:
        state = "disabled"
    else:
        state = "enabled" if catalog.registry.is_enabled(name) else "disabled (group)"
    description = one_line(tool.definition.description, _DESCRIPTION_CHARACTERS)
    return name, tool.source.group_name or "", tool.source.plugin or "", state, description


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
        {
            **document_of(group, "name", "display_name", "description"),
            "plugin": _plugin_of_group(catalog, group.name, tool_names.get(group.name, [])),
            "tools": tool_names.get(group.name, []),
            "enabled": group.name not in catalog.states.disabled_groups,
        }
        for group in catalog.registry.get_all_group_definitions()
    ]
    print_listing(as_json, documents, ("name", "plugin", "tools", "state", "description"), map(_group_row, documents))


def _plugin_of_group(catalog: HomeCatalog, name: str, tool_names: list[str]) -> str | None:
    """The plugin that the group's metadata come from; of generated ones, the plugin of the first tool."""
    for record in catalog.plugins:
        if name in record.groups:
            return record.name
    source = catalog.registry.get_source_info(tool_names[0]) if tool_names else None
    return source.plugin if source is not None else None


def _group_row(document: dict[str, Any]) -> tuple[str, ...]:
    return (
        document["name"],
        document["plugin"] or "",
        str(len(document["tools"])),
        "enabled" if document["enabled"] else "disabled",
        one_line(document["description"], _DESCRIPTION_CHARACTERS),
    )
