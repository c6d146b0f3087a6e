"""A request as Chat Completions wants it, that is the body of ``POST /chat/completions``. No I/O.

Source: OpenAI's API reference; where other servers differ, it is said.
"""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from oneclaw_core.messages import Message, MessageType, ToolCallStatus
from oneclaw_core.providers.openai_chat_dialect import IMAGE_MEDIA_TYPES, ChatDialect, dialect_of
from oneclaw_core.tools.arguments import ArgumentsError, parse_arguments
from oneclaw_core.tools.result import ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from oneclaw_core.messages import Attachment
    from oneclaw_core.providers.base import ModelRequest
    from oneclaw_core.tools.definition import ToolDefinition

PROVIDER_TYPE = "openai_compatible"
# Of an assistant message, understood only by the server that sent it; some refuse a history without (DeepSeek).
ECHOED_KEYS = ("reasoning_content", "reasoning", "reasoning_details")
_INTERRUPTED = ToolResult.error("interrupted", "This call was interrupted before its outcome was known.")
_REFUSED_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_MAX_NAME_CHARACTERS = 64
_LIMIT_PARAMETERS = frozenset({"max_tokens", "max_completion_tokens"})
# Said in the model's place where a server wants it to answer results before the user speaks.
_ACKNOWLEDGEMENT = {"role": "assistant", "content": "I have the results."}


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
    dialect = dialect_of(server, request.model)
    messages += _history(request, server, dialect)
    body: dict[str, Any] = {
        "model": request.model,
        "messages": messages,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    ours = {"tools"}
    if dialect.takes_cache_key:
        body["prompt_cache_key"] = request.session_id
    if request.max_output_tokens is not None:
        body[dialect.limit_parameter] = request.max_output_tokens
        ours |= _LIMIT_PARAMETERS  # both at once are refused
    for name, value in request.parameters.items():
        if value is not None and name not in ours:
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


@dataclass(slots=True)
class _Round:
    """An answer of the model with its calls; the text is missing where it said nothing."""

    answer: Message | None
    calls: list[Message] = field(default_factory=list)


def _rounds(messages: Iterable[Message]) -> Iterator[Message | _Round]:
    """Put the calls of one answer together; what the user wrote comes as it is, and results are left out."""
    current: _Round | None = None
    for message in messages:
        if message.type is MessageType.TOOL_CALL:
            current = current or _Round(None)
            current.calls.append(message)
            continue
        if current is not None:
            yield current
        current = _Round(message) if message.type is MessageType.ASSISTANT else None
        if message.type is MessageType.USER:
            yield message
    if current is not None:
        yield current


def _history(request: ModelRequest, server: str | None, dialect: ChatDialect) -> list[dict[str, Any]]:
    """Put the calls of one answer into one assistant message, and a tool message for each right after it.

    What servers insist on always holds: every call has its answer, if only that it was interrupted, and every answer
    its call.
    """
    results: dict[str | None, Message] = {}
    for message in request.messages:
        if message.type is MessageType.TOOL_RESULT:
            results.setdefault(message.tool_call_id, message)
    messages: list[dict[str, Any]] = []
    for entry in _rounds(request.messages):
        if isinstance(entry, Message):
            if dialect.wants_answer_to_results and messages and messages[-1]["role"] == "tool":
                messages.append(dict(_ACKNOWLEDGEMENT))
            messages.append({"role": "user", "content": _user_content(entry, dialect)})
        else:
            messages += _answer_and_results(entry, results, server, dialect)
    return messages


def _answer_and_results(
    entry: _Round, results: Mapping[str | None, Message], server: str | None, dialect: ChatDialect
) -> list[dict[str, Any]]:
    text = entry.answer.content if entry.answer is not None else ""
    if not text and not entry.calls:
        return []
    answer: dict[str, Any] = {"role": "assistant", "content": text or None}
    if entry.answer is not None:
        answer |= _echo(entry.answer, server)
    messages = [answer]
    files: list[dict[str, Any]] = []
    for call in entry.calls:
        call_id = dialect.call_id(call.tool_call_id or "")
        answer.setdefault("tool_calls", []).append(_call(call, call_id))
        result = results.get(call.tool_call_id)
        envelope = _envelope(_INTERRUPTED if result is None else _result(result))
        messages.append({"role": "tool", "tool_call_id": call_id, "content": envelope})
        if result is not None and result.attachments:
            files.append(_text_part(f"[Files that belong to the result of {call.tool_name}, call {call_id}:]"))
            files += _file_parts(result, dialect)
    if files:  # a tool message takes text only
        if dialect.wants_answer_to_results:
            messages.append(dict(_ACKNOWLEDGEMENT))
        messages.append({"role": "user", "content": files})
    return messages


def _user_content(message: Message, dialect: ChatDialect) -> str | list[dict[str, Any]]:
    if not message.attachments:
        return message.content
    text = [_text_part(message.content)] if message.content else []
    return text + _file_parts(message, dialect)


def _file_parts(message: Message, dialect: ChatDialect) -> list[dict[str, Any]]:
    return [_file_part(attachment, dialect) for attachment in message.attachments]


def _file_part(attachment: Attachment, dialect: ChatDialect) -> dict[str, Any]:
    media_type = attachment.media_type.lower()
    if media_type not in dialect.attachment_media_types:
        # Given to another service earlier in the session: here it would have every later request refused.
        return _text_part(f"[{attachment.name} ({attachment.media_type}) cannot be shown to this model]")
    url = f"data:{media_type};base64,{base64.b64encode(attachment.data).decode()}"
    if media_type in IMAGE_MEDIA_TYPES:
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "file", "file": {"filename": attachment.name, "file_data": url}}


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _echo(message: Message, server: str | None) -> dict[str, Any]:
    data = (message.provider_data or {}).get(PROVIDER_TYPE)
    if not isinstance(data, dict) or data.get("server", server) != server:
        return {}
    return {key: data[key] for key in ECHOED_KEYS if key in data}


def _call(message: Message, call_id: str) -> dict[str, Any]:
    # A model may have invented a name or written arguments that servers refuse to read back, in every later request.
    name = _REFUSED_IN_NAMES.sub("_", message.tool_name or "")[:_MAX_NAME_CHARACTERS] or "unknown"
    arguments = message.tool_input or ""
    try:
        parse_arguments(arguments)
    except ArgumentsError:
        arguments = ""
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": arguments if arguments.strip() else "{}"},
    }


def _result(message: Message) -> ToolResult:
    if message.tool_status is ToolCallStatus.ERROR:
        return ToolResult.error(message.error_type or "execution_error", message.content)
    return ToolResult.success(message.content)


def _envelope(result: ToolResult) -> str:
    return compact_json(result.to_dict())
