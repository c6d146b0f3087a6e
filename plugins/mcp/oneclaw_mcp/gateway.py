"""OneClaw's tools for MCP clients: four tools that never change, behind which all groups are found and called."""

from __future__ import annotations

import base64
import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_core.tools import one_line
from oneclaw_mcp.offer import Offer, group_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from oneclaw_core import OneClaw, ToolDefinition, ToolResult

    CallTool = Callable[[str, str], Awaitable[ToolResult]]

MAX_FOUND = 20
MAX_DESCRIBED = 20
MAX_INSTRUCTIONS_CHARACTERS = 2_000
_SUMMARY_CHARACTERS = 160

READ_WITH_TOOL = "read_with_tool"

_TEXT = {"type": "string"}
_CALL_SCHEMA = {
    "type": "object",
    "properties": {"name": _TEXT, "arguments": {"type": "object", "description": "As describe_tools shows them"}},
    "required": ["name"],
}
GATEWAY_TOOLS: tuple[dict[str, Any], ...] = (
    {
        "name": "find_tools",
        "description": "Find tools by what they are for. Returns names with one line each; call describe_tools next.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": {**_TEXT, "description": "Words for what is to be done; empty to list a group"},
                "group": {**_TEXT, "description": "Look in this group only"},
            },
            "required": ["query"],
        },
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    },
    {
        "name": "describe_tools",
        "description": "Show what tools do and the JSON Schemas of their arguments.",
        "inputSchema": {
            "type": "object",
            "properties": {"names": {"type": "array", "items": _TEXT, "maxItems": MAX_DESCRIBED}},
            "required": ["names"],
        },
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    },
    {
        "name": READ_WITH_TOOL,
        "description": "Call a tool that changes nothing; describe_tools says which do. Refuses all others.",
        "inputSchema": _CALL_SCHEMA,
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "call_tool",
        "description": "Call any tool by its name.",
        "inputSchema": _CALL_SCHEMA,
        "annotations": {"readOnlyHint": False, "destructiveHint": True},
    },
)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to a client.

    Attributes:
        blocks: of content, as on the wire.
        is_error: True if the call failed.
        structured: the structured result, which the blocks say as well; ``None`` for none.
    """

    blocks: list[dict[str, Any]]
    is_error: bool = False
    structured: Any = None


class Gateway:
    """Finds and calls the tools of an open home on behalf of MCP clients.

    Args:
        claw: the open home.
        offer: the tools that are shown.
    """

    def __init__(self, claw: OneClaw, offer: Offer | None = None) -> None:
        self._claw = claw
        self._offer = offer or Offer()
        self._registry = claw.services.registry
        self._instructions: tuple[int, str] | None = None

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tools of the gateway, always the same for an offer."""
        return [each for each in GATEWAY_TOOLS if self._offer.calls_anything or each["name"] != "call_tool"]

    def narrow(self, offer: Offer) -> None:
        """Show the tools of another offer from now on."""
        self._offer, self._instructions = offer, None

    def input_schema(self, name: str) -> dict[str, Any] | None:
        """Return the schema of the arguments of a tool of the gateway, ``None`` for an unknown one."""
        return next((each["inputSchema"] for each in self.tools if each["name"] == name), None)

    def instructions(self) -> str:
        """Name the groups, with what they are for."""
        version = self._registry.version
        if self._instructions is None or self._instructions[0] != version:
            self._instructions = version, self._group_list()
        return self._instructions[1]

    def _group_list(self) -> str:
        counts = Counter(group_of(self._registry, name) for name in self._offer.names(self._registry))
        lines = ["Tools of OneClaw, in groups. Use find_tools, then describe_tools, then read_with_tool or call_tool."]
        for name, count in sorted(counts.items()):
            known = self._registry.get_group_definition(name)
            text = f": {one_line(known.description, 80)}" if known is not None else ""
            lines.append(f"- {name} ({count}){text}")
            if len("\n".join(lines)) > MAX_INSTRUCTIONS_CHARACTERS:
                lines[-1] = f"- and {len(counts) - len(lines) + 2} more groups, which find_tools finds"
                break
        return "\n".join(lines)

    async def call(self, name: str, arguments: dict[str, Any], call_tool: CallTool) -> ToolResult | Answer:
        """Answer a call of one of the gateway's tools.

        Args:
            name: of that tool.
            arguments: of the call.
            call_tool: calls a tool of OneClaw, given its name and its arguments as JSON.
        """
        if name == "find_tools":
            return await self._found(arguments)
        if name == "describe_tools":
            return self._described(arguments)
        if self.input_schema(name) is None:
            return _failed(f"There is no tool {name!r}; there are: {', '.join(each['name'] for each in self.tools)}")
        wanted = arguments.get("name")
        found = self._shown(wanted)
        if found is None:
            return _failed(f"There is no tool {wanted!r}. Find tools with find_tools.")
        if name == READ_WITH_TOOL and not found.read_only:
            return _failed(f"{wanted} may change something: call it with call_tool.")
        given = arguments.get("arguments", {})
        return await call_tool(found.name, given if isinstance(given, str) else json.dumps(given))

    async def _found(self, arguments: dict[str, Any]) -> Answer:
        query, group = arguments.get("query"), arguments.get("group")

        def accepts(name: str) -> bool:
            is_in_group = not isinstance(group, str) or group_of(self._registry, name) == group
            return is_in_group and self._offer.shows(self._registry, name)

        if isinstance(query, str) and query.strip():
            names = (await self._registry.search.index()).find(query, MAX_FOUND, accepts)
        else:
            names = sorted(filter(accepts, self._registry.get_all_tool_names())) if isinstance(group, str) else []
        if not names:
            return _text(f"No tool fits.\n{self.instructions()}")
        return _text("\n".join(map(self._line, names)))

    def _described(self, arguments: dict[str, Any]) -> Answer:
        names = arguments.get("names")
        if not isinstance(names, list) or not names or not all(isinstance(each, str) for each in names):
            return _failed("names must be a list of names of tools.")
        documents = []
        for name in names[:MAX_DESCRIBED]:
            definition = self._shown(name)
            if definition is None:
                documents.append({"name": name, "error": "there is no such tool"})
                continue
            documents.append(
                {
                    "name": name,
                    "group": group_of(self._registry, name),
                    "description": definition.description,
                    "arguments": dict(definition.parameters),
                    "call_with": "read_with_tool" if definition.read_only else "call_tool",
                }
            )
        return _text(json.dumps(documents, ensure_ascii=False))

    def _line(self, name: str) -> str:
        definition = self._registry.get_definition(name)
        text = one_line(definition.description, _SUMMARY_CHARACTERS) if definition is not None else ""
        return f"- {name} ({group_of(self._registry, name)}): {text}"

    def _shown(self, name: object) -> ToolDefinition | None:
        is_shown = isinstance(name, str) and self._offer.shows(self._registry, name)
        return self._registry.get_definition(name) if isinstance(name, str) and is_shown else None


def answer_of(result: ToolResult) -> Answer:
    """Put the result of a tool into blocks of content."""
    if not result.is_success:
        return _failed(f"{result.error_type}: {result.error_message}")
    blocks: list[dict[str, Any]] = [{"type": "text", "text": result.text()}]
    for each in result.attachments:
        data = base64.b64encode(each.data).decode()
        kind = each.media_type.partition("/")[0]
        if kind in ("image", "audio"):
            blocks.append({"type": kind, "data": data, "mimeType": each.media_type})
        else:
            resource = {"uri": f"file:///{each.name}", "mimeType": each.media_type, "blob": data}
            blocks.append({"type": "resource", "resource": resource})
    return Answer(blocks)


def _text(text: str) -> Answer:
    return Answer([{"type": "text", "text": text}])


def _failed(text: str) -> Answer:
    return Answer([{"type": "text", "text": text}], is_error=True)
