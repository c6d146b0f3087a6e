"""The step of an answer that finds tool calls which the model wrote as text.

It runs only for servers that speak a vendor's format without being the vendor, and for requests with tools. While the
text may turn out to be calls, it is held back.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from oneclaw_http_providers import AttemptFailed

from oneclaw_core import MessageType, ProviderError, ToolCall
from oneclaw_core.providers import (
    TEXT_CALLS_REMEDY,
    ArgumentsDelta,
    StopReason,
    TextDelta,
    TextWithdrawn,
    UnreadableCallError,
)
from oneclaw_openai.text_calls import begun_opener, late_calls, may_be_calls, read_calls, valid_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_http_providers import Answer

    from oneclaw_core import TokenUsage
    from oneclaw_core.providers import ModelEvent, ModelRequest, ModelResponse
    from oneclaw_openai.text_calls import TextCall

# Noted with an answer whose calls were text.
TEXT_CALLS = "text_calls"
_JSON_PARAMETERS = ("response_format", "format", "guided_json", "json_schema", "structured_outputs", "grammar")


class TextCallAnswer:
    """An answer of another wire format, of which text may be calls.

    Args:
        answer: takes the chunks.
        request: what is answered.
        provider: the name of the service.
    """

    def __init__(self, answer: Answer, request: ModelRequest, provider: str) -> None:
        self._answer = answer
        self._provider = provider
        self._tools = {each.name: each for each in request.tools}
        self._has_native_calls = _has_native_calls(request, provider)
        self._held: list[TextDelta] = []
        self._text = ""
        self._is_released = False
        self._is_shown = False
        self._is_native = False

    @property
    def has_begun(self) -> bool:
        """True if part of the answer has arrived."""
        return self._answer.has_begun

    @property
    def usage(self) -> TokenUsage:
        """Tokens that the service has counted so far."""
        return self._answer.usage

    @property
    def is_complete(self) -> bool:
        """True if the service has said that the model is done."""
        return self._answer.is_complete

    @property
    def is_final(self) -> bool:
        """True if the answer is complete, token counts included."""
        return self._answer.is_final

    @property
    def may_end(self) -> bool:
        """True if the answer is complete in case that nothing more comes."""
        return bool(getattr(self._answer, "may_end", False))

    def add(self, chunk: Mapping[str, Any]) -> list[ModelEvent]:
        """Take a chunk, and give what is to be shown now."""
        events: list[ModelEvent] = []
        for event in self._answer.add(chunk):
            if isinstance(event, TextDelta):
                events += self._take(event)
                continue
            if isinstance(event, TextWithdrawn):
                if self._is_shown:
                    events.append(event)
                self._held.clear()
                self._text, self._is_released, self._is_shown = "", False, False
                continue
            if isinstance(event, ArgumentsDelta):
                self._is_native = True
                events += self._release()
            events.append(event)
        return events

    def rest(self) -> list[ModelEvent]:
        """Give what was held back, now that nothing more comes, unless it is calls.

        Raises:
            AttemptFailed: it is calls that cannot be run.
        """
        if not self._held or self._is_native:
            return self._release()
        calls = read_calls(self._text)
        if calls is not None and all(each.name in self._tools for each in calls):
            return []
        place = late_calls(self._text)
        found = calls or (read_calls(self._text[place:]) if place is not None else None)
        if found is not None and (place is not None or self._is_ours(found)):
            raise AttemptFailed(self._error(found))
        return self._release()

    def response(self) -> ModelResponse:
        """Put the response together.

        Raises:
            AttemptFailed: it is calls that cannot be run.
        """
        response = self._answer.response()
        if not self._held or self._is_native or response.tool_calls or response.cut_calls:
            return response
        calls = read_calls(self._text) or []
        if response.stop_reason is not StopReason.COMPLETE:
            raise AttemptFailed(self._error(calls))
        made = [(each.name, valid_arguments(each, self._tools[each.name])) for each in calls]
        if self._has_native_calls or any(arguments is None for _, arguments in made):
            raise AttemptFailed(self._error(calls))
        return replace(
            response,
            text="",
            tool_calls=tuple(ToolCall(f"call_{uuid.uuid4().hex}", name, arguments or "{}") for name, arguments in made),
            provider_data={**(response.provider_data or {}), TEXT_CALLS: {"provider": self._provider}},
            are_calls_text=True,
        )

    def _take(self, event: TextDelta) -> list[ModelEvent]:
        self._text += event.text
        if self._is_native:
            return [event]
        self._held.append(event)
        if not self._is_released:
            if may_be_calls(self._text, self._tools):
                return []
            self._is_released = True
        place = late_calls(self._text)
        kept = begun_opener(self._text) if place is None else len(self._text) - place
        return self._release(kept)

    def _release(self, kept: int = 0) -> list[ModelEvent]:
        """Give what is held back, but for some characters at its end."""
        held = "".join(each.text for each in self._held)
        if not held or kept >= len(held):
            return []
        given = held[: len(held) - kept]
        unsure = self._held[0].may_be_withdrawn
        self._held = [replace(self._held[-1], text=held[len(given) :])] if kept else []
        if not kept:
            self._text = self._text[-200:] if not self._is_native else ""
        self._is_shown = True
        return [TextDelta(given, may_be_withdrawn=unsure)]

    def _is_ours(self, calls: list[TextCall]) -> bool:
        return any(each.name in self._tools for each in calls)

    def _error(self, calls: list[TextCall]) -> ProviderError | UnreadableCallError:
        names = ", ".join(dict.fromkeys(each.name for each in calls)) or "a tool"
        if self._has_native_calls:
            error = UnreadableCallError(f"the model of {self._provider} wrote a call of {names} as text")
            error.written = self._text[-4_000:]
            return error
        return ProviderError(
            f"{self._provider} sends tool calls as text, and this one ({names}) cannot be run: {TEXT_CALLS_REMEDY}"
        )


def reads_text_calls(request: ModelRequest) -> bool:
    """Return True if the answer to a request may be calls as text: it has tools and asks for no JSON."""
    asks_for_json = request.output is not None or any(request.parameters.get(name) for name in _JSON_PARAMETERS)
    return bool(request.tools.names) and not asks_for_json


def _has_native_calls(request: ModelRequest, provider: str) -> bool:
    """Return True if the service has sent calls as calls in this session."""
    is_of_service = False
    for message in request.messages:
        if message.type is MessageType.ASSISTANT:
            is_of_service = (message.model or "").startswith(f"{provider}/") and TEXT_CALLS not in (
                message.provider_data or {}
            )
        elif message.type is MessageType.TOOL_CALL and is_of_service:
            return True
    return False
