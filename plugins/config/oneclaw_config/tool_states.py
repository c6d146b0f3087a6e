"""The tools for enabling and disabling tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from oneclaw_config.answers import answering, ask_to_change, required
from oneclaw_core import ProtectedError, UsageError

if TYPE_CHECKING:
    from oneclaw_core import ToolContext

GROUP = "config"
# What it takes to undo a change by talking.
_KEPT_TOOLS = frozenset({"load_tool_group", "list_tool_states", "set_tool_enabled"})


@answering()
async def list_tool_states(*, context: ToolContext) -> str:
    """List all tool groups and tools with their states, those in no group last."""
    registry = context.services.registry
    groups = registry.get_tool_groups()
    lines = []
    for group in sorted(groups):
        is_on = not registry.is_group_disabled(group)
        lines.append(f"{group} (tool group): {'enabled' if is_on else 'disabled'}")
        lines += [f"  - {name}: {_state(not registry.is_tool_disabled(name), is_on)}" for name in sorted(groups[group])]
    grouped = {name for names in groups.values() for name in names}
    lines.append("Core tools, in no group:")
    core = sorted(name for name in registry.get_all_tool_names() if name not in grouped)
    lines += [f"  - {name}: {_state(not registry.is_tool_disabled(name), True)}" for name in core]
    return "\n".join(lines)


@answering("update_failed")
async def set_tool_enabled(
    name: str,
    enabled: bool,
    type: Literal["tool", "group"] = "tool",  # noqa: A002
    *,
    context: ToolContext,
) -> str:
    """Enable or disable a tool or a tool group."""
    wanted = required("name", name)
    registry = context.services.registry
    if type == "tool" and registry.get_tool(wanted) is None and registry.get_group_definition(wanted) is not None:
        raise UsageError(f"the name {wanted!r} is that of a tool group, not of a tool: give the type group")
    kept = wanted == GROUP if type == "group" else wanted in _KEPT_TOOLS
    if kept and not enabled:
        raise ProtectedError(
            f"{wanted} cannot be disabled by a tool: without it, nothing could be enabled again by talking. The user "
            f"can do it with: oneclaw tools disable {'--group ' if type == 'group' else ''}{wanted}"
        )
    tools = context.services.configuration.tools
    await tools.check(type, wanted, is_enabled=enabled)
    what = f"tool group {wanted}" if type == "group" else f"tool {wanted}"
    await ask_to_change(context, f"{'enable' if enabled else 'disable'} the {what}", what)
    await tools.switch(type, wanted, is_enabled=enabled)
    group = context.services.registry.get_source_info(wanted) if type == "tool" else None
    note = ""
    if enabled and group is not None and group.group_name and not context.services.registry.is_enabled(wanted):
        note = f" But its tool group {group.group_name} is disabled."
    return f"The {what} is {'enabled' if enabled else 'disabled'}.{note}"


def _state(is_tool_on: bool, is_group_on: bool) -> str:
    if not is_tool_on:
        return "disabled"
    return "enabled" if is_group_on else "disabled (its group is)"
