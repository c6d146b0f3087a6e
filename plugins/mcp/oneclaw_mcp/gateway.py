"""OneClaw's tools for MCP clients: four tools that never change, behind which all groups are found and called."""

from __future__ import annotations

import base64
import json
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_core import PermissionAnswer, PermissionDeniedError
from oneclaw_core.tools import LOAD_TOOL_GROUP, approval_question, one_line, question_text
from oneclaw_mcp.tool_index import ToolIndex

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneclaw_core import OneClaw, PermissionRequest, ToolDefinition, ToolResult

MAX_FOUND = 20
MAX_DESCRIBED = 20
MAX_INSTRUCTIONS_CHARACTERS = 2_000
_SUMMARY_CHARACTERS = 160
_COLUMNS = 80
_CORE_GROUP = "core"
# They belong to a conversation of OneClaw, and mean nothing outside one.
_OF_CONVERSATIONS = frozenset({LOAD_TOOL_GROUP, "ask_user", "update_todos"})

CALLER: ContextVar[Any] = ContextVar("CALLER", default=None)
"""The SDK's context of the request that is being answered."""

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
        "name": "read_with_tool",
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
    """

    blocks: list[dict[str, Any]]
    is_error: bool = False


class Gateway:
    """Finds and calls the tools of an open home on behalf of MCP clients.

    Args:
        claw: the open home.
        groups: the only groups that are shown, ``core`` for the tools in none; empty for all.
        is_read_only: True to call no tool that changes anything.
    """

    def __init__(self, claw: OneClaw, groups: frozenset[str] = frozenset(), *, is_read_only: bool = False) -> None:
        self._claw = claw
        self._groups = groups
        self._is_read_only = is_read_only
        self._index: tuple[int, ToolIndex] | None = None

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tools of the gateway, always the same."""
        return [each for each in GATEWAY_TOOLS if not self._is_read_only or each["name"] != "call_tool"]

    def instructions(self) -> str:
        """Name the groups, with what they are for."""
        counts: dict[str, int] = {}
        for _, group in self._index_now().tools.values():
            counts[group] = counts.get(group, 0) + 1
        registry = self._claw.catalog.registry
        lines = ["Tools of OneClaw, in groups. Use find_tools, then describe_tools, then read_with_tool or call_tool."]
        for name, count in sorted(counts.items()):
            known = registry.get_group_definition(name)
            text = f": {one_line(known.description, 80)}" if known is not None else ""
            lines.append(f"- {name} ({count}){text}")
            if len("\n".join(lines)) > MAX_INSTRUCTIONS_CHARACTERS:
                lines[-1] = f"- and {len(counts) - len(lines) + 2} more groups, which find_tools finds"
                break
        return "\n".join(lines)

    async def call(self, name: str, arguments: dict[str, Any]) -> Answer:
        """Answer a call of one of the gateway's tools."""
        if name == "find_tools":
            return self._found(arguments)
        if name == "describe_tools":
            return self._described(arguments)
        if name not in {each["name"] for each in self.tools}:
            return _failed(f"There is no tool {name!r}; there are: {', '.join(each['name'] for each in self.tools)}")
        wanted = arguments.get("name")
        found = self._index_now().tools.get(wanted) if isinstance(wanted, str) else None
        if found is None:
            return _failed(f"There is no tool {wanted!r}. Find tools with find_tools.")
        if name == "read_with_tool" and not found[0].read_only:
            return _failed(f"{wanted} may change something: call it with call_tool.")
        given = arguments.get("arguments", {})
        outcome = await self._claw.call_tool(found[0].name, given if isinstance(given, str) else json.dumps(given))
        return _answer(outcome.result)

    def _found(self, arguments: dict[str, Any]) -> Answer:
        query, group = arguments.get("query"), arguments.get("group")
        index = self._index_now()
        if isinstance(query, str) and query.strip():
            names = index.find(query, group if isinstance(group, str) else None, MAX_FOUND)
        else:
            names = sorted(name for name, (_, of) in index.tools.items() if of == group)
        if not names:
            return _text(f"No tool fits.\n{self.instructions()}")
        return _text("\n".join(self._line(*index.tools[name]) for name in names))

    def _described(self, arguments: dict[str, Any]) -> Answer:
        names = arguments.get("names")
        if not isinstance(names, list) or not names or not all(isinstance(each, str) for each in names):
            return _failed("names must be a list of names of tools.")
        index = self._index_now()
        documents = []
        for name in names[:MAX_DESCRIBED]:
            found = index.tools.get(name)
            if found is None:
                documents.append({"name": name, "error": "there is no such tool"})
                continue
            definition, group = found
            documents.append(
                {
                    "name": name,
                    "group": group,
                    "description": definition.description,
                    "arguments": dict(definition.parameters),
                    "call_with": "read_with_tool" if definition.read_only else "call_tool",
                }
            )
        return _text(json.dumps(documents, ensure_ascii=False))

    def _line(self, definition: ToolDefinition, group: str) -> str:
        return f"- {definition.name} ({group}): {one_line(definition.description, _SUMMARY_CHARACTERS)}"

    def _index_now(self) -> ToolIndex:
        registry = self._claw.catalog.registry
        if self._index is None or self._index[0] != registry.version:
            self._index = registry.version, ToolIndex(self._shown())
        return self._index[1]

    def _shown(self) -> Iterator[tuple[ToolDefinition, str]]:
        registry = self._claw.catalog.registry
        for definition in registry.get_all_tool_definitions():
            source = registry.get_source_info(definition.name)
            group = (source.group_name if source is not None else None) or _CORE_GROUP
            if definition.name in _OF_CONVERSATIONS or (self._groups and group not in self._groups):
                continue
            if not self._is_read_only or definition.read_only:
                yield definition, group


async def ask_caller(request: PermissionRequest) -> PermissionAnswer:
    """Ask the person at the client for a permission, where the client can ask.

    Raises:
        PermissionDeniedError: it cannot; the message says how to grant it.
    """
    caller = CALLER.get()
    capabilities = getattr(getattr(caller, "session", None), "client_capabilities", None)
    elicit = getattr(getattr(caller, "session", None), "elicit_form", None)
    refusal = PermissionDeniedError(
        f"Permission '{request.permission}' is not granted, and this client cannot ask. The user can grant it with: "
        f"oneclaw permissions grant {request.permission}",
        request.permission,
        "default",
    )
    if elicit is None or getattr(capabilities, "elicitation", None) is None:
        raise refusal
    schema = {
        "type": "object",
        "properties": {"answer": {"type": "string", "enum": ["once", "no"], "description": "Whether to allow it"}},
        "required": ["answer"],
    }
    question = question_text(approval_question(request), _COLUMNS)
    try:
        result = await elicit(question, schema, related_request_id=caller.request_id)
    except Exception:  # noqa: BLE001  # the client, or a way of talking that has no way back
        raise refusal from None
    is_agreed = result.action == "accept" and (result.content or {}).get("answer") == "once"
    return PermissionAnswer.ONCE if is_agreed else PermissionAnswer.NO


def _answer(result: ToolResult) -> Answer:
    if not result.is_success:
        return _failed(f"{result.error_type}: {result.error_message}")
    blocks: list[dict[str, Any]] = [{"type": "text", "text": result.text()}]
    for each in result.attachments:
        data = base64.b64encode(each.data).decode()
        if each.media_type.startswith("image/"):
            blocks.append({"type": "image", "data": data, "mimeType": each.media_type})
        else:
            resource = {"uri": f"file:///{each.name}", "mimeType": each.media_type, "blob": data}
            blocks.append({"type": "resource", "resource": resource})
    return Answer(blocks)


def _text(text: str) -> Answer:
    return Answer([{"type": "text", "text": text}])


def _failed(text: str) -> Answer:
    return Answer([{"type": "text", "text": text}], is_error=True)
