"""An answer of Gemini, put together from its chunks. No I/O.

Each chunk is a response object with the parts that are new; a call comes whole in one part. There is no end mark: the
answer is complete once a finish reason has come.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from oneclaw_http_providers import (
    AnswerCutError,
    AnswerFailedError,
    AnswerGarbledError,
    AnswerSource,
    AttemptFailed,
    count_member,
    objects_in,
    shown_word,
    text_member,
)

from oneclaw_core import TokenUsage, ToolCall
from oneclaw_core.providers import (
    ModelEvent,
    ModelResponse,
    ProviderRequestError,
    ProviderUnavailableError,
    ReasoningDelta,
    StopReason,
    TextDelta,
    UnreadableCallError,
    compact_json,
)
from oneclaw_core.tools import clean_text
from oneclaw_gemini.contents import PROVIDER_TYPE, is_acceptable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_GOOD_REASON = "STOP"
_STOP_REASONS = {
    _GOOD_REASON: StopReason.COMPLETE,
    "MAX_TOKENS": StopReason.LENGTH_LIMIT,
    "CONTINUATION": StopReason.LENGTH_LIMIT,
    **dict.fromkeys(
        ("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"), StopReason.CONTENT_FILTER
    ),
}
# The model stumbled over a call; told so, it often does not again.
_UNREADABLE_CALLS = {
    "MALFORMED_FUNCTION_CALL": "the model wrote a tool call that cannot be read",
    "UNEXPECTED_TOOL_CALL": "the model called a tool in a way that is not possible",
}
_STUMBLES = {"MALFORMED_RESPONSE": "the model wrote an answer that cannot be read"}
_FAULTS = {
    "TOO_MANY_TOOL_CALLS": "the model called too many tools in a row: ask for less at once",
    "MISSING_THOUGHT_SIGNATURE": "a signature of the model's thoughts is missing: go on in a new session",
}


class GeminiAnswer:
    """Takes the chunks of an answer one by one, or the one body of a server that does not stream.

    Args:
        server: the origin of the server, noted beside what goes back to this server only.
        name: what the user calls the service.

    Attributes:
        usage: tokens that the service has counted so far.
        has_begun: whether anything has come.
    """

    def __init__(self, server: str, name: str) -> None:
        self._server = server
        self._name = name
        self._parts: list[dict[str, Any]] = []
        self._text: list[str] = []
        # What joins the text of the last part.
        self._more_text: list[str] = []
        self._calls: list[ToolCall] = []
        self._call_of_id: dict[str, dict[str, Any]] = {}
        self._has_partial_call = False
        self._partial_calls: list[str] = []
        self._is_echoable = True
        self._counts: dict[str, int] = {}
        self._has_counts_in_last_chunk = False
        self._finish_reason: str | None = None
        self._source = AnswerSource()
        self._finish_message = ""
        self._block_reason: str | None = None
        self.usage = TokenUsage()
        self.has_begun = False

    @property
    def is_complete(self) -> bool:
        """True if the service has said that the model is done."""
        # Some gateways that translate to this format say so before anything of the answer has come.
        if self._finish_reason == _GOOD_REASON:
            return bool(self._parts)
        return self._finish_reason is not None or self._block_reason is not None

    @property
    def may_end(self) -> bool:
        """True if the service gave a reason for the end, even of an answer without parts."""
        return self._finish_reason is not None

    @property
    def is_final(self) -> bool:
        """True if the token counts have come with the end of the answer, or after it as from some gateways."""
        return self.is_complete and self._has_counts_in_last_chunk

    def add(self, chunk: Mapping[str, Any]) -> list[ModelEvent]:
        """Take a chunk.

        Args:
            chunk: the JSON object of an event, or a whole body.

        Returns:
            What to show now, often nothing.

        Raises:
            AnswerGarbledError: a call is nested too deeply to be read.
        """
        if isinstance(wrapped := chunk.get("response"), dict) and "candidates" not in chunk:  # Code Assist
            chunk = wrapped
        if chunk.get("type") == "error":
            raise AnswerFailedError(chunk)
        self.has_begun = True
        self._source.note(chunk, "responseId", "modelVersion")
        self._add_counts(chunk.get("usageMetadata"))
        feedback = chunk.get("promptFeedback")
        if isinstance(feedback, dict) and feedback.get("blockReason"):
            self._block_reason = _reason(feedback["blockReason"])
        candidate = next((each for each in objects_in(chunk.get("candidates")) if not each.get("index")), {})
        content = candidate.get("content")
        parts = content.get("parts") if isinstance(content, dict) else None
        try:
            events = [event for part in objects_in(parts) for event in self._add_part(part)]
        except RecursionError:
            raise AnswerGarbledError from None
        if candidate.get("finishReason"):
            self._finish_reason = _reason(candidate["finishReason"])
            self._finish_message = text_member(candidate, "finishMessage") or ""
        elif parts:  # what was said to be the end was none
            self._finish_reason = None
        return events

    def response(self) -> ModelResponse:
        """Put the response together.

        Raises:
            AnswerCutError: the service stopped the model in the middle of a call, not for the token limit.
            AttemptFailed: the model could not answer, or was not let.
        """
        stop_reason = _STOP_REASONS.get(self._finish_reason or "", StopReason.OTHER)
        is_limit = stop_reason is StopReason.LENGTH_LIMIT
        if self._has_partial_call and not is_limit:
            raise AnswerCutError((stop_reason if stop_reason is not StopReason.COMPLETE else StopReason.OTHER).ended_by)
        text = "".join(self._text)
        failure = self._failure(has_said_something=bool(text.strip() or self._calls or self._has_partial_call))
        if failure is not None:
            raise failure
        return ModelResponse(
            text=text,
            tool_calls=tuple(self._calls),
            cut_calls=tuple(ToolCall(f"call_{uuid.uuid4().hex}", name, "{}") for name in self._partial_calls),
            usage=self.usage,
            stop_reason=stop_reason,
            provider_data=self._provider_data(),
            finish_reason=self._finish_reason,
            response_id=self._source.id,
            response_model=self._source.model,
        )

    def _failure(self, *, has_said_something: bool) -> AttemptFailed | None:
        reason = self._finish_reason or self._block_reason or ""
        name = self._name
        if reason in _UNREADABLE_CALLS:
            error = UnreadableCallError(f"{name} could not answer, {_UNREADABLE_CALLS[reason]} ({reason})")
            error.written = self._finish_message
            return AttemptFailed(error)
        if reason in _STUMBLES:
            text = f"{name} could not answer, {_STUMBLES[reason]} ({reason}): try again"
            return AttemptFailed(ProviderUnavailableError(text), is_retryable=True)
        if reason in _FAULTS:
            return AttemptFailed(ProviderRequestError(f"{name} could not answer, {_FAULTS[reason]} ({reason})"))
        if has_said_something:
            return None
        if self._finish_reason is None:
            text = f"{name} refuses the conversation ({reason}): say it differently, or start a new session"
            return AttemptFailed(ProviderRequestError(text))
        if _STOP_REASONS.get(reason) in (StopReason.COMPLETE, StopReason.LENGTH_LIMIT):
            return None  # an empty answer, as every service may give
        text = f"{name} stopped the answer before it said anything ({reason}): say it differently"
        return AttemptFailed(ProviderRequestError(text))

    def _add_part(self, part: dict[str, Any]) -> Iterator[ModelEvent]:
        call = part.get("functionCall")
        if isinstance(call, dict):
            if call.get("willContinue") or call.get("partialArgs"):
                self._has_partial_call = True
                if isinstance(name := call.get("name"), str) and name:  # with the first piece only
                    self._partial_calls.append(clean_text(name))
                    self._keep(part | {"functionCall": {"name": name, "args": {}}})
            elif not (call.get("id") and self._call_of_id.get(str(call["id"])) == call):  # else it would run twice
                self._add_call(call)
                self._keep(part)
            return
        self._keep(part)
        text = part.get("text")
        if isinstance(text, str) and text:
            text = clean_text(text)
            if part.get("thought"):
                yield ReasoningDelta(text)
            else:
                self._text.append(text)
                yield TextDelta(text)

    def _add_call(self, call: dict[str, Any]) -> None:
        name, arguments, service_id = call.get("name"), call.get("args"), call.get("id")
        call_id = clean_text(service_id) if isinstance(service_id, str) else ""
        if call_id in self._call_of_id:
            # Their results could not be told apart by the id.
            self._is_echoable, call_id = False, ""
        if call_id:
            self._call_of_id[call_id] = call
        self._calls.append(
            ToolCall(
                call_id or f"call_{uuid.uuid4().hex}",
                clean_text(name) if isinstance(name, str) else "",
                clean_text(compact_json({} if arguments is None else arguments)),
            )
        )

    def _keep(self, part: dict[str, Any]) -> None:
        """Note a part as it came; text without a signature is joined, which changes nothing for the service."""
        last = self._parts[-1] if self._parts else {}
        if _is_plain_text(part) and _is_plain_text(last) and part.get("thought") == last.get("thought"):
            self._more_text.append(part["text"])
            return
        self._join_text()
        self._parts.append(dict(part))

    def _join_text(self) -> None:
        if self._more_text:
            self._parts[-1]["text"] += "".join(self._more_text)
            self._more_text.clear()

    def _provider_data(self) -> dict[str, Any] | None:
        self._join_text()
        parts = [part for part in self._parts if part.get("text") != "" or part.keys() - {"text", "thought"}]
        if all(part.keys() == {"text"} for part in parts):
            return None
        if not self._is_echoable or not all(is_acceptable(part) for part in parts):
            return None
        return {PROVIDER_TYPE: {"server": self._server, "parts": parts}}

    def _add_counts(self, usage: object) -> None:
        """Take the counts so far; what a later chunk leaves out stays as it was."""
        self._has_counts_in_last_chunk = bool(usage)
        for key in usage if isinstance(usage, dict) else ():
            number = count_member(usage, key)
            if number is not None:
                self._counts[key] = number
        if not usage:
            return
        self.usage = TokenUsage(
            input_tokens=self._sum("promptTokenCount", "toolUsePromptTokenCount"),
            cached_input_tokens=self._counts.get("cachedContentTokenCount"),
            output_tokens=self._sum("candidatesTokenCount", "thoughtsTokenCount"),
            reasoning_tokens=self._counts.get("thoughtsTokenCount"),
        )

    def _sum(self, *keys: str) -> int | None:
        counts = [self._counts[key] for key in keys if key in self._counts]
        return sum(counts) if counts else None


def _is_plain_text(part: Mapping[str, Any]) -> bool:
    return isinstance(part.get("text"), str) and part.keys() <= {"text", "thought"}


def _reason(value: object) -> str:
    """Give a service's word for a reason, fit to be shown."""
    return shown_word(value) or "unknown reason"
