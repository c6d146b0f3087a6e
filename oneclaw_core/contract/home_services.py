"""Services of an open home that tools and hooks of plugins reach as ``context.services``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from oneclaw_core.system.loops import run_on

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence

    from oneclaw_core.agents.service import AgentService
    from oneclaw_core.config.configuration import Configuration
    from oneclaw_core.contract import contact_points
    from oneclaw_core.contract.tool_source import ToolSource
    from oneclaw_core.permissions.decisions import TaskPermissions
    from oneclaw_core.plugins.plugin import PluginSkill
    from oneclaw_core.process.sandbox.choice import ChosenSandbox
    from oneclaw_core.project.trust import Project
    from oneclaw_core.sessions.background import Background
    from oneclaw_core.sessions.conversations import Sessions
    from oneclaw_core.system.home import Home
    from oneclaw_core.tools.registry import ToolRegistry
    from oneclaw_core.types.events import TurnEvent


_Value = TypeVar("_Value")


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
            :meth:`~oneclaw_core.ToolContext.send_message`.
        task_permissions: what a scheduled task lacked, and the decisions that hold for it alone. The plugin that runs
            tasks has them forgotten when one is deleted.
        channel: make a channel that a plugin has registered, given its name, to send messages through.
        triggers: list what can start a scheduled task beside time, as plugins have registered it.
        trigger: return the trigger of a name; a ``NotFoundError`` names what to install, or those there are.
        background: note work that goes on after a call, so that it is listed, can be stopped and its end is told.
        sandbox: choose the sandbox for commands, by the settings and by what works on this machine.
        loop: the event loop of the program, which opened the home.
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
    task_permissions: TaskPermissions
    channel: Callable[[str], Awaitable[contact_points.Channel]]
    triggers: Callable[[], Sequence[contact_points.Trigger]]
    trigger: Callable[[str], contact_points.Trigger]
    background: Background
    sandbox: Callable[[], Awaitable[ChosenSandbox]]
    loop: asyncio.AbstractEventLoop
    _across: Callable[[HomeServices], HomeServices]

    async def on_program_loop(self, work: Coroutine[Any, Any, _Value]) -> _Value:
        """Run a coroutine on the event loop of the program, where tool sources and ``deps`` live.

        Args:
            work: must not block; cancelled with the caller.

        Raises:
            BaseException: what the coroutine raises.
        """
        return await run_on(self.loop, work)

    def for_other_loop(self) -> HomeServices:
        """Return the same services for the event loop of a plugin: their async methods run on that of the program."""
        return self._across(self)
