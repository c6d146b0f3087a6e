"""Run a tool as its author wrote it: sync or async, with or without the context."""

from __future__ import annotations

import inspect
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Protocol

from oneclaw_core.system.threads import run_in_thread
from oneclaw_core.types.tool_definition import SelfRunningTool
from oneclaw_core.types.tools import ToolResult

if TYPE_CHECKING:
    from oneclaw_core.tools.context import ToolContext


class Executable(Protocol):
    """Runs with the arguments of a call: a tool, or a function that is ready to be called as one."""

    async def execute(self, arguments: dict[str, Any], context: Any) -> ToolResult:
        """Run it."""
        ...


async def invoke(tool: Executable, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
    """Run a tool without a timeout.

    Args:
        tool: what to run; a hand-written one may be synchronous, take no context, and return any value.
        arguments: checked.
        context: for the tool.

    Raises:
        BaseException: whatever the tool raises.
    """
    runs_itself, is_async, takes_context = _calling_convention(type(tool))
    values: tuple[Any, ...] = (arguments, context) if takes_context else (arguments,)
    if runs_itself:
        value: object = await tool.execute(*values)
    elif is_async:
        value = await context.run_async(partial(tool.execute, *values))
    else:
        value = await run_in_thread(partial(tool.execute, *values))
        if inspect.isawaitable(value):
            waiting = value
            value = await context.run_async(lambda: waiting)
    return value if isinstance(value, ToolResult) else ToolResult.success("" if value is None else value)


@lru_cache(maxsize=1024)
def _calling_convention(tool_type: type) -> tuple[bool, bool, bool]:
    """Return whether a tool arranges where its code runs, whether ``execute`` is async, and takes the context."""
    execute = tool_type.execute  # type: ignore[attr-defined]  # the registry has checked that it is there
    parameters = [
        each
        for each in inspect.signature(execute).parameters.values()
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD, each.VAR_POSITIONAL)
    ]
    takes_context = len(parameters) > 2 or any(each.kind is each.VAR_POSITIONAL for each in parameters)
    runs_itself = issubclass(tool_type, SelfRunningTool)
    return runs_itself, inspect.iscoroutinefunction(execute), takes_context
