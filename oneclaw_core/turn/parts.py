"""The parts of an open home that turns work with."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from oneclaw_core.config.plugin_choices import disabled_plugins
from oneclaw_core.turn.estimate import ToolSizes
from oneclaw_core.turn.prompt import TurnPrompt, news_of, read_prompt, selection_text
from oneclaw_core.turn.request import CachePrefixes, prompt_lists, tool_names

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from oneclaw_core.config.settings import SettingsReader
    from oneclaw_core.contract.arguments import SessionInfo
    from oneclaw_core.permissions.policy import PermissionPolicy
    from oneclaw_core.plugins.running.runtime import Plugins
    from oneclaw_core.project.trust import Project
    from oneclaw_core.providers.pool import ProviderPool
    from oneclaw_core.sessions.background import Background
    from oneclaw_core.sessions.settings import UserStates
    from oneclaw_core.sessions.store import Store
    from oneclaw_core.sessions.turns import TurnStart
    from oneclaw_core.tool_sources.tool_sources import ToolSources
    from oneclaw_core.tools.executor import ToolExecutor
    from oneclaw_core.tools.registry import ToolRegistry
    from oneclaw_core.turn.model import ModelChooser
    from oneclaw_core.turn.state import Answer, Ask
    from oneclaw_core.types.agents import Agent
    from oneclaw_core.types.steps import Handler


@dataclass(slots=True, kw_only=True)
class TurnParts:
    """The parts of an open home that every turn works with.

    Attributes:
        store: keeps the history.
        registry: the tools.
        executor: runs tool calls.
        plugins: at work.
        permissions: the user's decisions.
        settings: reads the settings.
        models: chooses agent and model.
        providers: open connections.
        tool_sources: bring the registry up to date before each request.
        project: the start directory.
        environ: the environment with settings.
        background: work that goes on beside the turns.
        ask: asks a model; the chain of steps that a request passes.
        cache_prefixes: of requests, kept over turns.
        tool_sizes: estimates of tools, kept over turns.
    """

    store: Store
    registry: ToolRegistry
    executor: ToolExecutor
    plugins: Plugins
    permissions: PermissionPolicy
    settings: SettingsReader
    models: ModelChooser
    providers: ProviderPool
    tool_sources: ToolSources
    project: Project
    environ: Mapping[str, str]
    background: Background
    ask: Handler[Ask, Answer]
    cache_prefixes: CachePrefixes = field(default_factory=CachePrefixes)
    tool_sizes: ToolSizes = field(default_factory=ToolSizes)
    _applied: Mapping[str, Any] | None = field(default=None, init=False)

    def apply_states(self, start: TurnStart) -> None:
        """Use the stored permissions and disabled tools, which another process may have changed."""
        self.permissions.decisions.replace(start.grants)
        self.registry.set_disabled(start.tool_states.disabled_tools, start.tool_states.disabled_groups)

    async def refresh_states(self) -> UserStates:
        """Use what the user has set by now, which another process may have changed, and return it."""
        states = await self.store.user_states()
        self.use_states(states)
        return states

    def use_states(self, states: UserStates) -> None:
        """Use what the user has set."""
        self.permissions.decisions.replace(states.grants)
        self.registry.set_disabled(states.disabled_tools, states.disabled_groups)
        self.apply_settings(states.settings)

    async def refresh_tool_states(self) -> None:
        """Use the tools and groups that are disabled by now."""
        states = await self.store.tool_states()
        self.registry.set_disabled(states.disabled_tools, states.disabled_groups)

    def apply_settings(self, stored: Mapping[str, Any]) -> None:
        """Use stored settings, which another process may have changed."""
        if stored == self._applied:
            return
        self._applied = stored
        self.project.use_pins(stored)
        disabled = disabled_plugins(stored, self.environ)
        self.tool_sources.set_disabled(disabled)
        self.registry.set_disabled_plugins(disabled)

    async def prompt_of(
        self, session: SessionInfo, agent: Agent, *, is_new: bool = False, is_cached: bool = True
    ) -> TurnPrompt:
        """Return the system prompt of a session, and what has changed since the session was told last.

        Args:
            session: whose lock the caller holds, unless it only looks.
            agent: with its toolset for this turn; another one ends the prompt cache, and is told its own lists.
            is_new: True to use the current lists instead of stored ones.
            is_cached: True if the model's service may have the session's prompt in a cache.
        """
        await self.tool_sources.refresh()
        sections = await self.plugins.current_sections(session)
        toolset = "" if agent.selection.is_everything else selection_text(agent.selection)
        kept = None if is_new else await self.store.kept_sections(session.id)
        known = None if kept is None or kept.lists is None else read_prompt(kept.text, kept.lists)
        is_same = known is not None and known.toolset == toolset
        began_with = tool_names(known.shown) if known is not None and is_same else None
        lists = prompt_lists(agent, self.registry, sections, began_with)
        if kept is None:
            return TurnPrompt(await self.plugins.prompt_sections(session), toolset, lists, lists)
        if known is None or not is_same or not is_cached:
            return TurnPrompt(kept.text, toolset, lists, lists)
        news = "" if known.told == lists else news_of(known.told, lists)
        return replace(known, told=lists, news=news)
