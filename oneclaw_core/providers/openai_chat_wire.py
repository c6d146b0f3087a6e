"""A request as Chat Completions wants it, that is the body of ``POST /chat/completions``. No I/O.

Source: OpenAI's API reference; where other servers differ, it is said.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from oneclaw_core.messages import Message, MessageType, ToolCallStatus
from oneclaw_core.tools.arguments import ArgumentsError, parse_arguments
from oneclaw_core.tools.result import ToolResult

if TYPE_CHECKING:
    from oneclaw_core.providers.base import ModelRequest
    from oneclaw_core.tools.definition import ToolDefinition

PROVIDER_TYPE = "openai_compatible"
# Of an assistant message, understood only by the server that sent it; some refuse a history without (DeepSeek).
ECHOED_KEYS = ("reasoning_content", "reasoning", "reasoning_details")
_INTERRUPTED = ToolResult.error("interrupted", "This call was interrupted before its outcome was known.")
_REFUSED_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_MAX_NAME_CHARACTERS = 64


def chat_request(request: ModelRequest, server: str | None = None) -> dict[str, Any]:
    """Convert a request to the body of ``POST /chat/completions``, streaming.

    Args:
        request: what the model is sent.
        server: the origin of the server asked, as :class:`ChatAnswer` notes it; ``None`` echoes to any server.

    """
    body = _body_without_tools(request, server)
    tools = [_tool(definition) for definition in request.tools]
    return body | {"tools": tools} if tools else body


def compact_json(value: object) -> str:
    """Write JSON the one way this wire format is written: same value in, same text out."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class RequestEncoder:
    """Writes requests as bytes, the same bytes for the same request, and keeps the text of each tool for the next.

    Args:
        server: the origin of the server asked.

    """

    def __init__(self, server: str) -> None:
        self._server = server
        # By identity, with the definition itself so that no other can take over its identity.
        self._tools: dict[int, tuple[ToolDefinition, str]] = {}

    def encode(self, request: ModelRequest) -> bytes:
        """Write what :func:`chat_request` gives; lone surrogates, which UTF-8 cannot hold, become question marks."""
        text = compact_json(_body_without_tools(request, self._server))
        tools = ",".join([self._tool_text(definition) for definition in request.tools])
        if tools:
            text = f'{text[:-1]},"tools":[{tools}]}}'
        return text.encode("utf-8", "replace")

    def _tool_text(self, definition: ToolDefinition) -> str:
        kept = self._tools.get(id(definition))
        if kept is None:
            kept = self._tools[id(definition)] = definition, compact_json(_tool(definition))
        return kept[1]


def _body_without_tools(request: ModelRequest, server: str | None) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    if request.system_prompt:
        messages.append({"role": "system", "content": request.system_prompt})
    messages += _history(request, server)
    body: dict[str, Any] = {
        "model": request.model,
        "messages": messages,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    for name, value in request.parameters.items():
        if value is not None and name != "tools":
            body.setdefault(name, value)
    return body


def _tool(definition: ToolDefinition) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": definition.name,
            "description": definition.description,
            "parameters": definition.parameters,
        },
    }


def _history(request: ModelRequest, server: str | None) -> list[dict[str, Any]]:
    """Put the calls of one answer into one assistant message, and a tool message for each right after it.

    A call is answered as interrupted until its result is met, so that what servers insist on always holds: every
    call has its answer, and every answer its call.
    """
    messages: list[dict[str, Any]] = []
    unanswered: dict[str, dict[str, Any]] = {}
    answer: dict[str, Any] | None = None
    for message in request.messages:
        match message.type:
            case MessageType.USER:
                messages.append({"role": "user", "content": message.content})
                answer = None
            case MessageType.ASSISTANT:
                answer = {"role": "assistant", "content": message.content or None, **_echo(message, server)}
                if message.content:
                    messages.append(answer)
            case MessageType.TOOL_CALL if message.tool_call_id is not None:
                answer = answer or {"role": "assistant", "content": None}
                if answer["content"] is None and "tool_calls" not in answer:
                    messages.append(answer)
                answer.setdefault("tool_calls", []).append(_call(message))
                outcome = {"role": "tool", "tool_call_id": message.tool_call_id, "content": _envelope(_INTERRUPTED)}
                messages.append(outcome)
                unanswered[message.tool_call_id] = outcome
            case MessageType.TOOL_RESULT:
                answered = unanswered.pop(message.tool_call_id or "", None)
                if answered is not None:
                    answered["content"] = _envelope(_result(message))
                answer = None
    return messages


def _echo(message: Message, server: str | None) -> dict[str, Any]:
    data = (message.provider_data or {}).get(PROVIDER_TYPE)
    if not isinstance(data, dict) or data.get("server", server) != server:
        return {}
    return {key: data[key] for key in ECHOED_KEYS if key in data}


def _call(message: Message) -> dict[str, Any]:
    # A model may have invented a name or written arguments that servers refuse to read back, in every later request.
    name = _REFUSED_IN_NAMES.sub("_", message.tool_name or "")[:_MAX_NAME_CHARACTERS] or "unknown"
    arguments = message.tool_input or ""
    try:
        parse_arguments(arguments)
    except ArgumentsError:
        arguments = ""
    return {
        "id": message.tool_call_id,
        "type": "function",
        "function": {"name": name, "arguments": arguments if arguments.strip() else "{}"},
    }


def _result(message: Message) -> ToolResult:
    if message.tool_status is ToolCallStatus.ERROR:
        return ToolResult.error(message.error_type or "execution_error", message.content)
    return ToolResult.success(message.content)


def _envelope(result: ToolResult) -> str:
    return compact_json(result.to_dict())
