"""The entries of a session's history, as every layer sees them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from oneclaw_core.types.provenance import Mark


OWN_DATA = "oneclaw"
"""The key in ``provider_data`` of what OneClaw keeps with an entry, such as ``not_sent`` and ``files``."""


class MessageType(StrEnum):
    """Kind of an entry of the history."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"


class ToolCallStatus(StrEnum):
    """State of a tool call; ``PENDING`` from being stored until its outcome is."""

    PENDING = "pending"
    SUCCESS = "success"
    ERROR = "error"


class StopReason(StrEnum):
    """Why an answer ends where it ends, in the same words for every service.

    ``COMPLETE``: the model was done, or wants tools run. ``LENGTH_LIMIT``: it reached the longest answer allowed.
    ``CONTENT_FILTER``: the service stopped it for what it said. ``REFUSAL``: the model declines; its text says so.
    ``REPETITION``: it repeated itself and was stopped. ``OTHER``: the service stopped it for another reason, or gave a
    reason that is not known.
    """

    COMPLETE = "complete"
    LENGTH_LIMIT = "length_limit"
    CONTENT_FILTER = "content_filter"
    REFUSAL = "refusal"
    REPETITION = "repetition"
    OTHER = "other"

    @property
    def ended_by(self) -> str:
        """The cause that ended the answer, to follow the word "by"."""
        return _ENDED_BY[self]


_ENDED_BY = {
    StopReason.COMPLETE: "the model",
    StopReason.LENGTH_LIMIT: "the token limit",
    StopReason.CONTENT_FILTER: "the service's content filter",
    StopReason.REFUSAL: "the model, which declines to go on",
    StopReason.REPETITION: "the end of a text that repeats itself",
    StopReason.OTHER: "the service",
}


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that goes with a message: for a model to look at, or from a tool for the user.

    Attributes:
        name: the file's name, without directories.
        media_type: such as ``image/png`` or ``application/pdf``.
        data: the file's bytes.
        left_out_bytes: how long the file is, if its bytes were left out when an old message was read; else ``None``.
        is_for_user: True for a file that a tool sends to the user, of any kind; no model is shown it.
    """

    name: str
    media_type: str
    data: bytes = field(repr=False)
    left_out_bytes: int | None = None
    is_for_user: bool = False

    @property
    def size(self) -> int:
        """Length of the file in bytes, even if they are left out."""
        return len(self.data) if self.left_out_bytes is None else self.left_out_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One entry of a session's history.

    A tool call and its result are two entries that share ``tool_call_id`` and ``tool_name``; the status stands on
    both. Entries are ordered by ``sequence``, never by time.

    Attributes:
        type: what the entry is.
        content: the text of the user, the model or the tool; a failed tool's error message.
        tool_call_id: ties a call to its result; unique within a session.
        tool_name: the tool called.
        tool_input: the arguments as JSON text, exactly as the model sent them (calls only).
        tool_status: of a call or result; ``None`` for text.
        error_type: of a failed result, one of the error types of the design.
        shown_characters: how much of ``content`` a model is shown, ``None`` for all of it (results only).
        is_json: True if ``content`` is the JSON of a structured value (results only).
        is_incomplete: True if ``content`` is the beginning of an answer that broke off (of the model only).
        duration_ms: how long the tool ran, in milliseconds (results only).
        provider_data: what a wire format needs to get back verbatim later, by provider type; and what OneClaw keeps
            with the entry, see :data:`OWN_DATA`.
        attachments: files for the model to look at (of the user, and of results), and for the user (of results).
        marks: where the content comes from; a model is not sent them.
        model: the model that wrote it, as ``PROVIDER/MODEL`` (of the model only); ``None`` if that was not stored.
        sequence: the place in the history; ``None`` until stored.
        created_at: when it was stored, in UTC.
    """

    type: MessageType
    content: str = ""
    tool_call_id: str | None = None
    tool_name: str | None = None
    tool_input: str | None = None
    tool_status: ToolCallStatus | None = None
    error_type: str | None = None
    shown_characters: int | None = None
    is_json: bool = False
    is_incomplete: bool = False
    duration_ms: float | None = None
    provider_data: Mapping[str, Any] | None = None
    attachments: tuple[Attachment, ...] = ()
    marks: tuple[Mark, ...] = ()
    model: str | None = None
    sequence: int | None = None
    created_at: datetime | None = None

    @property
    def not_sent(self) -> str | None:
        """The reason of a service for which the entry goes to no model any more; ``None`` for one that does."""
        reason = self._own_data("not_sent")
        return reason if isinstance(reason, str) else None

    @property
    def is_of_output(self) -> bool:
        """True if the entry belongs to the way to an output that a program asked for.

        Such as a call of the tool that takes it, or an answer that was not of the form, and what the model was told
        then. Listings hide it, and later turns do not have it.
        """
        return self._own_data("is_of_output") is True

    def of_output(self) -> Message:
        """Return the same entry as one that belongs to the way to an output."""
        data = dict(self.provider_data or {})
        own = data.get(OWN_DATA)
        data[OWN_DATA] = {**(own if isinstance(own, dict) else {}), "is_of_output": True}
        return replace(self, provider_data=data)

    @property
    def file_views(self) -> Mapping[str, str]:
        """The state of the files that a tool read or wrote, by path (results only)."""
        views = self._own_data("files")
        return {str(path): str(state) for path, state in views.items()} if isinstance(views, dict) else {}

    @property
    def result_handle(self) -> str | None:
        """The handle by which a result is read that a model is shown a part of; ``None`` for all others."""
        handle = self._own_data("result")
        return handle if isinstance(handle, str) else None

    @property
    def shown(self) -> str | None:
        """The preview of a long result, for models; ``None`` to show its beginning, as before version 0.3."""
        shown = self._own_data("shown")
        return shown if isinstance(shown, str) else None

    def _own_data(self, name: str) -> Any:
        own = self.provider_data.get(OWN_DATA) if self.provider_data else None
        return own.get(name) if isinstance(own, dict) else None

    @property
    def files_for_model(self) -> tuple[Attachment, ...]:
        """The attachments that a model may look at."""
        if not self.attachments:
            return ()
        return tuple(each for each in self.attachments if not each.is_for_user)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's request to run a tool.

    Attributes:
        id: the model service's own id of the call; the result answers to it.
        name: the tool's name.
        arguments: JSON text, unchecked: what the model wrote.
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUsage:
    """Usage of one model request, as the service counted it; ``None`` where it did not say.

    A request whose answer did not complete may lack the final counts. Then its usage is what the service had
    counted by then, with estimates where it had counted nothing.

    Attributes:
        input_tokens: all input tokens, cached ones included.
        cached_input_tokens: those of them read from the service's prompt cache.
        cache_write_tokens: those of them written to the service's prompt cache, where that is billed.
        output_tokens: all output tokens, reasoning included.
        reasoning_tokens: those of them spent on reasoning.
        is_at_least: True if the service gave no final counts, so that the request may have used more.
    """

    input_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    is_at_least: bool = False
