"""The tools of OneClaw as tools of the server, for clients that search tools themselves."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from oneclaw_core import ToolResult
from oneclaw_core.process import run_in_thread
from oneclaw_core.tools import one_line
from oneclaw_mcp.cleaning import foreign_faults
from oneclaw_mcp.gateway import Answer, answer_of
from oneclaw_mcp.source import McpTool

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core import OneClaw, ToolDefinition
    from oneclaw_mcp.gateway import CallTool
    from oneclaw_mcp.manifest import KnownTool
    from oneclaw_mcp.offer import Offer

PAGE_TOOLS = 500
# Clients put a prefix before names, and models take 64 characters at most.
MAX_NAME_CHARACTERS = 40
_HASH_CHARACTERS = 6
_MISFIT = "[The call was made, and this is its result. It does not fit the schema that the server gave for results.]"


class DirectTools:
    """Lists and calls the tools of an offer under their names.

    Args:
        claw: the open home.
        offer: the tools.
    """

    def __init__(self, claw: OneClaw, offer: Offer) -> None:
        self._claw = claw
        self._offer = offer
        self._known: tuple[int, dict[str, ToolDefinition]] | None = None

    def narrow(self, offer: Offer) -> None:
        """List the tools of another offer from now on."""
        self._offer, self._known = offer, None

    def instructions(self) -> str:
        """Say what the tools are."""
        return "Tools of OneClaw. Each call is subject to the user's permissions."

    def page(self, cursor: str | None) -> tuple[list[dict[str, Any]], str | None]:
        """Return some tools in the order of their names, and the cursor of those that follow.

        Args:
            cursor: where to begin; ``None`` for the first.

        Raises:
            ValueError: there is no such cursor.
        """
        tools = self._tools()
        names = list(tools)
        first = 0 if cursor is None else names.index(cursor)
        shown = names[first : first + PAGE_TOOLS]
        following = names[first + PAGE_TOOLS] if first + PAGE_TOOLS < len(names) else None
        return [_described(name, tools[name], self._of_server(tools[name])) for name in shown], following

    def listed(self) -> Iterable[tuple[str, ToolDefinition]]:
        """Return all tools that are listed now, by their names."""
        return self._tools().items()

    def input_schema(self, name: str) -> dict[str, Any] | None:
        """Return the schema of the arguments of a tool by its name, cut or whole; ``None`` for an unknown one."""
        definition = self._tools().get(short_name(name))
        return _input_schema(definition, self._of_server(definition)) if definition is not None else None

    async def call(self, name: str, arguments: dict[str, Any], call_tool: CallTool) -> ToolResult | Answer:
        """Call a tool, as :meth:`~oneclaw_mcp.gateway.Gateway.call` does.

        The answer also holds a structured result as such.
        """
        definition = self._tools().get(short_name(name))
        if definition is None:  # it has gone a moment ago
            return ToolResult.error("not_found", f"There is no tool {one_line(name, 100)!r}.")
        result = await call_tool(definition.name, json.dumps(arguments))
        answer = answer_of(result)
        if answer.is_error:
            return answer
        known = self._of_server(definition)
        schema = _output_schema(definition, known)
        if schema is None:
            return answer if isinstance(result.result, str) else replace(answer, structured=result.result)
        value = _structured(result.result)
        if await run_in_thread(lambda: _misses(schema, value)):
            # A client refuses a success that does not fit the schema that it was shown.
            return replace(answer, is_error=True, blocks=[*answer.blocks, {"type": "text", "text": _MISFIT}])
        return replace(answer, structured=value)

    def _of_server(self, definition: ToolDefinition) -> KnownTool | None:
        tool = self._claw.services.registry.get_tool(definition.name)
        return tool.known if isinstance(tool, McpTool) else None

    def _tools(self) -> dict[str, ToolDefinition]:
        version = self._claw.services.registry.version
        if self._known is None or self._known[0] != version:
            found = {short_name(each.name): each for each, _ in self._offer.tools(self._claw)}
            self._known = version, dict(sorted(found.items()))
        return self._known[1]


def short_name(name: str) -> str:
    """Return the name of a tool for clients: cut with a hash if it is long."""
    if len(name) <= MAX_NAME_CHARACTERS:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_HASH_CHARACTERS]
    return f"{name[: MAX_NAME_CHARACTERS - _HASH_CHARACTERS - 1]}_{digest}"


def _described(name: str, definition: ToolDefinition, known: KnownTool | None) -> dict[str, Any]:
    document = {
        "name": name,
        "description": definition.description,
        "inputSchema": _input_schema(definition, known),
        "annotations": {
            "readOnlyHint": definition.read_only,
            "destructiveHint": not definition.read_only,
            "idempotentHint": definition.read_only or definition.idempotent,
        },
    }
    output = _output_schema(definition, known)
    return document if output is None else {**document, "outputSchema": output}


def _input_schema(definition: ToolDefinition, known: KnownTool | None) -> dict[str, Any]:
    return known.input_schema() if known is not None else {"type": "object", **definition.parameters}


def _output_schema(definition: ToolDefinition, known: KnownTool | None) -> dict[str, Any] | None:
    """Return the schema of the results of a tool; ``None`` if there is none, or if its results are no objects."""
    if known is not None:
        return known.served_output_schema()
    schema = definition.output_schema
    return dict(schema) if schema is not None and schema.get("type") == "object" else None


def _structured(value: Any) -> Any:
    """Return a structured result; one that pictures or files go with stands at the beginning of a text."""
    if not isinstance(value, str):
        return value
    try:
        return json.JSONDecoder().raw_decode(value)[0]
    except ValueError:
        return None


def _misses(schema: dict[str, Any], value: Any) -> bool:
    try:
        return not isinstance(value, dict) or bool(foreign_faults(schema, value))
    except Exception:  # noqa: BLE001  # a foreign schema
        return True
