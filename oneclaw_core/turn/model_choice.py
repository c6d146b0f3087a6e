"""Choose the agent and the model of a turn."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from oneclaw_core.config.models import model_facts, model_overrides
from oneclaw_core.config.providers import (
    LEARNED_SETTING,
    OFFLINE_MODEL,
    no_provider,
    provider_configs,
    split_model,
    with_key,
)
from oneclaw_core.errors import NotFoundError
from oneclaw_core.providers.base import ToolLoading
from oneclaw_core.turn.model_calls import ChosenModel
from oneclaw_core.types.agents import GENERAL_ASSISTANT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core.agents import AgentService
    from oneclaw_core.config.keys import KeyStore
    from oneclaw_core.config.models import ModelLists
    from oneclaw_core.config.settings import Settings, SettingsReader
    from oneclaw_core.providers.base import Provider
    from oneclaw_core.providers.known import KnownProviders
    from oneclaw_core.providers.pool import ProviderPool
    from oneclaw_core.sessions.store import Store
    from oneclaw_core.sessions.turns import TurnSetup
    from oneclaw_core.tools.context import ToolContext
    from oneclaw_core.types.agents import Agent

_log = logging.getLogger("oneclaw.app")


class ModelChooser:
    """Finds the agent and the model of a turn, by what is asked for, stored and set.

    Args:
        store: providers and settings.
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
        store: Store,
        agents: AgentService,
        settings: SettingsReader[Settings],
        environ: Mapping[str, str],
        known: KnownProviders,
        keys: KeyStore,
        lists: ModelLists,
        providers: ProviderPool,
    ) -> None:
        self._store = store
        self._agents = agents
        self._settings = settings
        self._environ = environ
        self._known = known
        self._keys = keys
        self._lists = lists
        self._providers = providers

    async def default(self) -> str:
        """Return the ``PROVIDER/MODEL`` of a session for which none was chosen."""
        return self._settings.read(await self._store.settings()).model or OFFLINE_MODEL

    async def provider(self, name: str) -> Provider:
        """Return the model service of a name.

        Raises:
            NotFoundError: none is configured under that name, or no plugin brings its type.
        """
        configs = provider_configs(await self._store.settings(), self._environ, self._known)
        if name not in configs:
            raise no_provider(name, configs)
        config = await with_key(configs[name], self._keys)
        await self._providers.prepare(config)
        provider = self._providers.get(config)
        self._providers.acquire(provider)
        return provider

    async def choose(
        self, setup: TurnSetup, agent: str | None, model: str | None, within: ToolContext | None = None
    ) -> tuple[Agent, ChosenModel]:
        """Choose the agent and the model of a turn.

        Args:
            setup: what the store says.
            agent: asked for; ``None`` for that of the session.
            model: asked for; ``None`` for that of the session, the agent, the outer turn or the settings.
            within: the tool call that the turn is run for.

        Raises:
            NotFoundError: there is no such agent, provider or model.
        """
        session, stored = setup.session, setup.settings
        persona = setup.agent
        if persona is None and agent is not None:
            persona = await self._agents.get(agent)
        if persona is None:
            # Another version of the program, or a hand, took the agent away and left its sessions.
            _log.warning("there is no agent %r any more; %s goes on", session and session.agent, GENERAL_ASSISTANT.name)
            persona = GENERAL_ASSISTANT
        name = model or (session.model if session else None) or persona.model
        if name is None and within is not None and within.turn is not None:
            name = within.turn.model
        if name is None:
            name = self._settings.read(stored).model or OFFLINE_MODEL
        try:
            config, model_name = split_model(name, provider_configs(stored, self._environ, self._known))
        except NotFoundError as error:
            if name != persona.model:
                raise
            raise NotFoundError(f"the model of agent {persona.name!r} cannot be used: {error}") from None
        config = await with_key(config, self._keys)
        await self._providers.prepare(config)
        full_name = f"{config.name}/{model_name}"
        overrides = model_overrides(stored, full_name)
        learned = stored.get(LEARNED_SETTING + full_name)
        # What a server refused says nothing of another one at another address.
        if not isinstance(learned, dict) or learned.get("base_url") != config.base_url:
            learned = {}
        loading = ToolLoading(overrides.tool_loading or ToolLoading.NATIVE)
        if learned.get("tool_loading") in set(ToolLoading):  # else by another version
            loading = loading.at_most(ToolLoading(learned["tool_loading"]))
        return persona, ChosenModel(
            self._providers.get(config),
            config,
            model_facts(config, model_name, self._lists, stored),
            loading,
            overrides.max_output_tokens,
            overrides.prices,
        )
