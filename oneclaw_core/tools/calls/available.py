"""Step: refuse a call of a tool that is unknown, not the agent's, disabled, or of a group that is not loaded."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from oneclaw_core.system.distributions import missing_part
from oneclaw_core.types.tool_groups import LOAD_TOOL_GROUP
from oneclaw_core.types.tools import ToolResult

if TYPE_CHECKING:
    from oneclaw_core.tools.calls.call import Call, Handler, Step
    from oneclaw_core.tools.registry import ToolRegistry


def available(registry: ToolRegistry) -> Step:
    """Return the step: it says what the model or the user can do.

    Args:
        registry: the tools there are.
    """

    async def step(call: Call, run: Handler) -> ToolResult:
        if call.found is None:
            return ToolResult.error("not_found", _unknown(registry, call))
        reason = _unavailable(registry, call)
        return await run(call) if reason is None else ToolResult.error("not_available", reason)

    return step


def _unavailable(registry: ToolRegistry, call: Call) -> str | None:
    """Return why a tool cannot be called now, ``None`` if it can."""
    name, source = call.asked.name, call.tool.source
    if call.caller.own_tools.get(name) is call.tool:
        return None
    group, plugin = source.group_name, source.plugin
    not_selected = f"Tool '{name}' is not available for this agent: it is not among this agent's tools."
    if not registry.toolset(call.caller.selection).allows(name):
        return not_selected
    if not registry.is_enabled(name):
        if plugin is not None and registry.is_plugin_disabled(plugin):
            return (
                f"Tool '{name}' is not available: its plugin is disabled. "
                f"The user can enable it with: oneclaw plugins enable {plugin}"
            )
        what = f"--group {group}" if group is not None and registry.is_group_disabled(group) else name
        return f"Tool '{name}' is disabled. The user can enable it with: oneclaw tools enable {what}"
    if name in call.caller.active.names or (group is not None and group in call.loaded):
        return None
    if group is None:
        return not_selected
    return (
        f"Tool '{name}' is not available for this agent: it belongs to the tool group '{group}', which is not loaded. "
        f"Call {LOAD_TOOL_GROUP} with group_name '{group}' first."
    )


def _unknown(registry: ToolRegistry, call: Call) -> str:
    name = call.asked.name
    if registry.toolset(call.caller.selection).has_group(name):
        hint = f"'{name}' is a tool group: call {LOAD_TOOL_GROUP} with group_name '{name}'."
    elif (missing := missing_part("tool", name, registry.absent_plugins)) is not None:
        hint = f"{missing[0].upper()}{missing[1:]}."
    elif name in call.caller.gone:
        hint = "It was there for an earlier turn alone, or its plugin is gone: do without it."
    else:
        close = difflib.get_close_matches(name, sorted(call.caller.active.names), n=3)
        hint = f"Did you mean {' or '.join(close)}?" if close else ""
    return f"Tool '{name[:100]}' is not available: there is none of that name. {hint}".rstrip()
