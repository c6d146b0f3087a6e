"""The parts of an open home that turns work with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from oneclaw_core.config.core_settings import Settings
    from oneclaw_core.contract.arguments import SessionInfo
    from oneclaw_core.permissions.people import People
    from oneclaw_core.plugins.running.runtime import Plugins
    from oneclaw_core.sessions.background import Background
    from oneclaw_core.sessions.settings import UserStates
    from oneclaw_core.sessions.store import Store
    from oneclaw_core.sessions.turns import TurnSetup, TurnStart
    from oneclaw_core.tool_sources.tool_sources import ToolSources
    from oneclaw_core.tools.executor import ToolExecutor
    from oneclaw_core.tools.registry import ToolRegistry
    from oneclaw_core.turn.ending import Ending
    from oneclaw_core.turn.model import Models
    from oneclaw_core.turn.prompt import TurnPrompt
    from oneclaw_core.turn.state import Answer, Ask, TurnState
    from oneclaw_core.types.agents import Agent
    from oneclaw_core.types.steps import Handler


class Choices(Protocol):
    """What the user has set, which another process may change at any time."""

    def read(self, setup: TurnSetup) -> Settings:
        """Read the settings of OneClaw for a turn."""
        ...

    def use_setup(self, setup: TurnSetup) -> None:
        """Use what is stored as a turn is resolved."""
        ...

    def use_start(self, start: TurnStart) -> None:
        """Use what is stored as a turn begins."""
        ...

    def use(self, states: UserStates) -> None:
        """Use what is stored by now."""
        ...

    async def refresh(self) -> UserStates:
        """Read what is stored by now, use it, and return it."""
        ...


class Prompts(Protocol):
    """The system prompts of sessions."""

    async def of(
        self, session: SessionInfo, agent: Agent, *, is_new: bool = False, is_cached: bool = True
    ) -> TurnPrompt:
        """Return the system prompt of a session, and what has changed since the session was told last.

        Args:
            session: whose lock the caller holds, unless it only looks.
            agent: with its toolset for this turn.
            is_new: True for a prompt of now instead of the stored one.
            is_cached: True if the model's service may have the session's prompt in a cache.
        """
        ...


@dataclass(slots=True, kw_only=True)
class TurnParts:
    """The parts of an open home that every turn works with.

    Attributes:
        store: keeps the history.
        registry: the tools.
        executor: runs tool calls.
        plugins: at work.
        people: are asked for permissions, and questions.
        choices: what the user has set.
        models: that can answer.
        tool_sources: bring the registry up to date before each request.
        background: work that goes on beside the turns.
        prompts: system prompts.
        ask: asks a model; the chain of steps that a request passes.
        ending_of: returns what a turn ends with.
    """

    store: Store
    registry: ToolRegistry
    executor: ToolExecutor
    plugins: Plugins
    people: People
    choices: Choices
    models: Models
    tool_sources: ToolSources
    background: Background
    prompts: Prompts
    ask: Handler[Ask, Answer]
    ending_of: Callable[[TurnState], Ending]
