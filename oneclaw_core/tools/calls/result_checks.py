"""Check that results fit the schemas that their tools declare; what does not fit is logged, since the call is done."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from oneclaw_core.json_schema.arguments import argument_faults, compile_schema
from oneclaw_core.system.threads import start_in_background

if TYPE_CHECKING:
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


class ResultChecks:
    """Checks the first result of each tool in a process, in a thread, so that no call waits for it."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def look(self, definition: ToolDefinition, result: ToolResult) -> None:
        """Log what of a result does not fit, if it is the first one of its tool."""
        if definition.output_schema is None or not result.is_success or definition.name in self._seen:
            return
        self._seen.add(definition.name)
        start_in_background(lambda: self._log(definition, result), f"result of {definition.name}")

    def _log(self, definition: ToolDefinition, result: ToolResult) -> None:
        if faults := result_faults(definition, result):
            _log.warning("tool %s: its result does not fit its output_schema: %s", definition.name, "; ".join(faults))
