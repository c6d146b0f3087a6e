"""The model that answers a turn, and how it is chosen."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from oneclaw_core.config.models import model_facts, said_of
from oneclaw_core.config.prices import ModelPrices, load_prices, needs_prices
from oneclaw_core.config.providers import LEARNED_SETTING, OFFLINE_MODEL, Providers, with_key
from oneclaw_core.errors import NotFoundError, SettingsError, UsageError
from oneclaw_core.providers.left_out import most_tools_in
from oneclaw_core.providers.model_object import ProviderModel, config_of, is_model_object, object_name
from oneclaw_core.turn.attachments import accepted_media_types
from oneclaw_core.turn.compaction import ContextLimits
from oneclaw_core.types.agents import GENERAL_ASSISTANT, REASONING_LEVELS, Agent
from oneclaw_core.types.model_requests import ModelInfo, ToolLoading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core.agents.service import AgentService
    from oneclaw_core.config.keys import KeyStore
    from oneclaw_core.config.models import ModelLists
    from oneclaw_core.config.settings import SettingsReader
    from oneclaw_core.providers.base import Provider, ProviderConfig
    from oneclaw_core.providers.known import KnownProviders
    from oneclaw_core.providers.model_object import ModelObject
    from oneclaw_core.providers.pool import ProviderPool
    from oneclaw_core.sessions.turns import TurnSetup
    from oneclaw_core.turn.fallback import Fallback
    from oneclaw_core.turn.turn_request import TurnRequest
    from oneclaw_core.types.agents import ReasoningLevel
    from oneclaw_core.types.model_requests import LoadingRefused, ModelRequest

# Kept free for the answer where the length of one is unknown.
RESERVED_TOKENS = 16_000

_log = logging.getLogger("oneclaw.turn")


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
    fallback: Fallback | None = None
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
    def attachment_media_types(self) -> tuple[str, ...]:
        """Prefixes of the media types that the model takes and its wire format can carry."""
        of_format = tuple(getattr(self.provider, "attachment_media_types", ()))
        return accepted_media_types(of_format, self.info.input_media_types)

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

    def limits(self, history_max_characters: int | None) -> ContextLimits:
        """Return how much the model may be sent."""
        reserve = self.max_output_tokens or min(self.info.max_output_tokens or RESERVED_TOKENS, RESERVED_TOKENS)
        return ContextLimits(self.info.context_window, reserve, history_max_characters)

    def loading_of(self, request: ModelRequest, left_out: Mapping[str, str] | None = None) -> ToolLoading:
        """Return how a request tells loaded groups: through the dispatcher if the service takes fewer tools.

        Args:
            request: as it would be sent to any model.
            left_out: the parts that are left out of it; by default those of the model.
        """
        left_out = self.left_out if left_out is None else left_out
        most = getattr(self.provider, "most_tools", None)
        if left_out and (found := most_tools_in(left_out)) is not None:
            most = found
        is_over = most is not None and bool(request.tools.groups) and len(request.tools.names) > most
        return ToolLoading.DISPATCH if is_over else self.tool_loading

    @property
    def writes_summaries(self) -> bool:
        """True if the model writes summaries; what is not a language model says so of itself."""
        return bool(getattr(self.provider, "is_language_model", True))


class ModelChooser:
    """Finds the agent and the model of a turn, by what is asked for, stored and set.

    Args:
        agents: the agents.
        settings: reads the settings.
        environ: providers and settings of the environment.
        known: providers that plugins know.
        keys: of the providers.
        lists: known models.
        providers: open connections.
    """

    def __init__(
        self,
        agents: AgentService,
        settings: SettingsReader,
        environ: Mapping[str, str],
        known: KnownProviders,
        keys: KeyStore,
        lists: ModelLists,
        providers: ProviderPool,
    ) -> None:
        self._agents = agents
        self._settings = settings
        self._environ = environ
        self._known = known
        self._keys = keys
        self._lists = lists
        self._providers = providers
        self._prices: asyncio.Task[None] | None = None

    def begin_to_read_prices(self, model: ChosenModel) -> None:
        """Read the known prices if the model needs them: their import takes longer than a turn, so it runs beside."""
        if (self._prices is None or self._prices.done()) and needs_prices(model.config, model.prices):
            self._prices = asyncio.create_task(asyncio.to_thread(load_prices))

    async def prices_read(self) -> None:
        """Wait for the known prices, if they are being read; the waiting may be cancelled, and begun again."""
        if self._prices is not None and not self._prices.done():
            await asyncio.shield(self._prices)

    async def choose(self, setup: TurnSetup, request: TurnRequest) -> tuple[Agent, ChosenModel]:
        """Choose the agent and the model of a turn.

        Args:
            setup: what the store says.
            request: what the user asked. The model is by default that of the session, the agent, the outer turn or the
                settings; how much it thinks, what is set for the agent, the outer turn or the model.

        Raises:
            AgentError: a parameter is not acceptable.
            NotFoundError: there is no such agent, provider or model.
        """
        session, stored = setup.session, setup.settings
        longest, reasoning = request.max_output_tokens, request.reasoning
        outer = request.within.turn if request.within is not None else None
        persona = await self._agent(setup, request)
        # A page shows what the session began with, and asks for it again.
        kept = request.model or (session.model if session is not None else None)
        given = object_name(kept) if isinstance(kept, str) else None
        name = (kept if given is None else None) or persona.model
        if name is None and outer is not None and (isinstance(outer.model, str) or is_model_object(outer.model)):
            name = outer.model
        name = name or self._settings.read(stored).model
        if name is None and given is not None:
            raise NotFoundError(
                f"the session was answered by {given}, a model that its program gave as an object, and no other model "
                "is chosen: give the object again, or name a model: --model PROVIDER/MODEL"
            )
        name = name or OFFLINE_MODEL
        if request.system_prompt is not None:
            persona = replace(persona, system_prompt=request.system_prompt)
        if request.parameters:
            persona = replace(persona, parameters={**persona.parameters, **request.parameters})
        level = persona.parameters.get("reasoning")
        if level in REASONING_LEVELS:  # else an object of the service's own
            reasoning = reasoning or level
            others = {key: value for key, value in persona.parameters.items() if key != "reasoning"}
            persona = replace(persona, parameters=others)
        if reasoning is None and outer is not None:
            reasoning = outer.reasoning
        try:
            if isinstance(name, str):
                chosen = await self._open(name, stored, reasoning, longest)
            else:
                chosen = chosen_object(name, reasoning, longest)
        except NotFoundError as error:
            if name != persona.model:
                raise
            raise NotFoundError(f"the model of agent {persona.name!r} cannot be used: {error}") from None
        if hasattr(chosen.provider, "route"):
            chosen = await self._first_behind(chosen, stored, longest)
        return persona, chosen

    async def _agent(self, setup: TurnSetup, request: TurnRequest) -> Agent:
        if isinstance(request.agent, Agent):
            return request.agent
        if setup.agent is not None:
            return setup.agent
        if request.agent is not None:
            return await self._agents.get(request.agent)
        # Another version of the program, or a hand, took the agent away and left its sessions; or a program gave it.
        session = setup.session
        _log.warning("there is no agent %r any more; %s goes on", session and session.agent, GENERAL_ASSISTANT.name)
        return GENERAL_ASSISTANT

    async def configured(self, name: str, stored: Mapping[str, Any]) -> ProviderModel:
        """Return a configured model as an object; see :meth:`oneclaw_core.OneClaw.configured_model`."""
        chosen = await self._open(name, stored, None, None)
        if hasattr(chosen.provider, "route"):
            raise UsageError(f"{name} stands for other models: name one of them")
        return ProviderModel(chosen.provider, chosen.info.name, chosen.info)

    async def _first_behind(self, asked: ChosenModel, stored: Mapping[str, Any], longest: int | None) -> ChosenModel:
        """Return the first of the models that stand behind another one."""
        from oneclaw_core.providers.base import route_of
        from oneclaw_core.turn.fallback import Fallback

        route = route_of(asked.provider, asked.info.name)
        assert route is not None

        async def open_model(name: str) -> ChosenModel:
            found = await self._open(name, stored, asked.reasoning, longest)
            if hasattr(found.provider, "route"):
                raise SettingsError(
                    f"{name} has models of others behind it too, and only models of services can be here"
                )
            return found

        return await Fallback(asked.full_name, route, open_model, self._providers, stored).first()

    async def _open(
        self, name: str, stored: Mapping[str, Any], reasoning: ReasoningLevel | None, longest: int | None
    ) -> ChosenModel:
        """Make a model ready to be asked.

        Raises:
            OneClawError: it cannot be asked.
        """
        config, model_name = Providers(stored, self._environ, self._known).split(name)
        config = await with_key(config, self._keys)
        await self._providers.prepare(config)
        full_name = f"{config.name}/{model_name}"
        said = said_of(stored, full_name)
        learned = stored.get(LEARNED_SETTING + full_name)
        # What a server refused says nothing of another one at another address.
        if not isinstance(learned, dict) or learned.get("base_url") != config.base_url:
            learned = {}
        loading = ToolLoading((said.tool_loading if said else None) or ToolLoading.NATIVE)
        if learned.get("tool_loading") in set(ToolLoading):  # else by another version
            loading = loading.at_most(ToolLoading(learned["tool_loading"]))
        return ChosenModel(
            self._providers.get(config),
            config,
            model_facts(config, model_name, self._lists, stored),
            loading,
            min(filter(None, (longest, said.max_output_tokens if said else None)), default=None),
            said.prices if said else None,
            left_out_by(learned),
            reasoning=reasoning or (said.reasoning if said else None) or config.reasoning,
        )


def chosen_object(model: ModelObject, reasoning: ReasoningLevel | None, longest: int | None) -> ChosenModel:
    """Make a model object ready to be asked; what is stored about models of its name does not apply to it.

    Args:
        model: that the program gave.
        reasoning: how much it is to think.
        longest: the longest answer wanted.
    """
    config, info = config_of(model), getattr(model, "info", None)
    info = replace(info, name=model.name) if isinstance(info, ModelInfo) else ModelInfo(name=model.name)
    return ChosenModel(
        model.provider,
        config,
        info,
        max_output_tokens=longest,
        prices=ModelPrices(input=0, output=0) if config.is_local else None,
        reasoning=reasoning or config.reasoning,
        given=model,
    )


def left_out_by(learned: Mapping[str, Any]) -> dict[str, str]:
    """Return the parts of requests that a service has refused, each with its reason."""
    found = learned.get("left_out")
    return {str(part): str(reason) for part, reason in found.items()} if isinstance(found, dict) else {}
