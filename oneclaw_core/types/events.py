"""Events of a turn, as typed objects; ``to_dict`` gives the lines of ``oneclaw run --json``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import OutputError
from oneclaw_core.types.messages import StopReason, TokenUsage

if TYPE_CHECKING:
    from oneclaw_core.types.tools import ToolResult


@dataclass(frozen=True, slots=True)
class TextEvent:
    """A piece of the model's text.

    Attributes:
        text: the piece.
        may_be_withdrawn: True if a :class:`TextWithdrawnEvent` may still follow. JSON does not have it.
    """

    text: str
    may_be_withdrawn: bool = field(default=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """The event as JSON."""
        return {"event": "text", "text": self.text}


@dataclass(frozen=True, slots=True)
class OutputEvent:
    """The part of an output that has come while the model still writes.

    Attributes:
        value: plain JSON, the last text in it maybe incomplete. It is not checked; what counts is the ``output`` of
            :class:`TurnFinishedEvent`.
    """

    value: Any

    def to_dict(self) -> dict[str, Any]:
        """The event as JSON."""
        return {"event": "output", "value": self.value}


@dataclass(frozen=True, slots=True)
class TextWithdrawnEvent:
    """All text of the model's answer so far was its thoughts, and is no part of the answer.

    Attributes:
        text: that text, which is stored nowhere.
    """

    text: str

    def to_dict(self) -> dict[str, Any]:
        """The event as JSON."""
        return {"event": "text_withdrawn", "text": self.text}


@dataclass(frozen=True, slots=True)
class NoticeEvent:
    """Something that the user should know about the turn.

    Attributes:
        notice: a sentence.
    """

    notice: str

    def to_dict(self) -> dict[str, Any]:
        """The event as JSON."""
        return {"event": "notice", "text": self.notice}


@dataclass(frozen=True, slots=True)
class ReasoningEvent:
    """A piece of what the model thinks, where the service shows it."""

    text: str

    def to_dict(self) -> dict[str, Any]:
        """The event as JSON."""
        return {"event": "reasoning", "text": self.text}


@dataclass(frozen=True, slots=True)
class ToolCallEvent:
    """The model wants a tool run; it is stored, and about to run.

    Attributes:
        id: ties it to its :class:`ToolResultEvent`.
        name: the tool's name.
        arguments: the JSON object that the model sent; the text as it came if it was none.
        parent_id: of the call of the running tool that makes this one; ``None`` for a call of the model, and then JSON
            does not have it.
    """

    id: str
    name: str
    arguments: Any
    parent_id: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The event as JSON."""
        document = {"event": "tool_call", "id": self.id, "name": self.name, "arguments": self.arguments}
        return document if self.parent_id is None else document | {"parent": self.parent_id}


@dataclass(frozen=True, slots=True)
class ToolProgressEvent:
    """A running tool tells how far it has come; ``fraction`` runs from 0 to 1."""

    id: str
    name: str
    message: str
    fraction: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """The event as JSON."""
        return {
            "event": "tool_progress",
            "id": self.id,
            "name": self.name,
            "message": self.message,
            "fraction": self.fraction,
        }


@dataclass(frozen=True, slots=True)
class ToolResultEvent:
    """A tool call has its result, and it is stored.

    Attributes:
        id: of the call.
        name: of the tool.
        result: with its files.
        duration_ms: how long the tool ran, in milliseconds.
        sequence: of the result in the history; ``None`` if the event was made by hand.
        parent_id: of the call of the running tool that made this one; its result is shortened, and in no history.
    """

    id: str
    name: str
    result: ToolResult
    duration_ms: float
    sequence: int | None = None
    parent_id: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The event as JSON."""
        document: dict[str, Any] = {
            "event": "tool_result",
            "id": self.id,
            "name": self.name,
            **self.result.to_dict(),
            "duration_ms": round(self.duration_ms, 3),
        }
        if self.parent_id is not None:
            document["parent"] = self.parent_id
        if not self.result.attachments:
            return document
        files = [
            {"name": each.name, "media_type": each.media_type, "size": each.size, "is_for_user": each.is_for_user}
            for each in self.result.attachments
        ]
        return document | {"sequence": self.sequence, "files": files}


@dataclass(frozen=True, slots=True)
class GroupLoadedEvent:
    """A tool group's tools are active from the next model request on."""

    group: str
    tools: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The event as JSON."""
        return {"event": "group_loaded", "group": self.group, "tools": list(self.tools)}


@dataclass(frozen=True, slots=True)
class SteeredEvent:
    """A message that the user sent during the turn is stored behind the results of tools; the model reads it next."""

    text: str

    def to_dict(self) -> dict[str, Any]:
        """The event as JSON."""
        return {"event": "steered", "text": self.text}


@dataclass(frozen=True, slots=True)
class CompactedEvent:
    """A summary takes the place of the oldest part of the conversation from the next model request on.

    Attributes:
        messages: how many messages it stands for; an earlier summary that it takes over is not counted.
        summary_tokens: its estimated length; 0 if none could be written, and the messages are left out without one.
        reason: ``context_window``, ``history_limit``, ``refused`` (the service found a request too long) or
            ``requested`` (by the user).
    """

    messages: int
    summary_tokens: int
    reason: str

    @property
    def notice(self) -> str:
        """The event as a sentence for the user."""
        count = "the oldest message is" if self.messages == 1 else f"the {self.messages:,} oldest messages are"
        if self.summary_tokens:
            return f"{count} summarised for the model, in about {self.summary_tokens:,} tokens"
        return f"{count} left out in this turn: the model wrote no summary of them"

    def to_dict(self) -> dict[str, Any]:
        """The event as JSON."""
        return {
            "event": "compacted",
            "messages": self.messages,
            "summary_tokens": self.summary_tokens,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class RetryEvent:
    """The model service could not be asked; the request is sent again after ``delay_seconds``."""

    reason: str
    delay_seconds: float

    def to_dict(self) -> dict[str, Any]:
        """The event as JSON."""
        return {"event": "retry", "reason": self.reason, "delay_seconds": round(self.delay_seconds, 3)}


@dataclass(frozen=True, slots=True)
class ModelSwitchedEvent:
    """A model of a chain failed, and the next one is asked in its place.

    Attributes:
        model: the one that is asked now, as ``PROVIDER/MODEL``.
        instead_of: the one that failed.
        reason: how it failed.
    """

    model: str
    instead_of: str
    reason: str

    @property
    def notice(self) -> str:
        """The event as a sentence for the user."""
        return f"{self.reason}; asking {self.model} instead of {self.instead_of}"

    def to_dict(self) -> dict[str, Any]:
        """The event as JSON."""
        return {"event": "model_switched", "model": self.model, "instead_of": self.instead_of, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class UsageEvent:
    """Usage of one model request; ``cost`` is ``None`` where the price is not known.

    A request that was retried, refused or broken off in the middle of its answer counts too. JSON has ``at_least`` only
    where the service gave no final counts: the request used at least so much.
    """

    model: str
    usage: TokenUsage
    cost: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """The event as JSON."""
        document = {
            "event": "usage",
            "model": self.model,
            "input_tokens": self.usage.input_tokens,
            "cached_input_tokens": self.usage.cached_input_tokens,
            "output_tokens": self.usage.output_tokens,
            "reasoning_tokens": self.usage.reasoning_tokens,
            "cost": self.cost,
        }
        return document | {"at_least": True} if self.usage.is_at_least else document


@dataclass(frozen=True, slots=True)
class TurnFinishedEvent:
    """The model has given its final answer: always the last event of a turn.

    Attributes:
        session: the session's name, or its id if it has none.
        text: the final answer.
        stop_reason: why it ends there; all but ``COMPLETE`` mean that something may be missing. JSON has it only then.
        model: the model that gave it, if it stands behind the one that was asked for, as in a chain; else ``None``.
            JSON has it only then.
        output: what the program asked for with ``output``, checked; ``None`` without, or if the model declines. JSON
            has it only if there is one.
    """

    session: str
    text: str
    stop_reason: StopReason = StopReason.COMPLETE
    model: str | None = None
    output: Any = None

    def valid_output(self) -> Any:
        """Return the output.

        Raises:
            OutputError: there is none, because the model declines.
        """
        if self.output is None and self.stop_reason is StopReason.REFUSAL:
            error = OutputError(f"the model declined to answer: {self.text[:_MOST_SHOWN]}")
            error.text = self.text
            raise error
        return self.output

    @property
    def is_whole(self) -> bool:
        """True if nothing of the answer is missing; a model that declines has said all it wants to say."""
        return self.stop_reason in (StopReason.COMPLETE, StopReason.REFUSAL)

    @property
    def notice(self) -> str | None:
        """Sentence for the user about how the answer ends; ``None`` if it is complete."""
        return _NOTICES.get(self.stop_reason)

    def to_dict(self) -> dict[str, Any]:
        """The event as JSON."""
        document = {"event": "turn_finished", "session": self.session, "text": self.text}
        if self.stop_reason is not StopReason.COMPLETE:
            document["stop_reason"] = str(self.stop_reason)
        if self.model is not None:
            document["model"] = self.model
        if self.output is not None:
            from pydantic_core import to_jsonable_python

            document["output"] = to_jsonable_python(self.output, bytes_mode="base64", inf_nan_mode="strings")
        return document


_MOST_SHOWN = 500
_NOTICES: dict[str, str] = {
    StopReason.LENGTH_LIMIT: "the answer is cut off: it has the greatest length allowed; ask for the rest, or allow "
    "more with: oneclaw models set PROVIDER/MODEL max_output_tokens NUMBER",
    StopReason.CONTENT_FILTER: "the answer is cut off: a content filter of the service stopped it",
    StopReason.REFUSAL: "the model declined to answer",
    StopReason.REPETITION: "the answer is cut off: the model repeated itself; try again, or choose another model",
    StopReason.OTHER: "the answer may be incomplete: the service stopped it for another reason",
}


TurnEvent = (
    TextEvent
    | OutputEvent
    | TextWithdrawnEvent
    | NoticeEvent
    | ReasoningEvent
    | ToolCallEvent
    | ToolProgressEvent
    | ToolResultEvent
    | GroupLoadedEvent
    | SteeredEvent
    | CompactedEvent
    | RetryEvent
    | ModelSwitchedEvent
    | UsageEvent
    | TurnFinishedEvent
)
