"""A history as wire formats send it: user messages, and exchanges of an answer, its calls and their results.

What services insist on always holds: every call is answered, if only as interrupted, every result has its call, and
nothing that a model invented, or another service gave, has the requests of a session refused from then on. No I/O.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from oneclaw_core import Message, MessageType, ToolCallStatus, ToolResult
from oneclaw_core.json_schema import ArgumentsError, parse_arguments
from oneclaw_core.providers import compact_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


_INTERRUPTED = ToolResult.error("interrupted", "This call was interrupted before its outcome was known.")
_REFUSED_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_MAX_NAME_CHARACTERS = 64


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """A tool call and its result.

    Attributes:
        message: the call as the history has it.
        result: with its attachments; of a call without one, that it was interrupted.
        is_json: True if the result's text is the JSON of a structured value.
    """

    message: Message
    result: ToolResult
    is_json: bool = False

    @property
    def id(self) -> str:
        """The call's id, of whatever characters and length."""
        return self.message.tool_call_id or ""

    @property
    def name(self) -> str:
        """The tool's name, of characters and a length that services take; a model may have invented it."""
        return valid_name(self.message.tool_name)[:_MAX_NAME_CHARACTERS] or "unknown"

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments; none where the model wrote something else than a JSON object."""
        try:
            return parse_arguments(self.message.tool_input or "")
        except ArgumentsError:
            return {}

    @property
    def arguments_text(self) -> str:
        """The arguments just as the model wrote them; ``{}`` where that is something else than a JSON object."""
        written = self.message.tool_input or ""
        try:
            parse_arguments(written)
        except ArgumentsError:
            return "{}"
        return written if written.strip() else "{}"

    @property
    def envelope(self) -> str:
        """The result without its attachments, in the format of FEAT-004, "Tool Result Format".

        Text is a string in it. The JSON of a structured value stands in it as it is: as a string it would be escaped,
        and a third longer.
        """
        if self.is_json:
            return f'{{"status":"success","result":{self.result.result}}}'
        return compact_json(self.result.to_dict())

    @property
    def outcome(self) -> dict[str, Any]:
        """The :attr:`envelope` as an object, for services that take objects."""
        fields = self.result.to_dict()
        if self.is_json:
            with suppress(ValueError, RecursionError):
                fields["result"] = json.loads(fields["result"])
        return fields


@dataclass(slots=True)
class Exchange:
    """An answer of the model with its calls.

    Attributes:
        answer: its own entry in the history; missing where the model said nothing.
        calls: in its order.
    """

    answer: Message | None = None
    calls: list[AnsweredCall] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text of the model, often empty."""
        return self.answer.content if self.answer is not None else ""

    def provider_data(self, provider_type: str) -> Mapping[str, Any]:
        """Return the data that a wire format wants sent back with the answer; empty if none."""
        data = (self.answer.provider_data or {}).get(provider_type) if self.answer is not None else None
        return data if isinstance(data, dict) else {}


def exchanges(messages: Sequence[Message]) -> Iterator[Message | Exchange]:
    """Put the calls of one answer together, each with its result, wherever that stands in the history.

    Args:
        messages: a history, in its order.

    Returns:
        The user's messages as they are, and the exchanges between them.
    """
    results: dict[str | None, Message] = {}
    for message in messages:
        if message.type is MessageType.TOOL_RESULT:
            results.setdefault(message.tool_call_id, message)
    current: Exchange | None = None
    for message in messages:
        if message.type is MessageType.TOOL_CALL:
            current = current or Exchange()
            current.calls.append(_answered(message, results.get(message.tool_call_id)))
            continue
        if current is not None:
            yield current
        current = Exchange(message) if message.type is MessageType.ASSISTANT else None
        if message.type is MessageType.USER:
            yield message
    if current is not None:
        yield current


def valid_name(name: str | None) -> str:
    """Replace the characters of a tool's name that services refuse to read back, in every later request."""
    return _REFUSED_IN_NAMES.sub("_", name or "")


def _answered(call: Message, result: Message | None) -> AnsweredCall:
    if result is None:
        return AnsweredCall(call, _INTERRUPTED)
    if result.tool_status is ToolCallStatus.ERROR:
        failure = ToolResult.error(result.error_type or "execution_error", result.content)
        return AnsweredCall(call, replace(failure, attachments=result.attachments))
    return AnsweredCall(call, ToolResult.success(result.content, result.attachments), result.is_json)


def without_listed_tools(result: ToolResult, names: Iterable[str]) -> ToolResult:
    """Leave tools out of the result that loaded them, for a service that reads their definitions right behind it.

    Args:
        result: of ``load_tool_group``.
        names: the names of the tools.
    """
    listed = tuple(f"- {name}: " for name in names)
    lines = result.text().split("\n")
    return replace(result, result="\n".join(line for line in lines if not line.startswith(listed)))
