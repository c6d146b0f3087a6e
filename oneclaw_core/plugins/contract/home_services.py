"""Services of an open home that tools reach as ``context.services``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

    from oneclaw_core.agents import AgentService
    from oneclaw_core.config.configuration import Configuration
    from oneclaw_core.config.home import Home
    from oneclaw_core.memory.file import MemoryFile
    from oneclaw_core.plugins.contract.arguments import SessionInfo
    from oneclaw_core.search.ranking import Findings
    from oneclaw_core.skills.catalog import SkillCatalog
    from oneclaw_core.tools.registry import ToolRegistry
    from oneclaw_core.types.events import TurnEvent
    from oneclaw_core.user_tools.folder import UserTools


class Sessions(Protocol):
    """Read access to the conversations of the home."""

    async def list(self, limit: int | None = None) -> Sequence[SessionInfo]:
        """Return the sessions, the one used last first.

        Args:
            limit: how many at most.
        """
        ...

    async def find(self, name: str) -> SessionInfo | None:
        """Find a session by its name or id; ``None`` if there is none."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeServices:
    """Services of an open home.

    Attributes:
        home: its directories.
        agents: list, create, change and delete agents.
        configuration: read and change providers, models, settings, disabled tools and variables.
        registry: the registered tools and groups.
        sessions: the conversations.
        user_tools: the user's own tools.
        memory: what is remembered about the user.
        skills: the skills.
        search_history: search all sessions, with the parameters of :meth:`oneclaw_core.OneClaw.search_history`.
        send_message: run a turn, with the parameters of :meth:`oneclaw_core.OneClaw.send_message`. Tools use
            :meth:`ToolContext.send_message`.
    """

    home: Home
    agents: AgentService
    configuration: Configuration
    registry: ToolRegistry
    sessions: Sessions
    user_tools: UserTools
    memory: MemoryFile
    skills: SkillCatalog
    search_history: Callable[..., Awaitable[Findings]]
    send_message: Callable[..., AsyncGenerator[TurnEvent, None]]
