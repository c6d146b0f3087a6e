"""Calls of foreign code with a time limit, where neither an exception nor a hang reaches the caller."""

from __future__ import annotations

import asyncio
import inspect
import logging
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import PluginError, describe_error
from oneclaw_core.threads import run_in_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from oneclaw_core.plugins.registration.implementations import Implementation

CLEAN_UP_SECONDS = 1.0
"""The time that a cancelled hook has to clean up before it is abandoned."""


_log = logging.getLogger("oneclaw.plugins")


class HookError(PluginError):
    """A hook of a plugin failed. The message names the plugin and the command that disables it.

    Attributes:
        plugin: the plugin's name.
        hook: the hook's name.
        fault: what went wrong, without what to do about it.
    """

    def __init__(self, plugin: str, hook: str, fault: str, remedy: str = "") -> None:
        self.plugin, self.hook, self.fault = plugin, hook, fault
        hint = f"{remedy}, or disable it" if remedy else "disable it"
        super().__init__(f"plugin {plugin}: {hook} {fault}; {hint} with: oneclaw plugins disable {plugin}")


class HookTimeoutError(HookError):
    """A hook did not end within its time limit."""

    def __init__(self, plugin: str, hook: str, seconds: float) -> None:
        remedy = f"change its limit with 'oneclaw config set hook_timeouts {plugin}=SECONDS'"
        super().__init__(plugin, hook, f"did not end within {seconds:g} s", remedy)


async def call_hook(implementation: Implementation, arguments: Mapping[str, Any], seconds: float) -> Any:
    """Call an implementation with the arguments that it names.

    An async function is cancelled at the limit; a sync one runs in a daemon thread, which is abandoned.

    Args:
        implementation: the plugin's function.
        arguments: all that the hook has.
        seconds: the time limit.

    Returns:
        What the function returned.

    Raises:
        HookError: it raised, or took too long.
    """
    keywords = {name: arguments[name] for name in implementation.argument_names}
    call = partial(implementation.function, **keywords)
    try:
        return await call_isolated(call, seconds, is_async=implementation.is_async)
    except TimeoutError as expired:
        raise HookTimeoutError(implementation.plugin, implementation.hook, seconds) from expired
    except ForeignError as error:
        _log.debug("%s of plugin %s", implementation.hook, implementation.plugin, exc_info=error.raised)
        fault = f"raised {describe_error(error.raised)}"
        raise HookError(implementation.plugin, implementation.hook, fault) from error.raised


class ForeignError(Exception):
    """Foreign code raised something.

    Attributes:
        raised: what it raised; any ``BaseException``.
    """

    def __init__(self, raised: BaseException) -> None:
        super().__init__()
        self.raised = raised


async def call_isolated(call: Callable[[], Any], seconds: float, *, is_async: bool) -> Any:
    """Call foreign code in a separate task, or in a daemon thread.

    Args:
        call: takes nothing.
        seconds: the time limit.
        is_async: True if it returns a coroutine that is made on the event loop.

    Returns:
        What it returned.

    Raises:
        TimeoutError: it took longer.
        ForeignError: it raised something.
    """
    started = time.monotonic()
    task = _start(_outcome_of(call, is_async))
    try:
        if not task.done():
            await asyncio.wait({task}, timeout=seconds)
        if not task.done():
            await _cancel(task)
            raise TimeoutError
    except asyncio.CancelledError:
        if not task.done():
            await _cancel(task)
        raise
    value, error = task.result()
    # A function that blocks the event loop cannot be stopped, but its lateness counts.
    if time.monotonic() - started > seconds:
        raise TimeoutError
    if error is not None:
        raise ForeignError(error)
    return value


async def _outcome_of(call: Callable[[], Any], is_async: bool) -> tuple[Any, BaseException | None]:
    try:
        value = call() if is_async else await run_in_thread(call)
        # A plain function can wrap an async one.
        return (await value if inspect.isawaitable(value) else value), None
    except GeneratorExit:
        raise
    except BaseException as error:  # noqa: BLE001  # foreign code may raise anything, such as SystemExit
        return None, error


def _start(coroutine: Coroutine[Any, Any, tuple[Any, BaseException | None]]) -> asyncio.Task[Any]:
    if sys.version_info >= (3, 12):
        # Most hooks never wait, and then cost no turn of the event loop.
        return asyncio.Task(coroutine, loop=asyncio.get_running_loop(), eager_start=True)
    return asyncio.create_task(coroutine)


async def _cancel(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.wait({task}, timeout=CLEAN_UP_SECONDS)
