"""An answer of Chat Completions, put together from its chunks. No I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_http_providers import (
    END_OF_STREAM,
    AnswerCutError,
    AnswerFailedError,
    AnswerSource,
    objects_in,
    text_member,
)

from oneclaw_core import TokenUsage
from oneclaw_core.providers import (
    ModelEvent,
    ModelResponse,
    ReasoningDelta,
    StopReason,
    TextDelta,
    TextWithdrawn,
)
from oneclaw_openai.chat_calls import ChatCalls, tool_calls
from oneclaw_openai.chat_endings import ending_of
from oneclaw_openai.chat_usage import ChatUsage
from oneclaw_openai.chat_wire import CALL_EXTRAS, ECHOED_KEYS, EXTRA_KEYS, PROVIDER_TYPE
from oneclaw_openai.pieced_text import PiecedText
from oneclaw_openai.think_blocks import ThinkBlocks
from oneclaw_openai.wire_text import TextStream, join_surrogates

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from oneclaw_openai.chat_calls import Call
    from oneclaw_openai.chat_endings import Ending
    from oneclaw_openai.think_blocks import Split

# Of a reasoning detail, what comes in pieces; the rest comes whole (OpenRouter). The first two are for people to read.
_DETAIL_TEXTS = ("text", "summary", "data")
_REASONING_KEYS = ("reasoning_content", "reasoning", "thinking")
_CALL_KEYS = ("tool_calls", "function_call")


class ChatAnswer:
    """Takes the chunks of an answer one by one, or the one body of a server that does not stream.

    Args:
        server: the origin of the server, noted beside what goes back to this server only.
        is_vendor: True for the vendor of the format itself, which marks thoughts and calls as such.

    Attributes:
        usage: tokens that the server has counted so far.
        has_begun: whether anything has come.
        is_complete: whether the server has said that the model is done.
        is_final: whether the token counts have come too, which most servers send after that.
    """

    def __init__(self, server: str, *, is_vendor: bool = False) -> None:
        self._server = server
        self._think_blocks = ThinkBlocks(finds_lone_marks=not is_vendor)
        self._content = PiecedText()
        self._text = TextStream()
        self._shown_reasoning = TextStream()
        self._calls = ChatCalls()
        self._reasoning: dict[str, PiecedText] = {}
        self._said_reasoning: dict[str, list[str]] = {}
        self._details: list[dict[str, Any]] = []
        self._extras: dict[str, Any] = {}
        self._counts = ChatUsage()
        self._source = AnswerSource()
        self._ending: Ending | None = None
        self._ended_unexplained = False
        self._has_refused = False
        self._has_deltas = False
        self._chunks = 0
        self._last_chunk: Mapping[str, Any] = {}
        self.usage = TokenUsage()
        self.has_begun = False
        self.is_complete = False
        self.is_final = False

    @property
    def may_end(self) -> bool:
        """True if the answer came as one whole body, which needs no word for its end."""
        return self._chunks == 1 and isinstance(_choice_in(self._last_chunk).get("message"), dict)

    def add(self, chunk: Mapping[str, Any]) -> list[ModelEvent]:
        """Take a chunk.

        Args:
            chunk: the JSON object of an event, a whole body, or :data:`END_OF_STREAM`.

        Returns:
            What to show now, often nothing.

        Raises:
            AnswerFailedError: the service gave up, or its word for the end of the answer says so.
        """
        if chunk is END_OF_STREAM:
            self._ended_unexplained = not self.is_complete
            self.is_complete = self.is_final = True
            return self._rest()
        if chunk.get("type") == "error":
            raise AnswerFailedError(chunk)
        self.has_begun = True
        self._source.note(chunk)
        choice = _choice_in(chunk)
        usage = self._counts.add(chunk, choice)
        self.usage = usage or self.usage
        if not (self.is_complete and choice and chunk == self._last_chunk):  # else the last chunk once more
            events = self._add_choice(choice)
            self._chunks += 1
            self._last_chunk = chunk
        else:
            events = []
        self.is_final = self.is_complete and (self.is_final or usage is not None)
        return events

    def response(self) -> ModelResponse:
        """Put the response together.

        Raises:
            AnswerCutError: the server stopped the model in the middle of a call, not for the token limit.
        """
        stop_reason = StopReason.COMPLETE if self._ending is None else self._ending.stop_reason
        # A stream may end without a reason; then nothing but the calls themselves says that they are whole.
        is_whole = stop_reason is StopReason.COMPLETE and not self._ended_unexplained
        found = self._calls.found()
        cut = [] if is_whole else [call for call in found if not call.is_whole]
        if cut and (self._ended_unexplained or stop_reason is not StopReason.LENGTH_LIMIT):
            raise AnswerCutError("the end of the stream" if self._ended_unexplained else stop_reason.ended_by)
        whole = [call for call in found if call not in cut]
        return ModelResponse(
            text=self._text.whole(),
            tool_calls=tuple(tool_calls(whole)),
            cut_calls=tuple(tool_calls(cut)),
            usage=self.usage,
            stop_reason=StopReason.REFUSAL if self._has_refused and is_whole else stop_reason,
            provider_data=self._provider_data(whole),
            finish_reason=None if self._ending is None else self._ending.word,
            response_id=self._source.id,
            response_model=self._source.model,
        )

    def _add_choice(self, choice: Mapping[str, Any]) -> list[ModelEvent]:
        ending = ending_of(choice)
        is_last = ending is not None
        delta, message = choice.get("delta"), choice.get("message")
        events: list[ModelEvent] = []
        if isinstance(delta, dict):
            parts = list(self._add_delta(delta, is_last=is_last))
            self._has_deltas = self._has_deltas or bool(parts)
            events += parts
        elif isinstance(choice.get("text"), str):  # as older models were asked
            events += self._add_text({"content": choice["text"]}, is_last=is_last)
        if isinstance(message, dict):
            events += self._add_message(message, is_last=is_last)
        if ending is not None:
            self._end(ending)
        elif events:  # what was said to be the end was none
            self.is_complete = self.is_final = False
        return [*events, *self._rest()] if is_last else events

    def _end(self, ending: Ending) -> None:
        self.is_complete = True
        if self._ending is None or ending.stop_reason is not StopReason.COMPLETE:
            self._ending = ending
        if ending.is_unreadable_call:
            raise AnswerFailedError({"code": "tool_use_failed", "message": ending.word})
        if ending.error is not None:
            raise AnswerFailedError(ending.error)

    def _add_delta(self, delta: Mapping[str, Any], *, is_last: bool) -> Iterator[ModelEvent]:
        self._add_extras(delta)
        yield from self._calls.add(delta)
        if self._calls.is_mixed:
            raise AnswerFailedError({"code": "tool_use_failed", "message": "pieces of tool calls came out of order"})
        yield from self._add_reasoning(delta)
        yield from self._add_text(delta, is_last=is_last)

    def _add_message(self, message: Mapping[str, Any], *, is_last: bool) -> Iterator[ModelEvent]:
        """Take a message: the whole answer, all of it so far, or a piece where the server has no deltas."""
        self._add_extras(message)
        yield from self._calls.complete(message)
        yield from self._add_reasoning(message, completes=self._has_deltas)
        if not self._has_deltas:
            yield from self._add_text(message, is_last=is_last)
        else:
            yield from self._split(self._content.complete(_content_text(message.get("content"))))

    def _add_extras(self, delta: Mapping[str, Any]) -> None:
        self._extras |= {key: delta[key] for key in EXTRA_KEYS if delta.get(key)}

    def _add_reasoning(self, delta: Mapping[str, Any], *, completes: bool = False) -> Iterator[ReasoningDelta]:
        texts: dict[str, str] = {}
        for key in _REASONING_KEYS:
            if said := _reasoning_text(delta.get(key)):
                pieces = self._reasoning.setdefault(key, PiecedText())
                texts[key] = pieces.complete(said) if completes else pieces.add(said)
                self._said_reasoning.setdefault(key, []).append(texts[key])
        details = [] if completes and self._details else list(objects_in(delta.get("reasoning_details")))
        for detail in details:
            self._add_detail(detail)
        # The same is often said in several of them.
        thoughts = next(iter(texts.values()), "") or "".join(map(_detail_text, details))
        if thoughts := self._shown_reasoning.add(thoughts or _thinking_parts(delta.get("content"))):
            yield ReasoningDelta(thoughts)

    def _add_text(self, delta: Mapping[str, Any], *, is_last: bool) -> Iterator[ModelEvent]:
        refusal = text_member(delta, "refusal") or ""
        self._has_refused = self._has_refused or bool(refusal)
        yield from self._split(self._content.add(_content_text(delta.get("content")), is_last=is_last))
        yield from self._shown("", refusal)

    def _split(self, text: str) -> Iterator[ModelEvent]:
        if not text:
            return
        yield from self._parts(self._think_blocks.split(text))
        if self._reasoning or self._details:
            self._think_blocks.expect_no_thoughts()

    def _rest(self) -> list[ModelEvent]:
        return [*self._split(self._content.rest()), *self._parts(self._think_blocks.rest())]

    def _parts(self, split: Split) -> Iterator[ModelEvent]:
        if split.has_withdrawn and (shown := self._text.whole()):
            self._text = TextStream()
            yield TextWithdrawn(shown)
            yield from self._shown(shown, "")
        yield from self._shown(split.thoughts, split.text)

    def _shown(self, thoughts: str, text: str) -> Iterator[ModelEvent]:
        if thoughts := self._shown_reasoning.add(thoughts):
            yield ReasoningDelta(thoughts)
        if text := self._text.add(text):
            yield TextDelta(text, may_be_withdrawn=self._think_blocks.may_withdraw)

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

    def _provider_data(self, calls: list[Call]) -> dict[str, Any] | None:
        # The details hold what the plain text says; of two spellings of the plain text one is enough.
        found: dict[str, Any] = {
            key: join_surrogates("".join(pieces)) for key, pieces in self._said_reasoning.items() if any(pieces)
        }
        if self._details:
            found = {"reasoning_details": self._details}
        kept = next((key for key in ECHOED_KEYS if key in found), None)
        data = self._extras | ({kept: found[kept]} if kept else {})
        if any(call.extra for call in calls):
            data[CALL_EXTRAS] = [call.extra for call in calls]
        return {PROVIDER_TYPE: {"server": self._server, **data}} if data else None


def _choice_in(chunk: Mapping[str, Any]) -> dict[str, Any]:
    choices = list(objects_in(chunk.get("choices")))
    return next((each for each in choices if not each.get("index")), choices[0] if choices else {})


def _reasoning_text(said: object) -> str:
    if isinstance(said, dict):
        said = said.get("content") or said.get("text")
    return said if isinstance(said, str) else ""


def _detail_text(detail: Mapping[str, Any]) -> str:
    return next((detail[key] for key in _DETAIL_TEXTS[:2] if isinstance(detail.get(key), str)), "")


def _content_text(content: object) -> str:
    if isinstance(content, str):
        return content
    # Some servers send parts, of which only those of type "text" are the answer (Mistral).
    return "".join(
        part["text"] for part in objects_in(content) if part.get("type") == "text" and isinstance(part.get("text"), str)
    )


def _thinking_parts(content: object) -> str:
    """Return the thoughts among the parts of a message (Mistral)."""
    found = (part.get("thinking") for part in objects_in(content) if part.get("type") == "thinking")
    return "".join(each if isinstance(each, str) else _content_text(each) for each in found)
