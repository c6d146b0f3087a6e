"""A request as the Responses API wants it, that is the body of ``POST /responses``. No I/O.

Nothing is kept at the service: each request carries the whole conversation. Source: OpenAI's API reference and
``openai.types.responses``; where other servers differ, it is said.
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from oneclaw_core.messages import Message, MessageType, ToolCallStatus
from oneclaw_core.providers.base import ToolLoading
from oneclaw_core.providers.loading import loading_calls
from oneclaw_core.providers.openai_chat_wire import compact_json
from oneclaw_core.tools.arguments import ArgumentsError, parse_arguments
from oneclaw_core.tools.result import ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from oneclaw_core.messages import Attachment
    from oneclaw_core.providers.base import ModelRequest
    from oneclaw_core.tools.definition import ToolDefinition

PROVIDER_TYPE = "openai"
IMAGE_MEDIA_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
PDF_MEDIA_TYPE = "application/pdf"

_INTERRUPTED = ToolResult.error("interrupted", "This call was interrupted before its outcome was known.")
_KEY = re.compile(r"[!-~]{1,64}")  # of call ids and of prompt cache keys
_REFUSED_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_MAX_NAME_CHARACTERS = 64
# What Chat Completions calls the longest answer; this API refuses the words.
_LIMIT_PARAMETERS = frozenset({"max_tokens", "max_completion_tokens", "max_output_tokens"})
_OWN_FIELDS = frozenset({"tools", "input"})


class ResponsesEncoder:
    """Writes requests as bytes, the same bytes for the same request, and keeps the text of each tool for the next.

    Args:
        server: the origin of the server asked, as :class:`ResponsesAnswer` notes it beside what it is to be sent back.
    """

    def __init__(self, server: str) -> None:
        self._server = server
        # By identity, with the definition itself so that no other can take over its identity.
        self._tools: dict[int, tuple[ToolDefinition, str]] = {}

    def encode(self, request: ModelRequest, *, with_echo: bool = True) -> bytes:
        """Write a request.

        The input comes last and only ever grows at its end, so that one request is the beginning of the next. Lone
        surrogates, which UTF-8 cannot hold, become question marks.

        Args:
            request: what the model is sent.
            with_echo: whether to send back what the service asked to get back, encrypted reasoning above all, and
                to ask for more of it.
        """
        is_native = request.tool_loading is ToolLoading.NATIVE
        text = compact_json(_fields(request, with_echo=with_echo))
        tools = self._tools_text(request.tools.core if is_native else request.tools)
        if tools != "[]":
            text = f'{text[:-1]},"tools":{tools}}}'
        items = ",".join(self._items(request, self._server if with_echo else None, is_native=is_native))
        return f'{text[:-1]},"input":[{items}]}}'.encode("utf-8", "replace")

    def _items(self, request: ModelRequest, server: str | None, *, is_native: bool) -> Iterator[str]:
        """Write the input, item by item: after each answer the results of its calls, then the tools they loaded."""
        loaded = loading_calls(request) if is_native else {}
        grouped = {definition.name for groups in loaded.values() for group in groups for definition in group.tools}
        results: dict[str | None, Message] = {}
        for message in request.messages:
            if message.type is MessageType.TOOL_RESULT:
                results.setdefault(message.tool_call_id, message)
        if None in loaded:
            yield self._additional_tools(definition for group in loaded[None] for definition in group.tools)
        for entry in _rounds(request.messages):
            if isinstance(entry, Message):
                yield compact_json(_user_item(entry))
                continue
            for item in _echo(entry, server, grouped) or _rebuilt(entry, grouped):
                yield compact_json(item)
            for call in entry.calls:
                yield compact_json(_output_item(call, results.get(call.tool_call_id)))
            groups = [group for call in entry.calls for group in loaded.get(call.tool_call_id or "", ())]
            if groups:
                yield self._additional_tools(definition for group in groups for definition in group.tools)

    def _additional_tools(self, definitions: Iterable[ToolDefinition]) -> str:
        return f'{{"type":"additional_tools","role":"developer","tools":{self._tools_text(definitions)}}}'

    def _tools_text(self, definitions: Iterable[ToolDefinition]) -> str:
        return f"[{','.join([self._tool_text(definition) for definition in definitions])}]"

    def _tool_text(self, definition: ToolDefinition) -> str:
        kept = self._tools.get(id(definition))
        if kept is None:
            kept = self._tools[id(definition)] = definition, compact_json(_tool(definition))
        return kept[1]


def _fields(request: ModelRequest, *, with_echo: bool) -> dict[str, Any]:
    """All of the body but the tools and the input."""
    fields: dict[str, Any] = {"model": request.model}
    if request.system_prompt:
        fields["instructions"] = request.system_prompt
    fields |= {"stream": True, "store": False, "prompt_cache_key": _key(request.session_id)}
    if with_echo:
        fields["include"] = ["reasoning.encrypted_content"]
    if request.max_output_tokens is not None:
        fields["max_output_tokens"] = request.max_output_tokens
    for name, value in request.parameters.items():
        if value is not None and name not in _OWN_FIELDS:
            fields.setdefault("max_output_tokens" if name in _LIMIT_PARAMETERS else name, value)
    return fields


def _tool(definition: ToolDefinition) -> dict[str, Any]:
    return {
        "type": "function",
        "name": definition.name,
        "description": definition.description,
        "parameters": definition.parameters,
        # Left out, the service would try to make the schema strict, that is another one.
        "strict": False,
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


def _user_item(message: Message) -> dict[str, Any]:
    content: str | list[dict[str, Any]] = message.content
    if message.attachments:
        content = [_text_part(message.content)] if message.content else []
        content += [_file_part(attachment) for attachment in message.attachments]
    return {"type": "message", "role": "user", "content": content}


def _echo(entry: _Round, server: str | None, grouped: set[str]) -> list[dict[str, Any]]:
    """The items of an answer just as this server sent them; none if they do not belong here.

    The calls in them take their ids and arguments from the history, which may have had to give a call another id.
    """
    data = (entry.answer.provider_data or {}).get(PROVIDER_TYPE) if entry.answer is not None else None
    if server is None or not isinstance(data, dict) or data.get("server") != server:
        return []
    output = data.get("output")
    if not isinstance(output, list) or not all(isinstance(item, dict) for item in output):
        return []
    if sum(item.get("type") == "function_call" for item in output) != len(entry.calls):
        return []
    end = len(output)
    while end and output[end - 1].get("type") == "reasoning":
        end -= 1  # of an answer that was cut off; reasoning without what it led to is refused
    calls = iter(entry.calls)
    return [
        _call_item(item, next(calls), grouped) if item.get("type") == "function_call" else item for item in output[:end]
    ]


def _rebuilt(entry: _Round, grouped: set[str]) -> list[dict[str, Any]]:
    """The items of an answer from the history alone."""
    items: list[dict[str, Any]] = []
    if entry.answer is not None and entry.answer.content:
        items.append({"type": "message", "role": "assistant", "content": entry.answer.content})
    items += [_call_item({"type": "function_call"}, call, grouped) for call in entry.calls]
    return items


def _call_item(item: dict[str, Any], message: Message, grouped: set[str]) -> dict[str, Any]:
    """Complete the item of a call.

    Args:
        item: what is known of it beside the history.
        message: the call.
        grouped: the names of the tools in ``additional_tools`` items.
    """
    # A model may have invented a name or written arguments that servers refuse to read back, in every later request.
    name = _REFUSED_IN_NAMES.sub("_", message.tool_name or "")[:_MAX_NAME_CHARACTERS] or "unknown"
    arguments = message.tool_input or ""
    try:
        parse_arguments(arguments)
    except ArgumentsError:
        arguments = ""
    item = item | {
        "call_id": _key(message.tool_call_id or ""),
        "name": name,
        "arguments": arguments if arguments.strip() else "{}",
    }
    # Tools of ``additional_tools`` live in a namespace of their own name, all others in none. Calls of theirs are
    # refused without it, wherever they come from: "Missing namespace for function_call".
    if name in grouped:
        item["namespace"] = item.get("namespace") or name
    elif item.get("namespace") == name:
        del item["namespace"]
    return item


def _output_item(call: Message, message: Message | None) -> dict[str, Any]:
    if message is None:
        result = _INTERRUPTED
    elif message.tool_status is ToolCallStatus.ERROR:
        result = ToolResult.error(message.error_type or "execution_error", message.content)
    else:
        result = ToolResult.success(message.content)
    output: str | list[dict[str, Any]] = compact_json(result.to_dict())
    if message is not None and message.attachments:
        output = [_text_part(str(output)), *(_file_part(attachment) for attachment in message.attachments)]
    return {"type": "function_call_output", "call_id": _key(call.tool_call_id or ""), "output": output}


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "input_text", "text": text}


def _file_part(attachment: Attachment) -> dict[str, Any]:
    media_type = attachment.media_type.lower()
    url = f"data:{media_type};base64,{base64.b64encode(attachment.data).decode()}"
    if media_type in IMAGE_MEDIA_TYPES:
        return {"type": "input_image", "image_url": url, "detail": "auto"}
    if media_type == PDF_MEDIA_TYPE:
        return {"type": "input_file", "filename": attachment.name, "file_data": url}
    # Given to another service earlier in the session: here it would have every later request refused.
    return _text_part(f"[{attachment.name} ({attachment.media_type}) cannot be shown to this model]")


def _key(text: str) -> str:
    """An id as the service takes it, always the same for the same id."""
    return text if _KEY.fullmatch(text) else hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
