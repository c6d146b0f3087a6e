"""Protocols for what turns need of features: choices of the user, and system prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from oneclaw_core.config.core_settings import Settings
    from oneclaw_core.contract.arguments import SessionInfo
    from oneclaw_core.sessions.settings import UserStates
    from oneclaw_core.sessions.turns import TurnSetup, TurnStart
    from oneclaw_core.turn.prompt import TurnPrompt
    from oneclaw_core.types.agents import Agent


class Choices(Protocol):
    """The choices of the user, which another process may change at any time."""

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
