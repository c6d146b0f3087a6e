"""Calls of foreign code with a time limit, where neither an exception nor a hang reaches the caller.

A thread that does not end is abandoned: it keeps neither the caller nor the end of the program waiting. Code that
raises ``KeyboardInterrupt`` or ``SystemExit`` there ends nothing else.
"""

from __future__ import annotations

import inspect
import logging
import time
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from oneclaw_core.errors import PluginError, describe_error
from oneclaw_core.system.threads import LoopBlockedError, ThreadWatch, run_in_thread, start_in_background, started_task

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from oneclaw_core.system.loops import Worker


LOAD_SECONDS = 30.0
"""The time limit of importing a plugin and calling its registration hooks."""

_T = TypeVar("_T")


def raised_cause(error: BaseException) -> str:
    """Return what a plugin raised, as the cause of a problem."""
    if isinstance(error, KeyboardInterrupt):
        return "it raised KeyboardInterrupt, though Ctrl-C was not pressed"
    return str(error) if isinstance(error, PluginError) else describe_error(error)


class ForeignError(Exception):
    """Foreign code raised something.

    Attributes:
        raised: what it raised; any ``BaseException``.
    """

    def __init__(self, raised: BaseException) -> None:
        super().__init__()
        self.raised = raised


class ForeignCall(Generic[_T]):
    """A call in a separate thread, whose outcome many can wait for.

    Args:
        call: takes nothing.
        name: of the thread.
        seconds: the time limit, counted from now.
    """

    def __init__(self, call: Callable[[], _T], name: str, seconds: float) -> None:
        def isolated() -> _T:
            try:
                return call()
            except BaseException as error:  # belongs to those who wait
                raise ForeignError(error) from error

        self._ends_at = time.monotonic() + seconds
        self._future = start_in_background(isolated, f"oneclaw {name}")

    def wait(self) -> _T:
        """Return what the call returned; Ctrl-C ends the waiting.

        Raises:
            TimeoutError: it goes on.
            ForeignError: it raised something, such as a ``TimeoutError`` of its own.
        """
        return self._future.result(max(0, self._ends_at - time.monotonic()))

    async def wait_async(self) -> _T:
        """Do the same without blocking the event loop."""
        if self._future.done():
            return self._future.result()
        import asyncio

        async with asyncio.timeout(max(0, self._ends_at - time.monotonic())):
            return await asyncio.wrap_future(self._future)


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


async def call_isolated(
    call: Callable[[], Any], seconds: float, *, is_async: bool, worker: Worker | None = None, name: str = ""
) -> Any:
    """Call foreign code in a separate task, or in a daemon thread.

    Args:
        call: takes nothing.
        seconds: the time limit.
        is_async: True if it returns a coroutine that is made on the event loop.
        worker: the event loop of the plugin that runs the coroutine; ``None`` for the running one.
        name: of the call, for messages of the worker.

    Returns:
        What it returned.

    Raises:
        TimeoutError: it took longer; it is cancelled.
        LoopBlockedError: it was lost with the event loop of the plugin.
        ForeignError: it raised something.
    """
    import asyncio

    with ThreadWatch() as watch:
        task = started_task(_outcome_of(call, is_async, worker, name))
    try:
        if not task.done():  # one that never waits has ended
            await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError:
        if not task.done():
            await _cancel(task)
        raise
    if not task.done():
        await _cancel(task)
        raise watch.block or TimeoutError()
    value, error, taken = task.result()
    if isinstance(error, LoopBlockedError):
        raise error
    # A function that blocks the event loop cannot be stopped, but its lateness counts.
    if taken > seconds:
        raise TimeoutError
    if error is not None:
        raise ForeignError(error)
    return value


async def _outcome_of(
    call: Callable[[], Any], is_async: bool, worker: Worker | None, name: str
) -> tuple[Any, BaseException | None, float]:
    # From here on, since with many sessions it may take a while until the event loop gets to this.
    started = time.monotonic()
    try:
        if is_async and worker is not None:
            return await worker.run(call, name), None, 0.0  # it cannot block this loop
        value = call() if is_async else await run_in_thread(call)
        if not isinstance(value, CoroutineType) and not inspect.isawaitable(value):
            return value, None, time.monotonic() - started
        # A plain function can wrap an async one.
        value = await (value if worker is None else worker.run(lambda: value, name))
        return value, None, time.monotonic() - started
    except GeneratorExit:
        raise
    except BaseException as error:  # noqa: BLE001  # foreign code may raise anything, such as SystemExit
        return None, error, time.monotonic() - started


async def _cancel(task: asyncio.Task[Any]) -> None:
    import asyncio

    task.cancel()
    await asyncio.wait({task}, timeout=CLEAN_UP_SECONDS)
