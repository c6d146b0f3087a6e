"""A request as Chat Completions wants it, that is the body of ``POST /chat/completions``. No I/O.

Source: OpenAI's API reference; where other servers differ, it is said.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from oneclaw_http_providers import ToolLists, exchanges

from oneclaw_core import Message
from oneclaw_core.providers import compact_json
from oneclaw_openai.chat_dialect import IMAGE_MEDIA_TYPES, ChatDialect, dialect_of
from oneclaw_openai.output_schema import output_format
from oneclaw_openai.wire_text import EFFORTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_http_providers import AnsweredCall, Exchange

    from oneclaw_core import Attachment, ToolDefinition
    from oneclaw_core.providers import ModelRequest

PROVIDER_TYPE = "openai_compatible"
# Of an assistant message, understood only by the server that sent it; some refuse a history without (DeepSeek).
ECHOED_KEYS = ("reasoning_content", "reasoning", "reasoning_details")
# The same, of the whole message; what is wanted back of a call stands there (Gemini's thought signatures).
EXTRA_KEYS = ("extra_content",)
# The members of calls that only the server knows, one object a call in the order of the calls.
CALL_EXTRAS = "call_extras"
_LIMIT_PARAMETERS = frozenset({"max_tokens", "max_completion_tokens"})
# Said in the model's place where a server wants it to answer results before the user speaks.
_ACKNOWLEDGEMENT = {"role": "assistant", "content": "I have the results."}


class RequestEncoder:
    """Writes requests as bytes, the same bytes for the same request.

    Args:
        server: the origin of the server asked, as :class:`~oneclaw_openai.chat_answer.ChatAnswer` notes it beside what
            it is to be sent back.
    """

    def __init__(self, server: str) -> None:
        self._server = server
        self._tools = ToolLists(_tool)

    def encode(self, request: ModelRequest, *, wants_reasoning: bool = False) -> bytes:
        """Write a request; lone surrogates, which UTF-8 cannot hold, become question marks.

        Args:
            request: what the model is sent.
            wants_reasoning: whether every answer in the history has to come with its reasoning, or with none said.
        """
        body = _body_without_tools(request, self._server)
        if wants_reasoning:
            for message in body["messages"]:
                if message["role"] == "assistant":
                    message.setdefault("reasoning_content", "")
        text = compact_json(body)
        tools = self._tools.text(request.tools)
        if tools != "[]":
            text = f'{text[:-1]},"tools":{tools}}}'
        return text.encode("utf-8", "replace")


def _body_without_tools(request: ModelRequest, server: str) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    if request.system_prompt:
        messages.append({"role": "system", "content": request.system_prompt})
    dialect = dialect_of(server, request.model)
    messages += _history(request, server, dialect)
    body: dict[str, Any] = {
        "model": request.model,
        "messages": messages,
        "stream": True,
    }
    if "stream_options" not in request.left_out:
        body["stream_options"] = {"include_usage": True}
    ours = {"tools"}
    if dialect.takes_cache_key:
        body["prompt_cache_key"] = request.session_id
    if request.max_output_tokens is not None:
        limit = dialect.limit_parameter
        if limit in request.left_out:  # the server knows the other name
            limit = next(name for name in sorted(_LIMIT_PARAMETERS) if name != limit)
        body[limit] = request.max_output_tokens
        ours |= _LIMIT_PARAMETERS  # both at once are refused
    if request.reasoning is not None:
        body["reasoning_effort"] = EFFORTS[request.reasoning]
    if request.output is not None:
        body["response_format"] = {"type": "json_schema", "json_schema": output_format(request.output)}
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


def _history(request: ModelRequest, server: str, dialect: ChatDialect) -> list[dict[str, Any]]:
    """Put the calls of one answer into one assistant message, and a tool message for each right after it.

    What servers insist on always holds: every call has its answer, if only that it was interrupted, and every answer
    its call.
    """
    messages: list[dict[str, Any]] = []
    for entry in exchanges(request.messages):
        if isinstance(entry, Message):
            if dialect.wants_answer_to_results and messages and messages[-1]["role"] == "tool":
                messages.append(dict(_ACKNOWLEDGEMENT))
            messages.append({"role": "user", "content": _user_content(entry, dialect)})
        else:
            messages += _answer_and_results(entry, server, dialect)
    return messages


def _answer_and_results(entry: Exchange, server: str, dialect: ChatDialect) -> list[dict[str, Any]]:
    if not entry.text and not entry.calls:
        return []
    answer: dict[str, Any] = {"role": "assistant", "content": entry.text or None, **_echo(entry, server)}
    messages = [answer]
    files: list[dict[str, Any]] = []
    extras = _call_extras(entry, server)
    for place, call in enumerate(entry.calls):
        call_id = dialect.call_id(call.id)
        extra = extras[place] if place < len(extras) else {}
        answer.setdefault("tool_calls", []).append(_with_extra(_call(call, call_id), extra))
        messages.append({"role": "tool", "tool_call_id": call_id, "content": call.envelope})
        if call.result.attachments:
            name = call.message.tool_name
            files.append(_text_part(f"[Files that belong to the result of {name}, call {call_id}:]"))
            files += _file_parts(call.result.attachments, dialect)
    if files:  # a tool message takes text only
        if dialect.wants_answer_to_results:
            messages.append(dict(_ACKNOWLEDGEMENT))
        messages.append({"role": "user", "content": files})
    return messages


def _user_content(message: Message, dialect: ChatDialect) -> str | list[dict[str, Any]]:
    if not message.attachments:
        return message.content
    text = [_text_part(message.content)] if message.content else []
    return text + _file_parts(message.attachments, dialect)


def _file_parts(attachments: Iterable[Attachment], dialect: ChatDialect) -> list[dict[str, Any]]:
    return [_file_part(attachment, dialect) for attachment in attachments]


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


def _echo(entry: Exchange, server: str) -> dict[str, Any]:
    data = entry.provider_data(PROVIDER_TYPE)
    if data.get("server", server) != server:
        return {}
    return {key: data[key] for key in (*ECHOED_KEYS, *EXTRA_KEYS) if key in data}


def _call_extras(entry: Exchange, server: str) -> list[dict[str, Any]]:
    data = entry.provider_data(PROVIDER_TYPE)
    extras = data.get(CALL_EXTRAS)
    if data.get("server", server) != server or not isinstance(extras, list):
        return []
    return [each if isinstance(each, dict) else {} for each in extras]


def _with_extra(call: dict[str, Any], extra: dict[str, Any]) -> dict[str, Any]:
    function = extra.get("function")
    members = {key: value for key, value in extra.items() if key not in call}
    if isinstance(function, dict):
        call["function"] = {**function, **call["function"]}
    return {**call, **members}


def _call(call: AnsweredCall, call_id: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments_text}}
