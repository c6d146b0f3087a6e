"""A request as Anthropic's Messages API wants it, that is the body of ``POST /v1/messages``. No I/O.

The body is written so that what stays the same comes first: parameters, tools, system prompt, messages. The messages
only ever grow at the end; a message of the user never joins an earlier one, because the API itself puts consecutive
messages of one role together. Only the ``cache_control`` marks move on, which the cache does not mind.

Source: Anthropic's API reference, and its pages on tool use, extended thinking, prompt caching and mid-conversation
system messages.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeGuard

from oneclaw_http_providers import ToolTexts, exchanges, valid_name, without_listed_tools

from oneclaw_anthropic.output_schema import output_schema
from oneclaw_anthropic.thinking import thinking_parameters, within_answer
from oneclaw_anthropic.tools import declare_tools, write_tool
from oneclaw_core import Message, MessageType
from oneclaw_core.providers import compact_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from oneclaw_http_providers import AnsweredCall, Exchange

    from oneclaw_anthropic.tools import DeclaredTools, WrittenTool
    from oneclaw_core import Attachment
    from oneclaw_core.providers import ModelRequest

    Block = dict[str, Any]

PROVIDER_TYPE = "anthropic"
IMAGE_MEDIA_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
PDF_MEDIA_TYPE = "application/pdf"
# Noted with an answer that loads groups: their results need not list the tools that are defined behind them. Answers
# that an earlier version stored lack it, and their results are sent as they were.
BRIEF_LOADS = "brief_loads"
THINKING_TYPES = frozenset({"thinking", "redacted_thinking"})
# The API wants a limit; every model of the last years takes this one, and it streams within minutes.
DEFAULT_MAX_TOKENS = 16_000
# What the agent's parameters cannot replace; ``cache_control`` is what the marks say, ``betas`` goes into a header.
_NOT_MERGED = frozenset({"model", "max_tokens", "stream", "tools", "system", "messages", "cache_control", "betas"})
# Other services go up to 2.
MAX_TEMPERATURE = 1
_NOT_WHILE_THINKING = frozenset({"temperature", "top_k"})
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_MAX_TITLE_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Concessions:
    """The changes to requests that a service has required.

    Attributes:
        max_tokens: the longest answer that the model gives, ``None`` if that has not come up.
        may_think: whether the model may think about this answer, if the agent's parameters have it think.
    """

    max_tokens: int | None = None
    may_think: bool = True


class RequestEncoder:
    """Writes requests as bytes, the same bytes for the same request.

    Args:
        server: the origin of the server asked; what it gave to be sent back is sent back to no other.
    """

    def __init__(self, server: str) -> None:
        self._server = server
        self._tools = ToolTexts(write_tool)

    def encode(self, request: ModelRequest, concessions: Concessions | None = None) -> bytes:
        """Write a request; lone surrogates, which UTF-8 cannot hold, become question marks.

        Args:
            request: what the model is sent.
            concessions: what the service has made us change.
        """
        concessions = concessions or Concessions()
        mark = request.parameters.get("cache_control") or {"type": "ephemeral"}
        tools = declare_tools(request, self._tools)
        messages = _History(request, tools, self._server).messages()
        for message in _marked(messages):
            message["content"][-1]["cache_control"] = mark
        given = dict(request.parameters)
        if request.reasoning is not None:
            given |= thinking_parameters(request.model, request.reasoning, given)
        if not concessions.may_think:
            given.pop("thinking", None)
        if request.output is not None and (schema := output_schema(request.output.schema)) is not None:
            config = given.get("output_config")  # with the effort
            wanted = {"type": "json_schema", "schema": schema}
            given["output_config"] = {**(config if isinstance(config, dict) else {}), "format": wanted}
        parts = [compact_json(_parameters(request, given, concessions.max_tokens))[:-1]]
        if tools.eager:
            parts.append(f'"tools":{tools.text(mark)}')
        if request.system_prompt.strip():
            parts.append(f'"system":{compact_json([_text(request.system_prompt) | {"cache_control": mark}])}')
        parts.append(f'"messages":{compact_json(messages)}}}')
        return ",".join(parts).encode("utf-8", "replace")


def is_block(value: object) -> TypeGuard[Block]:
    """Return True if a value is a content block, as far as it is checked here; services may send anything."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("type"), str)
        and all(isinstance(value.get(key), str | None) for key in ("name", "text", "thinking", "signature"))
    )


def wire_id(call_id: str | None) -> str:
    """Make the id of a call acceptable, the same id for the same call; other services use other characters."""
    call_id = call_id or ""
    if _ID.fullmatch(call_id):
        return call_id
    digest = hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()
    return f"{valid_name(call_id)[:40]}_{digest[:16]}"


def _parameters(request: ModelRequest, given: Mapping[str, Any], most_tokens: int | None) -> dict[str, Any]:
    max_tokens = request.max_output_tokens or given.get("max_tokens")
    thinking = given.get("thinking")
    budget = thinking.get("budget_tokens") if isinstance(thinking, dict) else None
    # What is thought counts as output, and a limit within the budget is refused.
    if isinstance(budget, int) and isinstance(max_tokens, int) and max_tokens <= budget:
        max_tokens += budget
    if not max_tokens:
        max_tokens = DEFAULT_MAX_TOKENS + (budget if isinstance(budget, int) else 0)
    if most_tokens is not None and isinstance(max_tokens, int):
        max_tokens = min(max_tokens, most_tokens)
    merged = {name: value for name, value in given.items() if value is not None and name not in _NOT_MERGED}
    if "stop" in merged:  # its name everywhere else
        stop = merged.pop("stop")
        merged.setdefault("stop_sequences", [stop] if isinstance(stop, str) else stop)
    if request.reasoning is not None and "thinking" in merged and isinstance(max_tokens, int):
        thinking = within_answer(merged.pop("thinking"), max_tokens)
        merged |= {"thinking": thinking} if thinking is not None else {}
    temperature = merged.get("temperature")
    if isinstance(temperature, int | float) and temperature > MAX_TEMPERATURE:
        merged["temperature"] = MAX_TEMPERATURE
    if _is_thinking(merged.get("thinking")):
        merged = {name: value for name, value in merged.items() if name not in _NOT_WHILE_THINKING}
    return {"model": request.model, "max_tokens": max_tokens, "stream": True, **merged}


def _is_thinking(thinking: object) -> bool:
    return isinstance(thinking, dict) and thinking.get("type") not in (None, "disabled")


def _marked(messages: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Choose the messages up to which the prompt is cached.

    These are the last one, and the last of the request before, which is where that one's cache entry ends: the
    service looks for entries in the 20 blocks before a mark only, and one round of parallel calls can have more.
    """
    place = len(messages) - 1
    if place >= 0:
        yield messages[place]
    for is_answer in (False, True):
        while place >= 0 and (messages[place]["role"] == "assistant") is is_answer:
            place -= 1
    if place >= 0:
        yield messages[place]


class _History:
    """Converts the history of one request.

    What the API insists on always holds: the user begins, every call is answered in the message right after it, if
    only as interrupted, every answer has its call, no text is blank, and tools are defined between messages of the
    user and an answer, or at the end.
    """

    def __init__(self, request: ModelRequest, tools: DeclaredTools, server: str) -> None:
        self._request = request
        self._tools = tools
        self._renamed = tools.renamed
        self._server = server

    def messages(self) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = []
        additions = self._additions(self._tools.additions.get(None, ()))
        begin = next((each for each in reversed(self._request.messages) if each.type is MessageType.USER), None)
        for entry in exchanges(self._request.messages):
            if isinstance(entry, Message):
                messages.append({"role": "user", "content": _user_content(entry)})
                if entry is begin:
                    additions += self._additions(self._tools.of_turn)
                continue
            answer = self._answer(entry)
            if answer:
                if not messages:
                    messages.append({"role": "user", "content": [_text("(What came before is left out.)")]})
                messages += _told(additions)
                additions = []
                messages.append({"role": "assistant", "content": answer})
            if entry.calls:
                is_brief = BRIEF_LOADS in entry.provider_data(PROVIDER_TYPE)
                results = [self._tool_result(self._brief(call) if is_brief else call) for call in entry.calls]
                messages.append({"role": "user", "content": results})
                # Of a turn that ended there, the user's next message still comes before.
                told = (self._tools.additions.get(call.id, ()) for call in entry.calls)
                additions += self._additions(tool for tools in told for tool in tools)
        return messages + _told(additions) if messages else []

    def _additions(self, tools: Iterable[WrittenTool]) -> list[Block]:
        return [
            {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": tool.param}} for tool in tools
        ]

    def _brief(self, call: AnsweredCall) -> AnsweredCall:
        tools = self._tools.additions.get(call.id)
        if not tools:
            return call
        return replace(call, result=without_listed_tools(call.result, (tool.name for tool in tools)))

    def _answer(self, entry: Exchange) -> list[Block]:
        echoed = self._echoed(entry)
        return [*_texts(entry.text), *map(self._tool_use, entry.calls)] if echoed is None else echoed

    def _echoed(self, entry: Exchange) -> list[Block] | None:
        """Give back what this server sent; ``None`` if it is not from there, or does not fit the stored calls."""
        data = entry.provider_data(PROVIDER_TYPE)
        if entry.answer is None or data.get("server") != self._server:
            return None
        # What one model thought is nothing to another.
        sends_thinking = data.get("model") == self._request.model
        remaining = iter(entry.calls)
        blocks: list[Block] = []
        content = data.get("content")
        if not isinstance(content, list) or not all(map(is_block, content)):
            return None
        for block in content:
            kind = block["type"]
            if kind == "tool_use":
                call = next(remaining, None)
                if call is None or call.message.tool_name != block.get("name"):
                    return None
                blocks.append(block | self._tool_use(call))
            elif kind == "text":
                if (block.get("text") or "").strip():
                    blocks.append(dict(block))
            elif sends_thinking or kind not in THINKING_TYPES:
                blocks.append(dict(block))
        if next(remaining, None) is not None:
            return None
        while blocks and blocks[-1]["type"] in THINKING_TYPES:  # refused at the end of a message
            blocks.pop()
        return blocks

    def _tool_use(self, call: AnsweredCall) -> Block:
        name = call.name
        renamed = self._renamed.get(name, {})
        arguments = {renamed.get(key, key): value for key, value in _writable(call.arguments).items()}
        return {"type": "tool_use", "id": wire_id(call.id), "name": name, "input": arguments}

    def _tool_result(self, call: AnsweredCall) -> Block:
        block: Block = {"type": "tool_result", "tool_use_id": wire_id(call.id)}
        if not call.result.is_success:
            return block | {"content": _content(call), "is_error": True}
        names = self._tools.references.get(call.id)
        if names:
            return block | {"content": [{"type": "tool_reference", "tool_name": name} for name in names]}
        return block | {"content": _content(call)}


def _told(additions: list[Block]) -> list[dict[str, Any]]:
    return [{"role": "system", "content": additions}] if additions else []


def _user_content(message: Message) -> list[Block]:
    blocks = [*map(_file, message.attachments), *_texts(message.content)]  # files are understood best before the text
    return blocks or [_text("(no text)")]


def _content(call: AnsweredCall) -> str | list[Block]:
    envelope, files = call.envelope, call.result.attachments
    return [_text(envelope), *map(_file, files)] if files else envelope


def _texts(text: str) -> list[Block]:
    return [_text(text)] if text.strip() else []


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _file(attachment: Attachment) -> Block:
    media_type = attachment.media_type.lower()
    if media_type not in (*IMAGE_MEDIA_TYPES, PDF_MEDIA_TYPE):
        # Given to another service earlier in the session: here it would have every later request refused.
        return _text(f"[{attachment.name} ({attachment.media_type}) cannot be shown to this model]")
    data = base64.b64encode(attachment.data).decode()
    source = {"type": "base64", "media_type": media_type, "data": data}
    if media_type != PDF_MEDIA_TYPE:
        return {"type": "image", "source": source}
    title = attachment.name.strip()[:_MAX_TITLE_CHARACTERS]
    return {"type": "document", "source": source} | ({"title": title} if title else {})


def _writable(arguments: dict[str, Any]) -> dict[str, Any]:
    """Give a call's arguments, their keys in the order in which the model wrote them, as its cache entry has them."""
    try:
        # Not all that can be read can be written: what is only just not nested too deeply here is so inside a whole
        # request.
        json.dumps([[[[[[[[arguments]]]]]]]])
    except RecursionError:
        return {}
    return arguments
