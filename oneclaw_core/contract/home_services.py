"""Services of an open home that tools and hooks of plugins reach as ``context.services``."""

from __future__ import annotations

import inspect
from asyncio import CancelledError, current_task, wait
from dataclasses import dataclass, fields, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from oneclaw_core.capabilities.declaration import HOME_SERVICE
from oneclaw_core.system.loops import run_on

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence

    from oneclaw_core.agents.service import AgentService
    from oneclaw_core.capabilities.declaration import Declaration
    from oneclaw_core.config.configuration import Configuration
    from oneclaw_core.contract import contact_points
    from oneclaw_core.contract.tool_source import ToolSource
    from oneclaw_core.permissions.task_permissions import TaskPermissions
    from oneclaw_core.plugins.plugin import PluginSkill
    from oneclaw_core.process.sandbox.choice import ChosenSandbox
    from oneclaw_core.project.trust import Project
    from oneclaw_core.sessions.background import Background
    from oneclaw_core.sessions.for_plugins import Sessions
    from oneclaw_core.system.home import Home
    from oneclaw_core.tools.registry import ToolRegistry
    from oneclaw_core.types.events import TurnEvent


_Value = TypeVar("_Value")
# They give nothing of the home.
_FOR_ALL = frozenset({"loop", "on_program_loop", "for_other_loop"})


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
        across: Any = partial(_across, self.loop)

        def trigger_across(trigger: contact_points.Trigger) -> contact_points.Trigger:
            names = ("run", "set_up", "take_request")
            functions = {name: getattr(trigger, name) for name in names}
            return replace(trigger, **{name: each and across(each) for name, each in functions.items()})

        return replace(
            self,
            agents=across(self.agents),
            configuration=replace(
                self.configuration,
                **{each.name: across(getattr(self.configuration, each.name)) for each in fields(self.configuration)},
            ),
            sessions=across(self.sessions),
            tool_source=across(self.tool_source),
            task_permissions=across(self.task_permissions),
            channel=across(self.channel),
            triggers=lambda: [trigger_across(each) for each in self.triggers()],
            trigger=lambda name: trigger_across(self.trigger(name)),
            background=across(self.background),
            sandbox=across(self.sandbox),
            send_message=partial(_events_across, self.loop, self.send_message),
        )


def declared_services(services: HomeServices, declaration: Declaration | None) -> HomeServices:
    """Return the services that a plugin may use; the others raise ``PermissionDeniedError``.

    Args:
        services: of the open home.
        declaration: of the plugin; ``None`` if nothing holds it.
    """
    if declaration is None or declaration.reasons is None:
        return services
    held: Any = _DeclaredServices(services, declaration)
    return held  # type: ignore[no-any-return]


class _DeclaredServices:
    """The services that a plugin has declared."""

    def __init__(self, services: HomeServices, declaration: Declaration) -> None:
        self._services = services
        self._declaration = declaration

    def __getattr__(self, name: str) -> Any:
        if name not in _FOR_ALL:
            self._declaration.require(HOME_SERVICE, name)
        return getattr(self._services, name)


class _Across:
    """An object whose async methods run on another event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, target: object) -> None:
        self._loop = loop
        self._target = target

    def __getattr__(self, name: str) -> Any:
        return _across(self._loop, getattr(self._target, name))


def _across(loop: asyncio.AbstractEventLoop, value: Any) -> Any:
    """Return an async method, or an object that has any, for another event loop; anything else as it is."""
    if inspect.iscoroutinefunction(value):
        return lambda *arguments, **options: run_on(loop, value(*arguments, **options))
    is_served = _has_async(type(value))  # type: ignore[arg-type]  # a class is hashable
    return _Across(loop, value) if is_served else value


@lru_cache(maxsize=256)
def _has_async(kind: type) -> bool:
    return any(inspect.iscoroutinefunction(each) for base in kind.__mro__ for each in vars(base).values())


async def _events_across(
    loop: asyncio.AbstractEventLoop,
    send_message: Callable[..., AsyncGenerator[TurnEvent, None]],
    *arguments: Any,
    **options: Any,
) -> AsyncGenerator[TurnEvent, None]:
    events = send_message(*arguments, **options)
    asking: list[asyncio.Task[Any] | None] = []
    try:
        while (event := await run_on(loop, _next(events, asking))) is not None:
            yield event
    finally:
        await run_on(loop, _close(events, asking))


async def _next(events: AsyncGenerator[TurnEvent, None], asking: list[asyncio.Task[Any] | None]) -> TurnEvent | None:
    if _is_running(events):  # the home is about to be closed, and closes them
        raise CancelledError
    asking[:] = [current_task()]
    return await anext(events, None)


async def _close(events: AsyncGenerator[TurnEvent, None], asking: list[asyncio.Task[Any] | None]) -> None:
    """Close the events, after the task that was asking for one has ended, which may have been cancelled just now."""
    for task in asking:
        if task is not None and not task.done():
            await wait({task})
    if not _is_running(events):
        await events.aclose()


def _is_running(events: AsyncGenerator[TurnEvent, None]) -> bool:
    return bool(getattr(events, "ag_running", False))
