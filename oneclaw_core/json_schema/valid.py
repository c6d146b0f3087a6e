"""Steps: read and validate the arguments of a call, and check its first result."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import PluginError
from oneclaw_core.json_schema.validation import argument_faults, compile_schema
from oneclaw_core.system.threads import start_in_background
from oneclaw_core.tools.invoke import DeferredTool
from oneclaw_core.types.arguments import ArgumentsError, parse_arguments, without_absent
from oneclaw_core.types.identity_cache import IdentityCache
from oneclaw_core.types.tools import ToolDefinition, ToolResult

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from jsonschema.protocols import Validator

    from oneclaw_core.tools.calls.call import Call, Handler, PermittedCall, Run, Step
    from oneclaw_core.tools.registry import RegisteredTool

# How long a plugin may take to be imported before its own words are not waited for.
_LOAD_SECONDS = 5.0

_log = logging.getLogger("oneclaw.executor")
_log_of_results = logging.getLogger("oneclaw.tools")


class Validators:
    """Validates arguments; keeps the compiled schema of each tool."""

    def __init__(self) -> None:
        self._compiled = IdentityCache(_compiled)

    def faults(self, tool: RegisteredTool, arguments: dict[str, Any]) -> list[str]:
        """Find what is wrong with arguments, except where the tool does so itself."""
        if tool.definition.behaviour.checks_own_arguments:
            return []
        return argument_faults(self._compiled.of(tool.definition), arguments)


def _compiled(definition: ToolDefinition) -> Validator:
    checked = definition.behaviour.checked_schema
    return compile_schema(definition.parameters if checked is None else checked(definition.parameters))


def valid(validators: Validators) -> Step:
    """Return the step: it reads arguments, leniently if need be, and names everything that is wrong at once.

    Args:
        validators: of all tools.
    """

    async def step(call: Call, run: Handler) -> ToolResult:
        name, definition = call.asked.name, call.tool.definition
        try:
            arguments = without_absent(parse_arguments(call.asked.arguments), definition.parameters)
            faults = validators.faults(call.tool, arguments)
            fault = ""
            if faults:
                text = "\n".join([f"Tool '{name}' was called with wrong arguments:", *faults])
                fault = await _own_words(call.tool, arguments) or text
        except ArgumentsError as error:
            fault = f"Tool '{name}': {error}"
        if fault:
            lenient = _read_leniently(validators, call)
            if lenient is None:
                return ToolResult.error("validation_error", fault)
            arguments = lenient
        return await run(call.with_arguments(arguments))

    return step


async def _own_words(tool: RegisteredTool, arguments: dict[str, Any]) -> str | None:
    """Return what the type hints of a tool's function say about arguments that its schema refuses.

    Returns:
        The message; ``None`` if the tool has no such hints, or they take the arguments.
    """
    found: object = tool.tool
    if isinstance(found, DeferredTool) and tool.definition.behaviour.isolation is not None:
        return None  # its code is imported in the process that runs it
    try:
        async with asyncio.timeout(_LOAD_SECONDS):
            while isinstance(found, DeferredTool):
                found = await found.loaded()
    except (PluginError, TimeoutError):
        return None
    convert = getattr(found, "convert", None)
    converted = None if convert is None else convert(arguments)
    return converted.error_message if isinstance(converted, ToolResult) else None


def _read_leniently(validators: Validators, call: Call) -> dict[str, Any] | None:
    """Read arguments that are almost right; ``None`` if they are not valid then either."""
    from oneclaw_core.json_schema.lenient_arguments import lenient_reading

    arguments = lenient_reading(call.asked.arguments, call.tool.definition.parameters)
    if arguments is None or validators.faults(call.tool, arguments):
        return None
    _log.info("the arguments of a call of %s were read leniently", call.asked.name)
    return arguments


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
        _log_of_results.warning(
            "tool %s: its result does not fit its output_schema: %s", definition.name, "; ".join(faults)
        )
