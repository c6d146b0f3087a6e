"""The model that answers a turn, and what chooses it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from oneclaw_core.types.model_requests import LoadingRefused, ModelInfo, ToolLoading

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractAsyncContextManager

    from oneclaw_core.config.prices import ModelPrices
    from oneclaw_core.providers.base import Provider, ProviderConfig
    from oneclaw_core.providers.model_object import ModelObject
    from oneclaw_core.sessions.turns import TurnSetup
    from oneclaw_core.turn.turn_request import TurnRequest
    from oneclaw_core.types.agents import Agent, ReasoningLevel


class ModelsBehind(Protocol):
    """The models that stand behind one model."""

    name: str

    @property
    def silence_seconds(self) -> float | None:
        """Longest silence of the model that is asked, in seconds; ``None`` for any."""
        ...


class Models(Protocol):
    """The models that can answer."""

    async def choose(self, setup: TurnSetup, request: TurnRequest) -> tuple[Agent, ChosenModel]:
        """Choose the agent and the model of a turn, by what is asked for, stored and set."""
        ...

    def held(self, model: ChosenModel) -> AbstractAsyncContextManager[None]:
        """Keep the connection to a model, and to those that are asked if it fails, until the block ends."""
        ...


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """The model that answers a turn.

    Attributes:
        provider: the service.
        config: of the service.
        info: what is known about the model.
        tool_loading: how its loaded groups are told to it.
        max_output_tokens: the longest answer wanted, ``None`` for the wire format's own limit.
        prices: what the user says it costs, ``None`` for what is known.
        left_out: the parts of requests that the service has refused, each with the reason that it gave.
        loading_refused: a way of loading that it refused since its last answer.
        reasoning: how much it is to think, ``None`` for the service's own.
        fallback: the models that are asked if it fails, where it stands behind another model; else ``None``.
        given: the object that the program gave; ``None`` for a configured model.
    """

    provider: Provider
    config: ProviderConfig
    info: ModelInfo
    tool_loading: ToolLoading = ToolLoading.NATIVE
    max_output_tokens: int | None = None
    prices: ModelPrices | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    loading_refused: LoadingRefused | None = None
    reasoning: ReasoningLevel | None = None
    fallback: ModelsBehind | None = None
    given: ModelObject | None = None

    @property
    def full_name(self) -> str:
        """``PROVIDER/MODEL``."""
        return f"{self.config.name}/{self.info.name}"

    @property
    def asked_name(self) -> str:
        """The name that was asked for: that of the model which this one stands behind, or its own."""
        return self.full_name if self.fallback is None else self.fallback.name

    @property
    def loads_natively(self) -> bool:
        """True if a loaded group leaves what a request begins with as it was."""
        return bool(getattr(self.provider, "loads_natively", False))

    def narrowed_to(self, window: int | None) -> ChosenModel:
        """Return the model with a context window of this length at most; ``None`` if it is not known."""
        known = self.info.context_window
        if window is None or (known is not None and known <= window):
            return self
        return replace(self, info=replace(self.info, context_window=window))

    async def measured(self) -> ChosenModel:
        """Return the model with the context window that its server really uses, if it can be asked for that."""
        find = getattr(self.provider, "find_context_window", None)
        # One behind another model is measured when its turn comes.
        return self if find is None or self.fallback is not None else self.narrowed_to(await find(self.info.name))

    @property
    def writes_summaries(self) -> bool:
        """True if the model writes summaries; what is not a language model says so of itself."""
        return bool(getattr(self.provider, "is_language_model", True))
