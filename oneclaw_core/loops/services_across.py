"""Services of a home for the event loop of a plugin: their async methods run on that of the program."""

from __future__ import annotations

import inspect
from asyncio import CancelledError, current_task, wait
from dataclasses import fields, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from oneclaw_core.system.loops import run_on

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncGenerator, Callable

    from oneclaw_core.contract import contact_points
    from oneclaw_core.contract.home_services import HomeServices
    from oneclaw_core.types.events import TurnEvent


def for_other_loop(services: HomeServices) -> HomeServices:
    """Return the same services for the event loop of a plugin: their async methods run on that of the program."""
    across: Any = partial(_across, services.loop)

    def trigger_across(trigger: contact_points.Trigger) -> contact_points.Trigger:
        names = ("run", "set_up", "take_request")
        functions = {name: getattr(trigger, name) for name in names}
        return replace(trigger, **{name: each and across(each) for name, each in functions.items()})

    configuration = services.configuration
    names = [each.name for each in fields(configuration)]
    return replace(
        services,
        agents=across(services.agents),
        configuration=replace(configuration, **{name: across(getattr(configuration, name)) for name in names}),
        sessions=across(services.sessions),
        tool_source=across(services.tool_source),
        task_permissions=across(services.task_permissions),
        channel=across(services.channel),
        triggers=lambda: [trigger_across(each) for each in services.triggers()],
        trigger=lambda name: trigger_across(services.trigger(name)),
        background=across(services.background),
        sandbox=across(services.sandbox),
        send_message=partial(_events_across, services.loop, services.send_message),
    )


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
