"""Steps: have plugins rewrite a call, decide on it, rewrite its result, and observe how it ended."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import PluginError
from oneclaw_core.tools.calls.answered import presentable
from oneclaw_core.types.arguments import ArgumentsError, parse_arguments
from oneclaw_core.types.tools import ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from oneclaw_core.permissions.asking import Asking
    from oneclaw_core.tools.calls.call import Call, Caller, Handler, PermittedCall, Run, Step
    from oneclaw_core.tools.calls.hooks import CallHooks, PluginsOfCalls
    from oneclaw_core.tools.registry import RegisteredTool
    from oneclaw_core.types.messages import ToolCall

    FaultsOf = Callable[[RegisteredTool, dict[str, Any]], list[str]]


def hooks_on(plugins: PluginsOfCalls, call: ToolCall, caller: Caller, found: RegisteredTool | None) -> CallHooks | None:
    """Return the hooks of plugins on a call; ``None`` if none is about it."""
    source = found.source if found is not None else None
    group = source.group_name if source is not None else None
    is_read_only = found is not None and found.definition.read_only and not found.source.is_supplied
    if not plugins.are_about(call.name, group, is_in_turn=caller.turn is not None, is_read_only=is_read_only):
        return None
    return plugins.of_call(
        id=call.id,
        tool=call.name,
        arguments=_object_in(call.arguments),
        group=group,
        plugin=source.plugin if source is not None else None,
        required_permissions=tuple(found.definition.required_permissions) if found is not None else (),
        agent=caller.agent,
        turn=caller.turn.info if caller.turn is not None else None,
        caller=caller.kind,
        parent_call_id=caller.within.call_id if caller.within is not None else None,
        is_read_only=is_read_only,
    )


async def observed(call: Call, run: Handler) -> ToolResult:
    """Tell observers how the call ended, also if it was cut off."""
    if call.hooks is None:
        return await run(call)
    try:
        result = await run(call)
    except asyncio.CancelledError:
        call.hooks.finished(ToolResult.error("interrupted", "The call was interrupted."))
        raise
    call.hooks.finished(result)
    return result


def rewritten(faults_of: FaultsOf) -> Step:
    """Return the step that has plugins rewrite the arguments, which are validated again.

    Args:
        faults_of: finds what is wrong with the arguments of a tool.
    """

    async def step(call: Call, run: Handler) -> ToolResult:
        if call.hooks is None:
            return await run(call)
        try:
            arguments = await call.hooks.rewrite(call.arguments, partial(faults_of, call.tool))
        except PluginError as error:
            return ToolResult.error("execution_error", f"The call was not run: {error}.")
        return await run(call.with_arguments(arguments))

    return step


def gated(asking: Asking) -> Step:
    """Return the step that asks the gates of plugins, which may refuse a call or ask the user."""

    async def step(call: Call, run: Handler) -> ToolResult:
        if call.hooks is not None:
            await call.hooks.check(asking.of(call))
        return await run(call)

    return step


async def result_rewritten(call: PermittedCall, run: Run) -> ToolResult:
    """Have plugins rewrite the result of a tool that ran."""
    result = await run(call)
    return result if call.hooks is None else await call.hooks.rewrite_result(presentable(result))


def _object_in(arguments: str) -> dict[str, Any]:
    """Read arguments as far as they are a JSON object."""
    try:
        return parse_arguments(arguments)
    except ArgumentsError:
        return {}
