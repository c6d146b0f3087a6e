"""Choose the agent and the model of a turn, by what is asked for, stored and set."""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from oneclaw_core.config.model_service import ModelLists, model_facts, said_of
from oneclaw_core.config.prices import ModelPrices
from oneclaw_core.config.providers import LEARNED_SETTING, OFFLINE_MODEL, Providers, with_key
from oneclaw_core.config.settings import read_settings
from oneclaw_core.errors import NotFoundError, SettingsError, UsageError
from oneclaw_core.models.attachments import attachment_media_types, check_attachments
from oneclaw_core.models.fallback import Fallback
from oneclaw_core.models.left_out import left_out_by
from oneclaw_core.providers.base import route_of
from oneclaw_core.providers.model_object import ModelObject, ProviderModel, config_of, is_model_object, object_name
from oneclaw_core.turn.model import ChosenModel
from oneclaw_core.types.agents import GENERAL_ASSISTANT, REASONING_LEVELS, Agent, ReasoningLevel
from oneclaw_core.types.model_requests import ModelInfo, ToolLoading

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence

    from oneclaw_core.agents.service import AgentService
    from oneclaw_core.config.keys import KeyStore
    from oneclaw_core.providers.known import KnownProviders
    from oneclaw_core.providers.pool import ProviderPool
    from oneclaw_core.sessions.turns import TurnSetup
    from oneclaw_core.turn.turn_request import TurnRequest
    from oneclaw_core.types.messages import Attachment

_log = logging.getLogger("oneclaw.turn")


@dataclass(frozen=True, slots=True)
class ModelChooser:
    """Finds the agent and the model of a turn, by what is asked for, stored and set.

    Attributes:
        agents: the agents.
        environ: providers and settings of the environment.
        known: providers that plugins know.
        keys: of the providers.
        lists: known models.
        providers: open connections.
    """

    agents: AgentService
    environ: Mapping[str, str]
    known: KnownProviders
    keys: KeyStore
    lists: ModelLists
    providers: ProviderPool

    async def choose(self, setup: TurnSetup, request: TurnRequest) -> tuple[Agent, ChosenModel]:
        """Choose the agent and the model of a turn.

        Args:
            setup: what the store says.
            request: what the user asked. The model is by default that of the session, the agent, the outer turn or the
                settings; how much it thinks, what is set for the agent, the outer turn or the model.

        Raises:
            AgentError: a parameter is not acceptable.
            NotFoundError: there is no such agent, provider or model.
            UsageError: the model cannot look at an attachment.
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
        name = name or read_settings(stored, self.environ).model
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
        files = tuple(request.attachments)
        if hasattr(chosen.provider, "route"):
            chosen = await self._first_behind(chosen, stored, longest, files)
        if files:
            check_attachments(files, attachment_media_types(chosen), chosen.full_name)
        return persona, chosen

    async def _agent(self, setup: TurnSetup, request: TurnRequest) -> Agent:
        if isinstance(request.agent, Agent):
            return request.agent
        if setup.agent is not None:
            return setup.agent
        if request.agent is not None:
            return await self.agents.get(request.agent)
        # Another version of the program, or a hand, took the agent away and left its sessions; or a program gave it.
        session = setup.session
        _log.warning("there is no agent %r any more; %s goes on", session and session.agent, GENERAL_ASSISTANT.name)
        return GENERAL_ASSISTANT

    @asynccontextmanager
    async def held(self, model: ChosenModel) -> AsyncIterator[None]:
        """Keep the connection to a model, and to those that are asked if it fails, until the block ends."""
        async with AsyncExitStack() as stack:
            if model.given is None:
                await stack.enter_async_context(self.providers.acquired(model.provider))
            if isinstance(model.fallback, Fallback):
                stack.push_async_callback(model.fallback.release)
            yield

    @asynccontextmanager
    async def configured(self, name: str, stored: Mapping[str, Any]) -> AsyncGenerator[ProviderModel, None]:
        """Hold a configured model as an object; see :meth:`oneclaw_core.OneClaw.configured_model`."""
        chosen = await self._open(name, stored, None, None)
        if hasattr(chosen.provider, "route"):
            raise UsageError(f"{name} stands for other models: name one of them")
        async with self.providers.acquired(chosen.provider):
            yield ProviderModel(chosen.provider, chosen.info.name, chosen.info)

    async def aclose(self) -> None:
        """Close the connections to all models."""
        await self.providers.aclose()

    async def _first_behind(
        self, asked: ChosenModel, stored: Mapping[str, Any], longest: int | None, files: Sequence[Attachment]
    ) -> ChosenModel:
        """Return the first of the models that stand behind another one."""
        route = route_of(asked.provider, asked.info.name)
        assert route is not None

        async def open_model(name: str) -> ChosenModel:
            found = await self._open(name, stored, asked.reasoning, longest)
            if hasattr(found.provider, "route"):
                raise SettingsError(
                    f"{name} has models of others behind it too, and only models of services can be here"
                )
            return found

        return await Fallback(asked.full_name, route, open_model, self.providers, stored).first(files)

    async def _open(
        self, name: str, stored: Mapping[str, Any], reasoning: ReasoningLevel | None, longest: int | None
    ) -> ChosenModel:
        """Make a model ready to be asked.

        Raises:
            OneClawError: it cannot be asked.
        """
        config, model_name = Providers(stored, self.environ, self.known).split(name)
        config = await with_key(config, self.keys)
        await self.providers.prepare(config)
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
            self.providers.get(config),
            config,
            model_facts(config, model_name, self.lists, stored),
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
