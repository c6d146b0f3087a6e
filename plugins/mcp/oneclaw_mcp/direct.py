"""The tools of OneClaw as tools of the server, for clients that search tools themselves."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from oneclaw_core.tools import one_line

if TYPE_CHECKING:
    from oneclaw_core import OneClaw, ToolDefinition, ToolResult
    from oneclaw_mcp.gateway import Answer, CallTool
    from oneclaw_mcp.offer import Offer

PAGE_TOOLS = 500
# Clients put a prefix before names, and models take 64 characters at most.
MAX_NAME_CHARACTERS = 40
_HASH_CHARACTERS = 6


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
        return [_described(name, tools[name]) for name in shown], following

    async def call(self, name: str, arguments: dict[str, Any], call_tool: CallTool) -> ToolResult | Answer:
        """Call a tool, as :meth:`Gateway.call` does."""
        import json

        from oneclaw_core import ToolResult

        definition = self._tools().get(name)
        if definition is None:
            return ToolResult.error("not_found", f"There is no tool {one_line(name, 100)!r}.")
        return await call_tool(definition.name, json.dumps(arguments))

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


def _described(name: str, definition: ToolDefinition) -> dict[str, Any]:
    return {
        "name": name,
        "description": definition.description,
        "inputSchema": {"type": "object", **definition.parameters},
        "annotations": {
            "readOnlyHint": definition.read_only,
            "destructiveHint": not definition.read_only,
            "idempotentHint": definition.read_only or definition.idempotent,
        },
    }
