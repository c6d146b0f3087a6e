"""What the turn asks of a model service, and what it gets back."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from oneclaw_core.messages import TokenUsage, ToolCall

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from oneclaw_core.messages import Message
    from oneclaw_core.tools.groups import ActiveTools


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """A configured model service.

    Attributes:
        name: what the user calls it; the first part of ``PROVIDER/MODEL``.
        type: the provider type, that is the wire format it speaks.
        base_url: where it is; ``None`` for the type's own.
        api_key: ``None`` for a service that wants none. Never printed, never logged.
        key_variable: the environment variable that the key is read from, for messages.
        connect_timeout_seconds: how long connecting may take.
        read_timeout_seconds: how long the service may stay silent in the middle of an answer.
        max_retries: how often a request that failed before its first event is sent again.
    """

    name: str
    type: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    key_variable: str = "API_KEY"
    connect_timeout_seconds: float = 10
    read_timeout_seconds: float = 300
    max_retries: int = 4


class ToolLoading(StrEnum):
    """How a loaded tool group is told to the model.

    ``NATIVE`` keeps the service's prompt cache, in the wire format's own way, and is the same as ``APPEND`` where
    there is none; ``APPEND`` adds the tools at the end of the list of tools. With ``DISPATCH`` the list never changes:
    the model calls grouped tools through one stable tool and reads their schemas in the result that loaded them. The
    request is rewritten for it before a provider sees it (:mod:`oneclaw_core.chat.dispatch`).
    """

    NATIVE = "native"
    APPEND = "append"
    DISPATCH = "dispatch"


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
    """

    model: str
    system_prompt: str
    messages: Sequence[Message]
    tools: ActiveTools
    session_id: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    tool_loading: ToolLoading = ToolLoading.NATIVE
    max_output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the model's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of what the model thinks, or of a summary of it, where the service shows it."""

    text: str


@dataclass(frozen=True, slots=True)
class LoadingRefused:
    """The model cannot have tools loaded natively; the request is sent again with ``ToolLoading.APPEND``.

    Attributes:
        reason: what the service said.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class RetryNotice:
    """The request failed before its first event and will be sent again.

    Attributes:
        reason: one line for the user.
        delay_seconds: how long until then.
    """

    reason: str
    delay_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResponse:
    """The end of a model's answer: always the last event of a stream, and there only once.

    Attributes:
        text: all of its text.
        tool_calls: the calls it wants run, in its order; complete ones only.
        usage: tokens, as far as the service said.
        stop_reason: the service's own word.
        provider_data: what must be sent back verbatim with this message on later turns, ``None`` for nothing.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: TokenUsage = field(default_factory=TokenUsage)
    stop_reason: str | None = None
    provider_data: Mapping[str, Any] | None = None


ModelEvent = TextDelta | ReasoningDelta | RetryNotice | LoadingRefused | ModelResponse


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
    """

    name: str
    display_name: str | None = None
    context_window: int | None = None
    max_output_tokens: int | None = None
    input_media_types: tuple[str, ...] | None = None


class Provider(Protocol):
    """A model service: made from a :class:`ProviderConfig`, used for many requests, closed at the end.

    It may say three more things of itself, as attributes: ``attachment_media_types``, prefixes of the media types of
    attachments that its wire format can carry, by default none; ``loads_natively``, whether a loaded group leaves what
    a request begins with as it was, by default not; and ``is_language_model``, whether its models can be asked for
    the summary of a conversation, by default so.
    """

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Send a request and yield its answer as it comes, a :class:`ModelResponse` last.

        Closing the generator, or cancelling, closes the connection.

        Raises:
            ProviderError: in its finer kinds; with what the user can do, without the key.
        """
        ...

    async def list_models(self) -> list[ModelInfo]:
        """Ask the service which models it offers.

        Raises:
            ProviderError: as for :meth:`stream`.
        """
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...


def attachment_media_types(provider: Provider) -> tuple[str, ...]:
    """Prefixes of the media types of attachments that a provider's wire format can carry."""
    return tuple(getattr(provider, "attachment_media_types", ()))


def loads_natively(provider: Provider) -> bool:
    """Whether a loaded group leaves what a request to a provider begins with as it was."""
    return bool(getattr(provider, "loads_natively", False))
