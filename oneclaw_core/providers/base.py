"""The requests of a turn to a model service, and their answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from oneclaw_core.providers.route import Route
    from oneclaw_core.types.agents import ReasoningLevel
    from oneclaw_core.types.model_requests import ModelEvent, ModelInfo, ModelRequest


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

    One whose wire format has a field for the form of an answer may have a method ``takes_output(request, is_said) ->
    bool``: True if the service keeps the text of the answer to ``request.output`` with this model and these tools.
    ``is_said`` is True or False if the user or the service says so of the model, else ``None``. Without the method,
    ``request.output`` is never set, and the model is asked in another way.

    A provider whose models stand for models of other providers has a method ``route(model) -> Route``. The turn then
    asks those, with their own limits and prices, and :meth:`stream` is not called.
    """

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Send a request and yield its answer as it comes.

        The last event is a :class:`~oneclaw_core.types.model_requests.ModelResponse`.

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
