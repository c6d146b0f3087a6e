"""Requests to a model, and what comes back."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

from oneclaw_core.errors import ProviderError, UsageError
from oneclaw_core.types.messages import Message, MessageType, StopReason, TokenUsage, ToolCall, ToolCallStatus
from oneclaw_core.types.tool_groups import LOAD_TOOL_GROUP, ActiveTools, LoadedGroup, requested_group
from oneclaw_core.types.tools import NAME_PATTERN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_core.types.agents import ReasoningLevel

OutputMode = Literal["native", "tool", "prompted"]
OUTPUT_MODES = ("auto", "native", "tool", "prompted")


@dataclass(frozen=True, slots=True)
class Output:
    """The form of a turn's answer, with the way in which a model is asked for it.

    Attributes:
        type: what pydantic can validate: a model, a dataclass, a ``TypedDict``, a union, ``list[int]`` and the like; or
            a JSON Schema as a dictionary, for plain JSON.
        mode: ``native`` to have the service keep to the schema, ``tool`` to have the model call a tool with the result,
            ``prompted`` to say in the message that JSON is wanted; ``auto`` for the best that the model takes.
        name: of the tool, and of the schema; 1 to 63 letters, digits, ``_`` and ``-``.
        description: what the result is, for the model; empty for what the type says.

    Raises:
        UsageError: the mode or the name is not acceptable.
    """

    type: Any
    mode: Literal["auto", "native", "tool", "prompted"] = "auto"
    name: str = "final_result"
    description: str = ""

    def __post_init__(self) -> None:
        if self.mode not in OUTPUT_MODES:
            raise UsageError(f"the mode of an output is one of {', '.join(OUTPUT_MODES)}, not {str(self.mode)[:100]!a}")
        if not isinstance(self.name, str) or not NAME_PATTERN.fullmatch(self.name):
            raise UsageError(
                f"the name of an output has 1 to 63 letters, digits, _ and -, and begins with none of the latter, not "
                f"{str(self.name)[:100]!a}"
            )
        if not isinstance(self.description, str):
            raise UsageError(f"the description of an output is a text, not {type(self.description).__name__}")


class ToolLoading(StrEnum):
    """The way in which a loaded tool group is described to the model.

    ``NATIVE`` keeps the service's prompt cache, in the wire format's own way, and is the same as ``APPEND`` where
    there is none; ``INLINE`` does so too, with the definitions in the conversation right where the group was loaded,
    and is the same as ``NATIVE`` where the wire format has one way only. ``APPEND`` adds the tools at the end of the
    list of tools. With ``DISPATCH`` the list never changes: the model calls grouped tools through one stable tool and
    reads their schemas in the result that loaded them. The request is rewritten for it before a provider sees it
    (:mod:`oneclaw_core.models.dispatcher`).
    """

    NATIVE = "native"
    INLINE = "inline"
    APPEND = "append"
    DISPATCH = "dispatch"

    @property
    def is_native(self) -> bool:
        """True if a native way of the wire format is asked for, if it has one."""
        return self in (ToolLoading.NATIVE, ToolLoading.INLINE)

    def at_most(self, learned: ToolLoading) -> ToolLoading:
        """This way, or another that a service was found to take where it refuses those that ask more of it.

        Args:
            learned: the way that the service was found to take.
        """
        if self not in _BY_DEMAND or learned not in _BY_DEMAND:
            return self
        return min(self, learned, key=_BY_DEMAND.index)


# Each is tried where the next is refused.
_BY_DEMAND = (ToolLoading.APPEND, ToolLoading.NATIVE, ToolLoading.INLINE)


@dataclass(frozen=True, slots=True)
class OutputSchema:
    """The form that an answer is to have.

    Attributes:
        name: of the form, such as ``final_result``.
        description: what the answer is, may be empty.
        schema: JSON Schema of an object, draft 2020-12.
    """

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """Everything a model is sent.

    Attributes:
        model: the model's name at the provider.
        system_prompt: the instructions, with the list of tool groups.
        messages: the history; every call has its result, and results are cut to what is shown.
        tools: what the model may call, in the order in which it is sent.
        session_id: for caches at the service; stable over the turns of a session.
        parameters: sampling parameters such as ``temperature``; absent means the service's own.
        tool_loading: how the loaded groups are told to the model.
        max_output_tokens: the longest answer wanted, ``None`` for the wire format's own limit.
        reasoning: how much the model is to think, ``None`` for the service's own; takes the place of the parameters
            by which the service is told the same.
        left_out: the parts that the service has refused, by the names of
            :mod:`oneclaw_core.models.left_out`, each with the reason that it gave.
        first_byte_seconds: how long the service may take until it sends the first byte of its answer, ``None`` for the
            provider's own limit.
        output: the form that the service is to keep the text of the answer to; ``None`` for any text. It is set only
            for a provider that says that it can: see :class:`oneclaw_core.providers.base.Provider`.
    """

    model: str
    system_prompt: str
    messages: Sequence[Message]
    tools: ActiveTools
    session_id: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    tool_loading: ToolLoading = ToolLoading.NATIVE
    max_output_tokens: int | None = None
    reasoning: ReasoningLevel | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    first_byte_seconds: float | None = None
    output: OutputSchema | None = None


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the model's text.

    Attributes:
        text: the piece.
        may_be_withdrawn: True if a :class:`TextWithdrawn` may still follow.
    """

    text: str
    may_be_withdrawn: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class TextWithdrawn:
    """All text of the answer so far was none: it was the model's thoughts, which only their end shows.

    Attributes:
        text: as it was given by each :class:`TextDelta`.
    """

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of what the model thinks, or of a summary of it, where the service shows it."""

    text: str


@dataclass(frozen=True, slots=True)
class ArgumentsDelta:
    """A piece of the arguments of a tool call. It is not shown; if the answer breaks off, it counts as output.

    Attributes:
        text: the piece.
        tool: the tool that is called, empty if that is not known yet.
    """

    text: str
    tool: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class UsageSoFar:
    """The service has begun to answer; what the attempt has used by now, for an answer that does not end.

    Yield it when the first part of an answer has come, and when the service has counted more. The usage of a complete
    answer is that of its :class:`ModelResponse`.

    Attributes:
        usage: its ``is_at_least`` is true as long as the counts are not final; an empty one says that the service has
            counted nothing yet.
    """

    usage: TokenUsage


@dataclass(frozen=True, slots=True)
class LoadingRefused:
    """The model cannot have tools loaded in the way asked for; the request is sent again in another one.

    Attributes:
        reason: what the service said.
        instead: the way in which it is sent again.
    """

    reason: str
    instead: ToolLoading = ToolLoading.APPEND


@dataclass(frozen=True, slots=True)
class RetryNotice:
    """The request failed before its first event and will be sent again.

    Attributes:
        reason: one line for the user.
        delay_seconds: how long until then.
        error: the failure; ``None`` if nothing is wrong with the service.
    """

    reason: str
    delay_seconds: float
    error: ProviderError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResponse:
    """The end of a model's answer: always the last event of a stream, and there only once.

    Attributes:
        text: all of its text.
        tool_calls: the calls it wants run, in its order; complete ones only.
        usage: tokens, as far as the service said.
        stop_reason: why it ends there; all but ``COMPLETE`` mean that something may be missing.
        provider_data: what must be sent back verbatim with this message on later turns, ``None`` for nothing.
        cut_calls: calls that the token limit cut before their arguments were complete, behind the others in its order,
            with as much of the arguments as came. They do not run; the turn tells the model so.
        finish_reason: the service's own word for why it ends there, for messages; ``None`` if it said none.
        are_calls_text: True if the model wrote the calls as text; then whatever is not read-only asks before it runs.
        response_id: the service's id of the answer, ``None`` if it gave none.
        response_model: the service's own name of the model that gave it, such as that of a dated version; ``None`` if
            it did not say.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: TokenUsage = field(default_factory=TokenUsage)
    stop_reason: StopReason = StopReason.COMPLETE
    provider_data: Mapping[str, Any] | None = None
    cut_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    are_calls_text: bool = False
    response_id: str | None = None
    response_model: str | None = None


ModelEvent = (
    TextDelta
    | TextWithdrawn
    | ReasoningDelta
    | ArgumentsDelta
    | UsageSoFar
    | RetryNotice
    | LoadingRefused
    | ModelResponse
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """A model that a service offers.

    Attributes:
        name: what ``PROVIDER/MODEL`` takes after the slash.
        display_name: what people read, ``None`` where the service does not say.
        context_window: in tokens, ``None`` where the service does not say.
        max_output_tokens: of one answer, ``None`` where the service does not say.
        input_media_types: prefixes of the media types of attachments that it takes, such as ``image/``; ``None``
            where the service does not say.
        models: the models that stand behind it, each as ``PROVIDER/MODEL``; nearly always none.
        output_modes: the ways in which it gives data of a form that a program wants: ``native`` if the service keeps
            its text to a JSON Schema; ``None`` where the service does not say.
    """

    name: str
    display_name: str | None = None
    context_window: int | None = None
    max_output_tokens: int | None = None
    input_media_types: tuple[str, ...] | None = None
    models: tuple[str, ...] = ()
    output_modes: frozenset[str] | None = None


def loading_calls(request: ModelRequest) -> dict[str | None, list[LoadedGroup]]:
    """Find the call that first loaded each active group.

    Args:
        request: with its messages and active tools.

    Returns:
        The groups by the id of that call; under ``None`` those whose call is not among the messages, because the
        history has been cut, in the order of loading. A call that loaded nothing new is not named.
    """
    missing = {group.name: group for group in request.tools.groups}
    found: dict[str | None, list[LoadedGroup]] = {}
    for message in request.messages:
        if (
            message.type is MessageType.TOOL_CALL
            and message.tool_name == LOAD_TOOL_GROUP
            and message.tool_status is ToolCallStatus.SUCCESS
        ):
            group = missing.pop(requested_group(message.tool_input) or "", None)
            if group is not None:
                found.setdefault(message.tool_call_id, []).append(group)
    if missing:
        found[None] = list(missing.values())
    return found
