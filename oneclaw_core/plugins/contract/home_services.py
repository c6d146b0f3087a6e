"""Services of an open home that tools and hooks of plugins reach as ``context.services``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
    from datetime import date

    from oneclaw_core.agents import AgentService
    from oneclaw_core.config.configuration import Configuration
    from oneclaw_core.home import Home, Project
    from oneclaw_core.plugins.contract.arguments import SessionInfo
    from oneclaw_core.plugins.contract.tool_source import ToolSource
    from oneclaw_core.plugins.registration.record import PluginSkill
    from oneclaw_core.search.ranking import Findings, Passage
    from oneclaw_core.tools.registry import ToolRegistry
    from oneclaw_core.types.events import TurnEvent


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

    async def search(
        self,
        query: str,
        *,
        since: date | None = None,
        until: date | None = None,
        max_results: int = 10,
        asking_sessions: Iterable[str] = (),
        passages: Iterable[Passage] = (),
        in_sessions: bool = True,
    ) -> Findings:
        """Search everything said in all sessions, and their titles.

        Args:
            query: words in any script; texts with all of them, or if there is none, with some.
            since: the first day, of the user's days.
            until: the last day.
            max_results: how many hits at most, from 1 to 50.
            asking_sessions: sessions with a turn under way on whose behalf this is done: that turn, and the session's
                title, are not found.
            passages: further texts to search and rank with them, whatever the dates.
            in_sessions: False to search these passages only.

        Raises:
            UsageError: the query has no word to search for, or another argument is invalid.
            StoreError: the database cannot be searched.
        """
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
        tool_source: return the running tool source of a plugin, given the names of both; ``None`` if there is none, or
            the user has disabled it.
        project: the directory that the program was started in, and whether the user trusts it.
        skills: the folders that plugins registered as skills.
        holds_secret: return True if a text holds a secret that OneClaw knows, such as a stored key.
        send_message: run a turn, with the parameters of :meth:`oneclaw_core.OneClaw.send_message`. Tools use
            :meth:`ToolContext.send_message`.
    """

    home: Home
    agents: AgentService
    configuration: Configuration
    registry: ToolRegistry
    sessions: Sessions
    tool_source: Callable[[str, str], Awaitable[ToolSource | None]]
    project: Project
    skills: Sequence[PluginSkill]
    holds_secret: Callable[[str], bool]
    send_message: Callable[..., AsyncGenerator[TurnEvent, None]]
