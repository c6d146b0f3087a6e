"""A request as the Responses API wants it, that is the body of ``POST /responses``. No I/O.

Nothing is kept at the service: each request carries the whole conversation. Source: OpenAI's API reference and
``openai.types.responses``; where other servers differ, it is said.
"""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from oneclaw_http_providers import ToolLists, exchanges, without_listed_tools

from oneclaw_core import Message, MessageType
from oneclaw_core.providers import compact_json, loading_calls
from oneclaw_openai.output_schema import output_format
from oneclaw_openai.wire_text import EFFORTS, valid_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from oneclaw_http_providers import AnsweredCall, Exchange

    from oneclaw_core import Attachment, ToolDefinition
    from oneclaw_core.providers import ModelRequest

PROVIDER_TYPE = "openai"
IMAGE_MEDIA_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
PDF_MEDIA_TYPE = "application/pdf"
# Noted with an answer that loads groups: their results need not list the tools that are defined behind them. Answers
# that an earlier version stored lack it, and their results are sent as they were.
BRIEF_LOADS = "brief_loads"

_KEY = re.compile(r"[!-~]{1,64}")  # of call ids and of prompt cache keys
# What Chat Completions calls the longest answer; this API refuses the words.
_LIMIT_PARAMETERS = frozenset({"max_tokens", "max_completion_tokens", "max_output_tokens"})
_OWN_FIELDS = frozenset({"tools", "input"})


class ResponsesEncoder:
    """Writes requests as bytes, the same bytes for the same request.

    Args:
        server: the origin of the server asked, as :class:`~oneclaw_openai.responses_answer.ResponsesAnswer` notes it
            beside what it is to be sent back.
    """

    def __init__(self, server: str) -> None:
        self._server = server
        self._tools = ToolLists(_tool)

    def encode(self, request: ModelRequest, *, with_echo: bool = True) -> bytes:
        """Write a request.

        The input comes last and only ever grows at its end, so that one request is the beginning of the next. Lone
        surrogates, which UTF-8 cannot hold, become question marks.

        Args:
            request: what the model is sent.
            with_echo: whether to send back what the service asked to get back, encrypted reasoning above all, and
                to ask for more of it.
        """
        is_native = request.tool_loading.is_native
        text = compact_json(_fields(request, with_echo=with_echo))
        tools = self._tools.text(request.tools.core if is_native else request.tools)
        if tools != "[]":
            text = f'{text[:-1]},"tools":{tools}}}'
        items = ",".join(self._items(request, self._server if with_echo else None, is_native=is_native))
        return f'{text[:-1]},"input":[{items}]}}'.encode("utf-8", "replace")

    def _items(self, request: ModelRequest, server: str | None, *, is_native: bool) -> Iterator[str]:
        """Write the input, item by item: after each answer the results of its calls, then the tools they loaded.

        Tools of the turn stand before the message of the user that begins it: what came before stays as it was.
        """
        loaded = loading_calls(request) if is_native else {}
        of_turn = request.tools.of_turn if is_native else ()
        grouped = {definition.name for groups in loaded.values() for group in groups for definition in group.tools}
        grouped.update(definition.name for definition in of_turn)
        begin = next((each for each in reversed(request.messages) if each.type is MessageType.USER), None)
        if None in loaded:
            yield self._additional_tools(definition for group in loaded[None] for definition in group.tools)
        for entry in exchanges(request.messages):
            if isinstance(entry, Message):
                if of_turn and entry is begin:
                    yield self._additional_tools(of_turn)
                yield compact_json(_user_item(entry))
                continue
            for item in _echo(entry, server, grouped) or _rebuilt(entry, grouped):
                yield compact_json(item)
            new = [tool for call in entry.calls for group in loaded.get(call.id, ()) for tool in group.tools]
            is_brief = BRIEF_LOADS in entry.provider_data(PROVIDER_TYPE)
            for call in entry.calls:
                yield compact_json(_output_item(_brief(call, new) if is_brief and call.id in loaded else call))
            if new:
                yield self._additional_tools(new)

    def _additional_tools(self, definitions: Iterable[ToolDefinition]) -> str:
        return f'{{"type":"additional_tools","role":"developer","tools":{self._tools.text(definitions)}}}'


def _fields(request: ModelRequest, *, with_echo: bool) -> dict[str, Any]:
    """All of the body but the tools and the input."""
    fields: dict[str, Any] = {"model": request.model}
    if request.system_prompt:
        fields["instructions"] = request.system_prompt
    fields |= {"stream": True, "store": False, "prompt_cache_key": valid_id(request.session_id, _KEY)}
    if with_echo:
        fields["include"] = ["reasoning.encrypted_content"]
    if request.max_output_tokens is not None:
        fields["max_output_tokens"] = request.max_output_tokens
    if request.reasoning is not None:
        given = request.parameters.get("reasoning")  # such as {"summary": "auto"}
        fields["reasoning"] = {**(given if isinstance(given, dict) else {}), "effort": EFFORTS[request.reasoning]}
    if request.output is not None:
        given = request.parameters.get("text")  # such as {"verbosity": "low"}
        wanted = {"type": "json_schema", **output_format(request.output)}
        fields["text"] = {**(given if isinstance(given, dict) else {}), "format": wanted}
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


def _user_item(message: Message) -> dict[str, Any]:
    content: str | list[dict[str, Any]] = message.content
    if message.attachments:
        content = [_text_part(message.content)] if message.content else []
        content += [_file_part(attachment) for attachment in message.attachments]
    return {"type": "message", "role": "user", "content": content}


def _echo(entry: Exchange, server: str | None, grouped: set[str]) -> list[dict[str, Any]]:
    """The items of an answer just as this server sent them; none if they do not belong here.

    The calls in them take their ids and arguments from the history, which may have had to give a call another id.
    """
    data = entry.provider_data(PROVIDER_TYPE)
    if server is None or data.get("server") != server:
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


def _rebuilt(entry: Exchange, grouped: set[str]) -> list[dict[str, Any]]:
    """The items of an answer from the history alone."""
    items: list[dict[str, Any]] = []
    if entry.text:
        items.append({"type": "message", "role": "assistant", "content": entry.text})
    items += [_call_item({"type": "function_call"}, call, grouped) for call in entry.calls]
    return items


def _call_item(item: dict[str, Any], call: AnsweredCall, grouped: set[str]) -> dict[str, Any]:
    """Complete the item of a call.

    Args:
        item: what is known of it beside the history.
        call: the call.
        grouped: the names of the tools in ``additional_tools`` items.
    """
    name, called = call.name, item.get("name")
    item = item | {"call_id": valid_id(call.id, _KEY), "name": name, "arguments": call.arguments_text}
    # Tools of ``additional_tools`` live in a namespace of that name, all others in none. Calls of theirs are
    # refused without it, wherever they come from: "Missing namespace for function_call".
    if name in grouped:
        item["namespace"] = item.get("namespace") or name
    elif "namespace" in item and item["namespace"] in (name, called):  # not the same where a dispatcher calls the tool
        del item["namespace"]
    return item


def _brief(call: AnsweredCall, tools: Iterable[ToolDefinition]) -> AnsweredCall:
    return replace(call, result=without_listed_tools(call.result, (tool.name for tool in tools)))


def _output_item(call: AnsweredCall) -> dict[str, Any]:
    envelope, files = call.envelope, call.result.attachments
    output = [_text_part(envelope), *map(_file_part, files)] if files else envelope
    return {"type": "function_call_output", "call_id": valid_id(call.id, _KEY), "output": output}


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
