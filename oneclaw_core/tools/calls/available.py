"""Step: refuse a call of a tool that is unknown, not the agent's, disabled, or of a group that is not loaded."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from oneclaw_core.types.tool_groups import LOAD_TOOL_GROUP
from oneclaw_core.types.tools import ToolResult

if TYPE_CHECKING:
    from collections.abc import Container

    from oneclaw_core.tools.calls.call import Call, Caller, Handler, Step
    from oneclaw_core.tools.registry import ToolRegistry
    from oneclaw_core.types.tools import ToolSourceInfo


def available(registry: ToolRegistry) -> Step:
    """Return the step: it says what the model or the user can do.

    Args:
        registry: the tools there are.
    """

    async def step(call: Call, run: Handler) -> ToolResult:
        name, caller = call.asked.name, call.caller
        if call.found is None:
            return ToolResult.error("not_found", unknown_tool(registry, name, caller))
        # What stands in for a tool is a part of the tool that is running, which the agent has.
        reason = (
            _disabled(registry, name, call.found.source)
            if call.act is not None
            else unavailable_tool(registry, name, call.found.source, caller, call.loaded)
        )
        return await run(call) if reason is None else ToolResult.error("not_available", reason)

    return step


def unavailable_tool(
    registry: ToolRegistry, name: str, source: ToolSourceInfo, caller: Caller, loaded: Container[str | None] = ()
) -> str | None:
    """Return why a tool cannot be called now, ``None`` if it can.

    Args:
        registry: the tools there are.
        name: of the tool.
        source: of the tool.
        caller: on whose behalf.
        loaded: the tool groups that the same answer of the model has loaded.
    """
    if name in caller.own_tools:
        return None
    group = source.group_name
    not_selected = f"Tool '{name}' is not available for this agent: it is not among this agent's tools."
    if not registry.toolset(caller.selection).allows(name):
        return not_selected
    if (reason := _disabled(registry, name, source)) is not None:
        return reason
    if name in caller.active.names or (group is not None and group in loaded):
        return None
    if group is None:
        return not_selected
    return (
        f"Tool '{name}' is not available for this agent: it belongs to the tool group '{group}', which is not loaded. "
        f"Call {LOAD_TOOL_GROUP} with group_name '{group}' first."
    )


def _disabled(registry: ToolRegistry, name: str, source: ToolSourceInfo) -> str | None:
    """Return how the user can enable a tool, ``None`` if it is enabled."""
    group, plugin = source.group_name, source.plugin
    if not registry.is_enabled(name):
        if plugin is not None and registry.is_plugin_disabled(plugin):
            return (
                f"Tool '{name}' is not available: its plugin is disabled. "
                f"The user can enable it with: oneclaw plugins enable {plugin}"
            )
        what = f"--group {group}" if group is not None and registry.is_group_disabled(group) else name
        return f"Tool '{name}' is disabled. The user can enable it with: oneclaw tools enable {what}"
    return None


def unknown_tool(registry: ToolRegistry, name: str, caller: Caller) -> str:
    """Say that there is no tool of a name, and what may be meant.

    Args:
        registry: the tools there are.
        name: that was called.
        caller: on whose behalf.
    """
    if registry.toolset(caller.selection).has_group(name):
        hint = f"'{name}' is a tool group: call {LOAD_TOOL_GROUP} with group_name '{name}'."
    elif (missing := registry.how_to_get("tool", name)) is not None:
        hint = f"{missing[0].upper()}{missing[1:]}."
    elif name in caller.gone:
        hint = "It was there for an earlier turn alone, or its plugin is gone: do without it."
    else:
        close = difflib.get_close_matches(name, sorted(caller.active.names), n=3)
        hint = f"Did you mean {' or '.join(close)}?" if close else ""
    return f"Tool '{name[:100]}' is not available: there is none of that name. {hint}".rstrip()
