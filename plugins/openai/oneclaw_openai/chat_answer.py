"""An answer of Chat Completions, put together from its chunks. No I/O."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from oneclaw_core import TokenUsage, ToolCall
from oneclaw_core.providers import (
    END_OF_STREAM,
    AnswerCutError,
    ArgumentsDelta,
    ModelEvent,
    ModelResponse,
    ReasoningDelta,
    StopReason,
    TextDelta,
    are_complete_arguments,
    compact_json,
    count_member,
    objects_in,
    shown_word,
    text_member,
    unique_call_id,
)
from oneclaw_openai.chat_wire import ECHOED_KEYS, PROVIDER_TYPE
from oneclaw_openai.think_blocks import ThinkBlocks
from oneclaw_openai.wire_text import TextStream, join_surrogates

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Servers have more words than OpenAI's for an answer that is whole; these are for one that is not.
_STOP_REASONS = {
    "length": StopReason.LENGTH_LIMIT,
    "max_tokens": StopReason.LENGTH_LIMIT,
    "model_length": StopReason.LENGTH_LIMIT,  # Mistral
    "content_filter": StopReason.CONTENT_FILTER,
    "safety": StopReason.CONTENT_FILTER,
    "refusal": StopReason.REFUSAL,
    "error": StopReason.OTHER,
    "abort": StopReason.OTHER,  # vLLM
    "insufficient_system_resource": StopReason.OTHER,  # DeepSeek
}
# Of a reasoning detail, what comes in pieces; the rest comes whole (OpenRouter). The first two are for people to read.
_DETAIL_TEXTS = ("text", "summary", "data")
_REASONING_KEYS = ("reasoning_content", "reasoning")


@dataclass(slots=True, eq=False)
class _Call:
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)

    @property
    def arguments(self) -> str:
        return join_surrogates("".join(self.pieces))

    @property
    def is_whole(self) -> bool:
        return are_complete_arguments(self.arguments)


class ChatAnswer:
    """Takes the chunks of an answer one by one, or the one body of a server that does not stream.

    Args:
        server: the origin of the server, noted beside what goes back to this server only.

    Attributes:
        usage: tokens that the server has counted so far.
        has_begun: whether anything has come.
        is_complete: whether the server has said that the model is done.
        is_final: whether the token counts have come too, which most servers send after that.
    """

    def __init__(self, server: str) -> None:
        self._server = server
        self._think_blocks = ThinkBlocks()
        self._text = TextStream()
        self._shown_reasoning = TextStream()
        self._calls: list[_Call] = []
        self._call_at: dict[int, _Call] = {}
        self._reasoning: dict[str, list[str]] = {}
        self._details: list[dict[str, Any]] = []
        self.usage = TokenUsage()
        self._stop_reason = StopReason.COMPLETE
        self._finish_reason: str | None = None
        self._ended_unexplained = False
        self._has_refused = False
        self.has_begun = False
        self.is_complete = False
        self.is_final = False

    def add(self, chunk: Mapping[str, Any]) -> list[ModelEvent]:
        """Take a chunk.

        Args:
            chunk: the JSON object of an event, a whole body, or :data:`END_OF_STREAM`.

        Returns:
            What to show now, often nothing.
        """
        if chunk is END_OF_STREAM:
            self._ended_unexplained = not self.is_complete
            self.is_complete = self.is_final = True
            return [*self._shown(*self._think_blocks.rest())]
        self.has_begun = True
        if isinstance(chunk.get("usage"), dict):
            self.usage = _token_usage(chunk["usage"])
        choice = next(objects_in(chunk.get("choices")), {})
        message = choice.get("message")
        delta = message if isinstance(message, dict) else choice.get("delta")
        events: list[ModelEvent] = []
        if isinstance(delta, dict):
            events = [
                *self._add_calls(delta, is_whole=delta is message),
                *self._add_reasoning(delta),
                *self._add_text(delta),
            ]
        reason = choice.get("finish_reason")
        if (isinstance(reason, str) and reason) or isinstance(message, dict):
            self._stop_reason = _STOP_REASONS.get(str(reason).lower(), StopReason.COMPLETE)
            self._finish_reason = shown_word(reason)
            self.is_complete = True
            events += self._shown(*self._think_blocks.rest())
        self.is_final = self.is_final or (self.is_complete and isinstance(chunk.get("usage"), dict))
        return events

    def response(self) -> ModelResponse:
        """Put the response together.

        Raises:
            AnswerCutError: the server stopped the model in the middle of a call, not for the token limit.
        """
        # A stream may end without a reason; then nothing but the calls themselves says that they are whole.
        is_whole = self._stop_reason is StopReason.COMPLETE and not self._ended_unexplained
        cut = [] if is_whole else [call for call in self._calls if not call.is_whole]
        if cut and (self._ended_unexplained or self._stop_reason is not StopReason.LENGTH_LIMIT):
            raise AnswerCutError("the end of the stream" if self._ended_unexplained else self._stop_reason.ended_by)
        return ModelResponse(
            text=self._text.whole(),
            tool_calls=tuple(_tool_calls([call for call in self._calls if call not in cut])),
            cut_calls=tuple(_tool_calls(cut)),
            usage=self.usage,
            stop_reason=StopReason.REFUSAL if self._has_refused and is_whole else self._stop_reason,
            provider_data=self._provider_data(),
            finish_reason=self._finish_reason,
        )

    def _add_calls(self, delta: Mapping[str, Any], *, is_whole: bool) -> Iterator[ArgumentsDelta]:
        for place, fragment in enumerate(objects_in(delta.get("tool_calls"))):
            if arguments := self._add_fragment(fragment, place if is_whole else None):
                yield ArgumentsDelta(arguments)

    def _add_reasoning(self, delta: Mapping[str, Any]) -> Iterator[ReasoningDelta]:
        texts = {key: delta[key] for key in _REASONING_KEYS if isinstance(delta.get(key), str) and delta[key]}
        for key, text in texts.items():
            self._reasoning.setdefault(key, []).append(text)
        details = list(objects_in(delta.get("reasoning_details")))
        for detail in details:
            self._add_detail(detail)
        # The same is often said in several of them.
        shown = self._shown_reasoning.add(next(iter(texts.values()), "") or "".join(map(_detail_text, details)))
        if shown:
            yield ReasoningDelta(shown)

    def _add_text(self, delta: Mapping[str, Any]) -> Iterator[ModelEvent]:
        refusal = text_member(delta, "refusal") or ""
        self._has_refused = self._has_refused or bool(refusal)
        thoughts, text = self._think_blocks.split(_content_text(delta.get("content")))
        yield from self._shown(thoughts, text + refusal)

    def _shown(self, thoughts: str, text: str) -> Iterator[ModelEvent]:
        if thoughts := self._shown_reasoning.add(thoughts):
            yield ReasoningDelta(thoughts)
        if text := self._text.add(text):
            yield TextDelta(text)

    def _add_fragment(self, fragment: Mapping[str, Any], place: int | None) -> str:
        function = fragment.get("function")
        function = function if isinstance(function, dict) else {}
        call_id, name = str(fragment.get("id") or ""), str(function.get("name") or "")
        index = fragment.get("index") if place is None else place
        call = self._call_at.get(index) if isinstance(index, int) else self._call_without_index(call_id)
        if call is None or _begins_another(call, call_id, name):
            call = _Call()
            self._calls.append(call)
        if isinstance(index, int):
            self._call_at[index] = call
        call.id = call.id or join_surrogates(call_id)
        call.name = call.name or join_surrogates(name)
        arguments = function.get("arguments")
        if isinstance(arguments, dict):  # some servers send the object itself
            arguments = compact_json(arguments)
        if not isinstance(arguments, str):
            return ""
        call.pieces.append(arguments)
        return arguments

    def _call_without_index(self, call_id: str) -> _Call | None:
        same = (call for call in self._calls if call_id and call.id == call_id)
        return next(same, self._calls[-1] if self._calls else None)

    def _add_detail(self, detail: dict[str, Any]) -> None:
        last = self._details[-1] if self._details else {}
        if not last or any(last.get(key) != detail.get(key) for key in ("type", "index")):
            self._details.append(dict(detail))
            return
        for key, value in detail.items():
            if key in _DETAIL_TEXTS and isinstance(value, str) and isinstance(last.get(key), str):
                last[key] += value
            elif value is not None:
                last[key] = value

    def _provider_data(self) -> dict[str, Any] | None:
        # The details hold what the plain text says; of two spellings of the plain text one is enough.
        found: dict[str, Any] = {key: join_surrogates("".join(pieces)) for key, pieces in self._reasoning.items()}
        if self._details:
            found = {"reasoning_details": self._details}
        kept = next((key for key in ECHOED_KEYS if key in found), None)
        return {PROVIDER_TYPE: {"server": self._server, kept: found[kept]}} if kept else None


def _tool_calls(calls: list[_Call]) -> Iterator[ToolCall]:
    taken: set[str] = set()
    for call in calls:
        arguments = call.arguments
        yield ToolCall(unique_call_id(call.id, taken), call.name, arguments if arguments.strip() else "{}")


def _begins_another(call: _Call, call_id: str, name: str) -> bool:
    """Return True if a fragment for the place of a call begins another: some servers give every call the same index."""
    if call_id:
        return bool(call.id) and call_id != call.id
    return bool(name) and bool(call.name) and call.is_whole


def _detail_text(detail: Mapping[str, Any]) -> str:
    return next((detail[key] for key in _DETAIL_TEXTS[:2] if isinstance(detail.get(key), str)), "")


def _content_text(content: object) -> str:
    if isinstance(content, str):
        return content
    # Some servers send parts, of which only those of type "text" are the answer (Mistral).
    return "".join(
        part["text"] for part in objects_in(content) if part.get("type") == "text" and isinstance(part.get("text"), str)
    )


def _token_usage(usage: Mapping[str, Any]) -> TokenUsage:
    cached = count_member(usage.get("prompt_tokens_details"), "cached_tokens")
    return TokenUsage(
        input_tokens=count_member(usage, "prompt_tokens"),
        cached_input_tokens=count_member(usage, "prompt_cache_hit_tokens") if cached is None else cached,  # DeepSeek
        cache_write_tokens=count_member(usage.get("prompt_tokens_details"), "cache_write_tokens"),
        output_tokens=count_member(usage, "completion_tokens"),
        reasoning_tokens=count_member(usage.get("completion_tokens_details"), "reasoning_tokens"),
    )
