"""The requests of a turn to a model service, and their answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from oneclaw_core.types.messages import StopReason, TokenUsage, ToolCall

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from oneclaw_core.errors import ProviderError
    from oneclaw_core.providers.route import Route
    from oneclaw_core.tools.toolset import ActiveTools
    from oneclaw_core.types.agents import ReasoningLevel
    from oneclaw_core.types.messages import Message


KEY_HEADERS = frozenset({"authorization", "x-api-key", "x-goog-api-key"})
"""The headers that carry a key, in lower case."""

TEXT_CALLS_REMEDY = (
    "start llama.cpp with --jinja, vLLM with --enable-auto-tool-choice and --tool-call-parser, and with Ollama or "
    "LM Studio choose a model whose template supports tools"
)


@dataclass(frozen=True, slots=True)  # compared in each turn
class ProviderConfig:
    """A configured model service.

    Attributes:
        name: what the user calls it; the first part of ``PROVIDER/MODEL``.
        type: the provider type, that is the wire format it speaks.
        base_url: where it is; ``None`` for the type's own.
        api_key: ``None`` for a service that wants none. Never printed, never logged.
        more_api_keys: the others that are used when it is refused, in their order.
        key_variable: the environment variable that the key is read from, for messages.
        connect_timeout_seconds: how long connecting may take.
        read_timeout_seconds: how long the service may stay silent in the middle of an answer.
        max_retries: how often a request that failed before its first event is sent again.
        is_enabled: whether its models can be used; the user can disable it.
        is_preconfigured: whether a plugin brings it, so that the user need not add it.
        price_vendor: the name in ``genai-prices`` of the vendor at the type's own address, ``None`` if it has none.
        concurrency: how many requests may run at the same time, ``None`` for no limit; the others wait their turn.
        reasoning: how much its models are to think unless more is said, ``None`` for the service's own.
        header_names: the names of the user's own headers.
        headers: these with their values, to be sent with every request. Never printed, never logged.
        takes_environment_key: False if a tool chose its address: then no key of the environment is sent there.
        is_local: True if its type has no service: no address, no key, no headers.
        models: what the user composed its models of, by their names; only for a type that has routes.
    """

    name: str
    type: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    key_variable: str = "API_KEY"
    connect_timeout_seconds: float = 10
    read_timeout_seconds: float = 300
    max_retries: int = 4
    is_enabled: bool = True
    is_preconfigured: bool = False
    price_vendor: str | None = None
    concurrency: int | None = None
    reasoning: ReasoningLevel | None = None
    header_names: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    takes_environment_key: bool = True
    is_local: bool = False
    models: Mapping[str, Any] = field(default_factory=dict)
    more_api_keys: tuple[str, ...] = field(default=(), repr=False)


class ToolLoading(StrEnum):
    """The way in which a loaded tool group is described to the model.

    ``NATIVE`` keeps the service's prompt cache, in the wire format's own way, and is the same as ``APPEND`` where
    there is none; ``INLINE`` does so too, with the definitions in the conversation right where the group was loaded,
    and is the same as ``NATIVE`` where the wire format has one way only. ``APPEND`` adds the tools at the end of the
    list of tools. With ``DISPATCH`` the list never changes: the model calls grouped tools through one stable tool and
    reads their schemas in the result that loaded them. The request is rewritten for it before a provider sees it
    (:mod:`oneclaw_core.turn.request`).
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
        left_out: the parts that the service has refused, by the names of :mod:`oneclaw_core.providers.left_out`, each
            with the reason that it gave.
        first_byte_seconds: how long the service may take until it sends the first byte of its answer, ``None`` for the
            provider's own limit.
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
    """A piece of the arguments of a tool call. It is not shown; if the answer breaks off, it counts as output."""

    text: str


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
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: TokenUsage = field(default_factory=TokenUsage)
    stop_reason: StopReason = StopReason.COMPLETE
    provider_data: Mapping[str, Any] | None = None
    cut_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    are_calls_text: bool = False


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
    """

    name: str
    display_name: str | None = None
    context_window: int | None = None
    max_output_tokens: int | None = None
    input_media_types: tuple[str, ...] | None = None
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WireRequest:
    """A request as it goes over the wire, without what is secret.

    Attributes:
        url: where it is posted, without what the base URL carries of user names, passwords and queries.
        headers: those that the wire format sets, without the key's.
        body: JSON in UTF-8.
    """

    url: str
    headers: Mapping[str, str]
    body: bytes


class Provider(Protocol):
    """A model service: made from a :class:`ProviderConfig`, used for many requests, closed at the end.

    It may show how it writes a request, by a method ``wire_request(request) -> WireRequest`` that sends nothing. And it
    may say four more things of itself, as attributes: ``attachment_media_types``, prefixes of the media types of
    attachments that its wire format can carry, by default none; ``loads_natively``, whether a loaded group leaves what
    a request begins with as it was, by default not; ``most_tools``, how many tools a request
    may have, by default any number; and ``is_language_model``, whether its models can be asked for
    the summary of a conversation, by default so. And it may find out how much its server really reads with a model, by
    a method ``async find_context_window(model) -> int | None``, which is asked before each turn.

    A provider whose models stand for models of other providers has a method ``route(model) -> Route``. The turn then
    asks those, with their own limits and prices, and :meth:`stream` is not called.
    """

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Send a request and yield its answer as it comes, a :class:`ModelResponse` last.

        As a rule an async generator. Closing it by ``aclose``, or cancelling, closes the connection.

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


def route_of(provider: Provider, model: str) -> Route | None:
    """Return the models that stand behind a model; ``None`` for one that answers itself.

    Raises:
        OneClawError: the provider has no such model, or what was said about it is invalid.
    """
    route = getattr(provider, "route", None)
    found: Route | None = None if route is None else route(model)
    return found


def wire_request(provider: Provider, request: ModelRequest) -> WireRequest | None:
    """Write a request as a provider would send it; ``None`` for one that does not show it, or sends nothing."""
    write = getattr(provider, "wire_request", None)
    return None if write is None else write(request)
