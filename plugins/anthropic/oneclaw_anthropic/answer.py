"""An answer of Anthropic's Messages API, put together from its events. No I/O.

Source: Anthropic's "Streaming Messages", "Handling stop reasons" and "Extended thinking".
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from oneclaw_http_providers import (
    AnswerFailedError,
    AnswerGarbledError,
    AnswerSource,
    are_complete_arguments,
    count_member,
    member,
    parse_object,
    shown_word,
    text_member,
    unique_call_id,
)

from oneclaw_anthropic.tools import renamed_parameters
from oneclaw_anthropic.wire import BRIEF_LOADS, PROVIDER_TYPE, is_block
from oneclaw_core import TokenUsage, ToolCall
from oneclaw_core.providers import (
    ArgumentsDelta,
    ModelEvent,
    ModelResponse,
    ReasoningDelta,
    StopReason,
    TextDelta,
    compact_json,
)
from oneclaw_core.tools import LOAD_TOOL_GROUP, clean_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from oneclaw_core import ToolDefinition

# The key of the text in a delta, and in the block that it belongs to.
_KEY_OF_DELTA = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": "partial_json",
}
_BLOCK_OF_KEY = {"text": "text", "thinking": "thinking", "signature": "thinking"}
_STOP_REASONS = {
    "end_turn": StopReason.COMPLETE,
    "tool_use": StopReason.COMPLETE,
    "stop_sequence": StopReason.COMPLETE,
    "max_tokens": StopReason.LENGTH_LIMIT,
}
_SHOWN_AS: dict[str, type[TextDelta | ReasoningDelta]] = {"text": TextDelta, "thinking": ReasoningDelta}
# Blocks of these are for people to read: what is wrong with their form endangers no call.
_READ = ("text", "thinking")


@dataclass(slots=True)
class _Block:
    """A content block: as it began, and what was added to it."""

    begun: dict[str, Any]
    pieces: dict[str, list[str]] = field(default_factory=dict)
    is_open: bool = True

    @property
    def type(self) -> str:
        return str(self.begun.get("type"))

    def text(self, key: str) -> str:
        first = self.begun.get(key)
        return (first if isinstance(first, str) else "") + "".join(self.pieces.get(key, ()))

    @property
    def arguments(self) -> str:
        """The arguments as the model wrote them; of a server that does not stream them, as JSON."""
        written = clean_text("".join(self.pieces.get("partial_json", ())))
        begun = self.begun.get("input")
        if not written.strip() and begun:
            is_object = isinstance(begun, str) and parse_object(begun) is not None
            return clean_text(begun if is_object else compact_json(begun))
        return written

    @property
    def is_whole_call(self) -> bool:
        return are_complete_arguments(self.arguments)

    def complete(self) -> dict[str, Any]:
        """The block as it would have come in one piece; a call without what its own entry in the history says."""
        if self.type == "tool_use":
            return {key: value for key, value in self.begun.items() if key not in {"id", "input"} and value is not None}
        block = dict(self.begun)
        for key in self.pieces:
            if key == "partial_json":
                block["input"] = parse_object(self.arguments) or {}
            else:
                block[key] = self.text(key)
        return block


class MessagesAnswer:
    """Takes the events of an answer one by one, or the one body of a server that does not stream.

    Args:
        server: the origin of the server, noted beside what goes back to this server only.
        model: the model asked, the same.
        tools: what it was told it may call.

    Attributes:
        usage: tokens that the server has counted so far.
        has_begun: whether anything has come.
        is_final: whether the last event has come.
    """

    def __init__(self, server: str, model: str, tools: Iterable[ToolDefinition] = ()) -> None:
        self._server = server
        self._model = model
        self._tools = tools
        # By index, and in their order where a server gives several the same.
        self._blocks: dict[tuple[int, int], _Block] = {}
        self._block_at: dict[int, _Block] = {}
        self._is_mended = False
        self._counts: dict[str, Any] = {}
        self._stop_reason = StopReason.COMPLETE
        self._finish_reason: str | None = None
        self._source = AnswerSource()
        self._is_stopped = False
        self.usage = TokenUsage()
        self.has_begun = False
        self.is_final = False

    @property
    def is_complete(self) -> bool:
        """True if the server has said that the model is done, and no call was left open."""
        if not self._is_stopped:
            return False
        is_cut = self._stop_reason is StopReason.LENGTH_LIMIT
        return is_cut or not any(block.is_open for block in self._blocks.values() if block.type == "tool_use")

    def add(self, chunk: Mapping[str, Any]) -> list[ModelEvent]:
        """Take an event.

        Args:
            chunk: the JSON object of an event, or a whole message.

        Returns:
            What to show now, often nothing.

        Raises:
            AnswerFailedError: the service gave up, or the model refuses to answer.
            AnswerGarbledError: the event cannot follow those before it.
        """
        kind = chunk.get("type")
        if kind == "error":
            raise AnswerFailedError(chunk.get("error"))
        self.has_begun = self.has_begun or kind != "ping"
        match kind:
            case "message" if not self._is_stopped:
                return self._add_message(chunk)
            case "message_start":
                self._source.note(chunk.get("message"))
                self._add_counts(member(chunk.get("message"), "usage"))
            case "content_block_start":
                return self._start_block(self._index_in(chunk, is_new=True), chunk.get("content_block"))
            case "content_block_delta":
                return self._add_delta(self._index_in(chunk), chunk.get("delta"))
            case "content_block_stop":
                if (block := self._block_at.get(self._index_in(chunk))) is not None:
                    block.is_open = False
            case "message_delta":
                self._add_counts(chunk.get("usage"))
                delta = chunk.get("delta")
                if isinstance(delta, dict) and delta.get("stop_reason") and not self._is_stopped:
                    self._stop(delta)
            case "message_stop":
                self._add_counts(chunk.get("usage"))
                self.is_final = True
        return []

    def response(self) -> ModelResponse:
        """Put the response together."""
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        calls = [block for block in blocks if block.type == "tool_use"]
        cut: list[_Block] = []
        if self._stop_reason is StopReason.LENGTH_LIMIT:
            cut = [block for block in calls if not block.is_whole_call]
            calls = [block for block in calls if block.is_whole_call]
        return ModelResponse(
            text="".join(clean_text(block.text("text")) for block in blocks if block.type == "text"),
            tool_calls=tuple(self._tool_calls(calls)),
            cut_calls=tuple(self._tool_calls(cut)),
            usage=self.usage,
            stop_reason=self._stop_reason,
            provider_data=self._provider_data([block.complete() for block in blocks]),
            finish_reason=self._finish_reason,
            response_id=self._source.id,
            response_model=self._source.model,
        )

    def _add_message(self, message: Mapping[str, Any]) -> list[ModelEvent]:
        self._source.note(message)
        self._add_counts(message.get("usage"))
        shown: list[ModelEvent] = []
        content = message.get("content")
        if self._blocks:  # it repeats what has come in pieces
            content = None
        for index, begun in enumerate(content if isinstance(content, list) else ()):
            shown += self._start_block(index, begun)
            self._block_at[index].is_open = False
        self._stop(message)
        self.is_final = True
        return shown

    def _start_block(self, index: int, begun: object) -> list[ModelEvent]:
        if not is_block(begun):
            raise AnswerGarbledError
        try:
            json.dumps(begun, allow_nan=False)
        except (ValueError, RecursionError):  # it could not be sent back
            raise AnswerGarbledError from None
        earlier = self._block_at.get(index)
        if earlier is not None and earlier.is_open:
            if earlier.begun == begun and not earlier.pieces:  # said twice
                return []
            if earlier.type not in _READ:
                raise AnswerGarbledError
        if self._is_stopped and begun["type"] not in _READ:
            raise AnswerGarbledError
        block = self._add_block(index, begun)
        return _shown(block.type, block.text(block.type)) if block.type in _SHOWN_AS else []

    def _add_block(self, index: int, begun: dict[str, Any]) -> _Block:
        block = self._blocks[index, len(self._blocks)] = self._block_at[index] = _Block(begun)
        return block

    def _index_in(self, chunk: Mapping[str, Any], *, is_new: bool = False) -> int:
        """Return the index of an event; of a server that gives none, that of the last block or the next one."""
        index = chunk.get("index")
        if isinstance(index, str) and index.isdecimal() and len(index) < 9:
            index = int(index)
        if isinstance(index, int):
            return index
        return max(self._block_at, default=-1) + is_new

    def _add_delta(self, index: int, delta: object) -> list[ModelEvent]:
        if not isinstance(delta, dict):
            raise AnswerGarbledError
        kind = delta.get("type")
        block = self._block_at.get(index)
        if kind == "citations_delta" and block is not None:
            earlier = block.begun.get("citations")
            block.begun["citations"] = [*(earlier if isinstance(earlier, list) else ()), delta.get("citation")]
        key = _KEY_OF_DELTA.get(str(kind))
        if key is None:
            return []
        piece = delta.get(key, "")
        if not isinstance(piece, str):
            raise AnswerGarbledError
        block = self._block_for(index, key)
        block.pieces.setdefault(key, []).append(piece)
        if key == "partial_json":
            return [ArgumentsDelta(clean_text(piece), clean_text(str(block.begun.get("name") or "")))] if piece else []
        return _shown(key, piece)

    def _block_for(self, index: int, key: str) -> _Block:
        """Return the block that a piece belongs to; text and thoughts in a wrong place get one for themselves.

        Raises:
            AnswerGarbledError: the piece belongs to a call, and not to this block.
        """
        block = self._block_at.get(index)
        kind = _BLOCK_OF_KEY.get(key)
        if block is not None and block.is_open and block.type == (kind or block.type) and not self._is_stopped:
            return block
        if kind is None:
            raise AnswerGarbledError
        self._is_mended = True
        wrong = None if block is None or block.type == kind else block
        last = next((each for each in reversed(self._blocks.values()) if each.type in _READ), None)
        if last is not None and last.type == kind:
            return last
        made = self._add_block(index, {"type": kind, kind: ""})
        if wrong is not None:  # what follows may belong to it
            self._block_at[index] = wrong
        return made

    def _stop(self, said: Mapping[str, Any]) -> None:
        reason = said.get("stop_reason")
        self._is_stopped = True
        self._finish_reason = shown_word(reason)
        if reason == "refusal":
            raise AnswerFailedError({"type": "invalid_request_error", "message": _refusal(said.get("stop_details"))})
        if reason == "model_context_window_exceeded":
            raise AnswerFailedError({"type": "context_length_exceeded"})
        self._stop_reason = _STOP_REASONS.get(str(reason), StopReason.OTHER) if reason else StopReason.COMPLETE

    def _add_counts(self, usage: object) -> None:
        # Those at the end are totals, and leave out what they do not change.
        if isinstance(usage, dict):
            self._counts |= {
                name: number
                for name, number in usage.items()
                if number is not None and (number != 0 or not self._counts.get(name))
            }
            self.usage = _token_usage(self._counts)

    def _tool_calls(self, blocks: list[_Block]) -> Iterator[ToolCall]:
        taken: set[str] = set()
        names = {block.begun.get("name") for block in blocks}
        tools = {tool.name: tool for tool in self._tools if tool.name in names} if blocks else {}
        for block in blocks:
            given, name = (clean_text(str(block.begun.get(key) or "")) for key in ("id", "name"))
            call_id = unique_call_id(given, taken)
            arguments = block.arguments
            if name in tools:
                arguments = _with_real_names(arguments, renamed_parameters(tools[name].parameters))
            yield ToolCall(call_id, name, arguments if arguments.strip() else "{}")

    def _provider_data(self, content: list[dict[str, Any]]) -> dict[str, Any] | None:
        data: dict[str, Any] = {}
        if not _is_plain(content) and not self._is_mended:
            data = {"server": self._server, "model": self._model, "content": content}
        if any(block.get("type") == "tool_use" and block.get("name") == LOAD_TOOL_GROUP for block in content):
            data[BRIEF_LOADS] = True
        if not data:
            return None
        try:
            return {PROVIDER_TYPE: json.loads(clean_text(json.dumps(data, ensure_ascii=False, allow_nan=False)))}
        except (ValueError, RecursionError):  # no real service sends what cannot be sent back
            return None


def _shown(key: str, piece: str) -> list[ModelEvent]:
    return [_SHOWN_AS[key](clean_text(piece))] if piece and key in _SHOWN_AS else []


def _refusal(details: object) -> str:
    category, explanation = text_member(details, "category"), text_member(details, "explanation")
    named = f" ({category})" if category else ""
    return f"the model declines to answer this{named}" + (f": {explanation}" if explanation else "")


def _is_plain(content: list[dict[str, Any]]) -> bool:
    """Return True if the content can be rebuilt from the text and the calls: one text at most, before the calls."""
    texts = [place for place, block in enumerate(content) if block.keys() == {"type", "text"}]
    calls = [block for block in content if block.get("type") == "tool_use" and block.keys() == {"type", "name"}]
    return texts in ([], [0]) and len(texts) + len(calls) == len(content)


def _with_real_names(arguments: str, renamed: Mapping[str, str]) -> str:
    parsed = parse_object(arguments) if renamed else None
    if parsed is None:
        return arguments
    real = {shown: name for name, shown in renamed.items()}
    return compact_json({real.get(name, name): value for name, value in parsed.items()})


def _token_usage(counts: Mapping[str, Any]) -> TokenUsage:
    uncached, read, written = (
        count_member(counts, key) for key in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    )
    return TokenUsage(
        input_tokens=None if uncached is None else uncached + (read or 0) + (written or 0),
        cached_input_tokens=read,
        cache_write_tokens=written,
        output_tokens=count_member(counts, "output_tokens"),
        reasoning_tokens=count_member(counts.get("output_tokens_details"), "thinking_tokens"),
    )
