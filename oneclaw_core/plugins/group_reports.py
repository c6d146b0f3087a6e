"""Reports of tool groups that reach beyond their plugin: its groups, its tools and its permissions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.plugins.plugin import TOOL_HOOK, Plugin
from oneclaw_core.types.permissions import KNOWN_PERMISSIONS
from oneclaw_core.types.tool_groups import ToolGroupDefinition, generated_group_definition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core.tools.registry import ToolRegistry


def report_permission_meanings(registry: ToolRegistry, group: ToolGroupDefinition, plugin: Plugin) -> None:
    """Report what the registry will not take of what a group says about permissions."""
    for permission, meaning in group.permissions.items():
        if permission in KNOWN_PERMISSIONS:
            plugin.report(
                "register_groups",
                f"the tool group {group.name!r} says what {permission!r} means, which is OneClaw's own; this is "
                "ignored",
                "leave it out, or explain a permission of your own",
                is_error=False,
                check="permissions.not-own",
            )
            continue
        said = registry.get_permission_meaning(permission, plugin.name)
        if said is not None and said.text != meaning:
            other = (
                "another group says something else; the first one stays"
                if said.plugin == plugin.name
                else f"the plugin {said.plugin!r} says something else; each is believed for its own tools"
            )
            plugin.report(
                "register_groups",
                f"the tool group {group.name!r} says what {permission!r} means, and {other}",
                "use another permission, or the same words",
                is_error=False,
                check="permissions.meaning-taken",
            )


def report_other_text(registry: ToolRegistry, group: ToolGroupDefinition, plugin: Plugin) -> None:
    """Report a group that another plugin has declared with another text."""
    first = registry.get_group_definition(group.name)
    if first is not None and (first.display_name, first.description) != (group.display_name, group.description):
        plugin.report(
            "register_groups",
            f"the tool group {group.name!r} is declared already, with another text; the first one stays, "
            "and tools of both belong to it",
            "use another group name, or the same display name and description",
            is_error=False,
            check="groups.taken",
        )


def report_joined_groups(registry: ToolRegistry, plugins: Sequence[Plugin]) -> None:
    """Describe groups that no plugin describes, and report plugins whose tools joined the group of another one."""
    owners = {group: plugin for plugin in reversed(plugins) for group in plugin.groups}
    joining: dict[str, dict[str, list[str]]] = {}
    for group, tool_names in registry.get_tool_groups().items():
        if group not in owners and registry.get_group_definition(group) is None:
            registry.register_group(generated_group_definition(group, tool_names))
        for name in tool_names if group in owners else ():
            source = registry.get_source_info(name)
            if source is not None and source.plugin not in (None, owners[group].name):
                joining.setdefault(source.plugin or "", {}).setdefault(group, []).append(name)
    for plugin in plugins:
        for group, names in joining.get(plugin.name, {}).items():
            _report_joining(plugin, group, names, owners[group])


def _report_joining(plugin: Plugin, group: str, joining: list[str], owner: Plugin) -> None:
    """Report a plugin whose tools belong to a group that another plugin declares."""
    plugin.report(
        TOOL_HOOK,
        f"{len(joining)} tool{'s' if len(joining) > 1 else ''} of {plugin.package or plugin.name} "
        f"({', '.join(joining[:5])}{', ...' if len(joining) > 5 else ''}) joined the tool group {group!r} of "
        f"{owner.package or owner.name}",
        f"if you did not expect that: oneclaw plugins disable {plugin.name}",
        is_error=False,
        check="groups.joined",
    )


def report_ignored_meanings(registry: ToolRegistry, plugin: Plugin) -> None:
    """Report which permissions a plugin explains that are not its own, once all tools are there."""
    for permission in registry.get_ignored_meanings(plugin.name):
        plugin.report(
            "register_groups",
            f"it says what {permission!r} means, which none of its tools declares and none of its groups is named "
            "after; this is ignored, but for its own tools",
            "declare it in required_permissions of the tool that needs it, or begin it with the name of a group",
            is_error=False,
            check="permissions.not-declared",
        )
