"""An answer of the Responses API, put together from its events. No I/O.

An item of the answer counts once it is done. What comes of it before is for people to watch, so that events which are
lost, repeated or out of order may spoil what is watched, but never a call.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_http_providers import (
    END_OF_STREAM,
    AnswerCutError,
    AnswerFailedError,
    AnswerSource,
    are_complete_arguments,
    count_member,
    member,
    objects_in,
    shown_word,
    unique_call_id,
)

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
from oneclaw_core.tools import LOAD_TOOL_GROUP
from oneclaw_openai.responses_wire import BRIEF_LOADS, PROVIDER_TYPE
from oneclaw_openai.wire_text import TextStream, join_surrogates

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    # Where an item stands in the answer, or its id where the server does not say.
    Place = int | str

_PARAGRAPH = "\n\n"
# Why an answer is incomplete.
_STOP_REASONS = {
    "max_output_tokens": StopReason.LENGTH_LIMIT,
    "content_filter": StopReason.CONTENT_FILTER,
}
# Of the codes of a failed response, those that asking again does not help.
_REFUSALS = re.compile(r"^invalid_|image|policy|mismatch")


@dataclass(slots=True)
class _ShownText(TextStream):
    """The part of an item's text that was shown."""

    def add_rest_of(self, text: str) -> str:
        """Take the whole text, and give what was not shown of it; nothing if something else was."""
        shown = "".join(self.pieces)
        self.held_back = ""
        return self.add(text[len(shown) :]) if text.startswith(shown) else ""


class ResponsesAnswer:
    """Takes the events of an answer one by one, or the one body of a server that does not stream.

    Args:
        server: the origin of the server, noted beside what goes back to this server only.

    Attributes:
        usage: tokens that the server has counted so far.
        has_begun: whether anything has come.
    """

    def __init__(self, server: str) -> None:
        self._server = server
        self._done: dict[Place, dict[str, Any]] = {}
        # By their places, as they began.
        self._begun_calls: dict[Place, dict[str, Any]] = {}
        self._shown: dict[Place, _ShownText] = {}
        self._seen_deltas: set[tuple[int, Place, str]] = set()
        self._ending: Mapping[str, Any] | None = None
        self._stop_reason = StopReason.COMPLETE
        self._finish_reason: str | None = None
        self._source = AnswerSource()
        self.usage = TokenUsage()
        self.has_begun = False

    @property
    def is_complete(self) -> bool:
        """True if the service has said that the model is done, and no call is missing."""
        if self._ending is None:
            return False
        return self._is_cut or not self._has_unfinished_calls()

    @property
    def is_final(self) -> bool:
        """True if the answer is complete: the event that ends it holds the token counts."""
        return self.is_complete

    def add(self, chunk: Mapping[str, Any]) -> list[ModelEvent]:
        """Take an event.

        Args:
            chunk: its JSON object, or a whole response.

        Returns:
            What to show now, often nothing.

        Raises:
            AnswerFailedError: the service gave up.
        """
        if chunk is END_OF_STREAM:
            return []
        self.has_begun = True
        self._source.note(chunk.get("response"))
        match chunk.get("type"):
            case "response.output_text.delta" | "response.refusal.delta":
                return self._text_delta(chunk)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                return self._reasoning_delta(chunk)
            case "response.reasoning_summary_part.added" if chunk.get("summary_index"):
                return [ReasoningDelta(_PARAGRAPH)]
            case "response.output_item.added":
                item = chunk.get("item")
                if isinstance(item, dict) and item.get("type") == "function_call":
                    self._begun_calls[_place(chunk)] = item
            case "response.function_call_arguments.delta" | "response.function_call_arguments.done":
                begun = self._begun_calls.setdefault(_place(chunk), {"type": "function_call"})
                delta = chunk.get("delta")
                return [ArgumentsDelta(delta, str(begun.get("name") or ""))] if isinstance(delta, str) and delta else []
            case "response.output_item.done":
                return self._item_done(chunk)
            case "response.completed" | "response.incomplete" | "response.failed":
                return self._end(chunk.get("response"), str(chunk["type"]).removeprefix("response."))
            case "error":
                raise AnswerFailedError(_failure({key: chunk.get(key) for key in ("code", "message")}))
            case _ if chunk.get("object") == "response":
                self._source.note(chunk)
                return self._end(chunk, str(chunk.get("status") or "completed"))
        return []

    def response(self) -> ModelResponse:
        """Put the response together.

        Raises:
            AnswerCutError: the service stopped the model in the middle of a call, not for the token limit.
        """
        output = self._output()
        if self._has_unfinished_calls():
            known = {item.get("call_id") for item in output}
            output = output + [item for item in self._begun_calls.values() if item.get("call_id") not in known]
        calls = [item for item in output if item.get("type") == "function_call"]
        cut = [call for call in calls if self._is_cut_call(call)]
        if cut and self._stop_reason is not StopReason.LENGTH_LIMIT:
            raise AnswerCutError((self._stop_reason if self._is_cut else StopReason.OTHER).ended_by)
        if cut:
            calls = [call for call in calls if call not in cut]
            # The end of the answer: behind it, nothing else can have come.
            output = [item for item in output if item not in cut] + [_cut_item(call) for call in cut]
        texts = [text for text in map(_text_of, output) if text]
        texts = texts or ["".join(shown.pieces) for shown in self._shown.values() if shown.pieces]
        return ModelResponse(
            text=_PARAGRAPH.join(texts),
            tool_calls=tuple(_tool_calls(calls)),
            cut_calls=tuple(_tool_calls(cut)),
            usage=self.usage,
            stop_reason=self._stop_reason if self._is_cut or not any(map(_refuses, output)) else StopReason.REFUSAL,
            provider_data=self._provider_data(output, calls),
            finish_reason=self._finish_reason,
            response_id=self._source.id,
            response_model=self._source.model,
        )

    def _provider_data(self, output: list[dict[str, Any]], calls: list[dict[str, Any]]) -> dict[str, Any] | None:
        if not output:
            return None
        data: dict[str, Any] = {"server": self._server, "output": output}
        if any(call.get("name") == LOAD_TOOL_GROUP for call in calls):
            data[BRIEF_LOADS] = True
        return {PROVIDER_TYPE: data}

    def _text_delta(self, chunk: Mapping[str, Any]) -> list[ModelEvent]:
        delta = self._new_delta(chunk)
        return self._show(_place(chunk), delta) if delta else []

    def _reasoning_delta(self, chunk: Mapping[str, Any]) -> list[ModelEvent]:
        delta = join_surrogates(self._new_delta(chunk))
        return [ReasoningDelta(delta)] if delta else []

    def _new_delta(self, chunk: Mapping[str, Any]) -> str:
        """The text of a delta; empty if the same event has come before."""
        delta, number = chunk.get("delta"), chunk.get("sequence_number")
        if not isinstance(delta, str):
            return ""
        if isinstance(number, int):
            seen = (number, _place(chunk), delta)
            if seen in self._seen_deltas:
                return ""
            self._seen_deltas.add(seen)
        return delta

    def _show(self, place: Place, text: str, *, is_whole: bool = False) -> list[ModelEvent]:
        shown = self._shown.setdefault(place, _ShownText())
        is_next = not shown.pieces and any(other.pieces for other in self._shown.values())
        text = shown.add_rest_of(text) if is_whole else shown.add(text)
        return [TextDelta(_PARAGRAPH + text if is_next else text)] if text else []

    def _item_done(self, chunk: Mapping[str, Any]) -> list[ModelEvent]:
        item = chunk.get("item")
        if not isinstance(item, dict):
            return []
        place = _place(chunk)
        self._done[place] = item
        text = _text_of(item)
        return self._show(place, text, is_whole=True) if text else []

    def _end(self, response: object, status: str) -> list[ModelEvent]:
        response = response if isinstance(response, dict) else {}
        if status not in ("completed", "incomplete", "failed", "cancelled"):
            return []
        self._ending = response
        if isinstance(response.get("usage"), dict):
            self.usage = _token_usage(response["usage"])
        if status in ("failed", "cancelled"):
            raise AnswerFailedError(_failure(response.get("error")))
        self._finish_reason = status
        if status == "incomplete":
            reason = member(response.get("incomplete_details"), "reason")
            self._finish_reason = shown_word(reason) or status
            self._stop_reason = _STOP_REASONS.get(str(reason), StopReason.OTHER)
        if self._shown:
            return []
        texts = [text for text in map(_text_of, self._output()) if text]
        return [TextDelta(_PARAGRAPH.join(texts))] if texts else []

    def _output(self) -> list[dict[str, Any]]:
        """The items of the answer: those that came one by one, or the list at its end if that holds more."""
        done = [self._done[place] for place in sorted(self._done, key=_order)]
        listed = self._listed()
        return listed if len(listed) > len(done) else done

    def _listed(self) -> list[dict[str, Any]]:
        return list(objects_in((self._ending or {}).get("output")))

    @property
    def _is_cut(self) -> bool:
        return self._stop_reason is not StopReason.COMPLETE

    def _is_cut_call(self, call: Mapping[str, Any]) -> bool:
        return call.get("status") == "incomplete" or (self._is_cut and not are_complete_arguments(_arguments(call)))

    def _has_unfinished_calls(self) -> bool:
        if self._begun_calls.keys() <= self._done.keys():
            return False
        if not self._is_cut and self._listed():  # all items there are
            return False
        listed = [item for item in self._listed() if item.get("type") == "function_call"]
        return len(listed) < len(self._begun_calls)


def _cut_item(call: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a cut call that is sent back; its id and arguments are those of the history."""
    return {key: call[key] for key in ("type", "id", "name", "namespace") if call.get(key)}


def _place(chunk: Mapping[str, Any]) -> Place:
    index, item_id, item = chunk.get("output_index"), chunk.get("item_id"), chunk.get("item")
    if isinstance(index, int):
        return index
    return str(item_id or (item.get("id") if isinstance(item, dict) else "") or "")


def _order(place: Place) -> float:
    return place if isinstance(place, int) else float("inf")


def _text_of(item: Mapping[str, Any]) -> str:
    if item.get("type") != "message":
        return ""
    parts = (
        part.get("refusal" if part.get("type") == "refusal" else "text") for part in objects_in(item.get("content"))
    )
    return join_surrogates("".join(part for part in parts if isinstance(part, str)))


def _refuses(item: Mapping[str, Any]) -> bool:
    return item.get("type") == "message" and any(
        part.get("type") == "refusal" for part in objects_in(item.get("content"))
    )


def _tool_calls(items: list[dict[str, Any]]) -> Iterator[ToolCall]:
    taken: set[str] = set()
    for item in items:
        call_id = unique_call_id(join_surrogates(str(item.get("call_id") or "")), taken)
        arguments = _arguments(item)
        yield ToolCall(call_id, join_surrogates(str(item.get("name") or "")), arguments if arguments.strip() else "{}")


def _arguments(call: Mapping[str, Any]) -> str:
    arguments = call.get("arguments")
    if isinstance(arguments, dict):  # some servers send the object itself
        return compact_json(arguments)
    return join_surrogates(arguments) if isinstance(arguments, str) else ""


def _failure(error: object) -> object:
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(error, dict) and isinstance(code, str) and _REFUSALS.search(code):
        return error | {"type": "invalid_request_error"}
    return error


def _token_usage(usage: dict[str, Any]) -> TokenUsage:
    read = usage.get("input_tokens_details")
    return TokenUsage(
        input_tokens=count_member(usage, "input_tokens"),
        cached_input_tokens=count_member(read, "cached_tokens"),
        cache_write_tokens=count_member(read, "cache_write_tokens"),
        output_tokens=count_member(usage, "output_tokens"),
        reasoning_tokens=count_member(usage.get("output_tokens_details"), "reasoning_tokens"),
    )
