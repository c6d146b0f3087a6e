"""Check that results fit the schemas that their tools declare; what does not fit is logged, since the call is done."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from oneclaw_core.json_schema.validation import argument_faults, compile_schema
from oneclaw_core.system.threads import start_in_background

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from oneclaw_core.tools.calls.call import PermittedCall, Run
    from oneclaw_core.types.tool_definition import ToolDefinition
    from oneclaw_core.types.tools import ToolResult

_log = logging.getLogger("oneclaw.tools")


def result_faults(definition: ToolDefinition, result: ToolResult) -> list[str]:
    """Return what of a result does not fit the schema that its tool declares; empty if it fits, or is an error.

    Args:
        definition: of the tool.
        result: of a call.
    """
    if definition.output_schema is None or not result.is_success:
        return []
    return argument_faults(compile_schema(definition.output_schema), result.result)


def result_checked() -> Callable[[PermittedCall, Run], Awaitable[ToolResult]]:
    """Return the step: it checks the first result of each tool in a thread, so that no call waits for it."""
    seen: set[str] = set()

    async def step(call: PermittedCall, run: Run) -> ToolResult:
        result = await run(call)
        definition = call.tool.definition
        # What a server sends is checked by what talks to it.
        if definition.output_schema is None or not result.is_success or call.tool.source.is_foreign:
            return result
        if definition.name not in seen:
            seen.add(definition.name)
            start_in_background(lambda: _look(definition, result), f"result of {definition.name}")
        return result

    return step


def _look(definition: ToolDefinition, result: ToolResult) -> None:
    if faults := result_faults(definition, result):
        _log.warning("tool %s: its result does not fit its output_schema: %s", definition.name, "; ".join(faults))
