"""Event loops beside that of the program: the one of a plugin, and how a coroutine gets from one loop to another."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from oneclaw_core.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

_T = TypeVar("_T")


class Worker(Protocol):
    """The event loop of the async code of one plugin; see :class:`oneclaw_core.loops.worker_loop.WorkerLoop`.

    Attributes:
        when_abandoned: called when the loop was found blocked; the next call gets another one.
    """

    when_abandoned: Callable[[], None]

    async def run(self, call: Callable[[], Awaitable[_T]], name: str) -> _T:
        """Run the coroutine that a function makes on the loop, and wait for it on the loop of the caller."""
        ...

    async def clean_up(self, loop: asyncio.AbstractEventLoop, call: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Release what belongs to a loop: the caller's, or one that this object had."""
        ...

    async def aclose(self) -> None:
        """Cancel what runs on the loop, and end its thread."""
        ...


class WorkerThread(threading.Thread):
    """A thread that runs the event loop of a plugin."""


def is_worker_thread() -> bool:
    """Return True if the running thread is that of a plugin's event loop."""
    return isinstance(threading.current_thread(), WorkerThread)


async def run_on(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine on an event loop, and wait for it on that of the caller, with the caller's context variables.

    Args:
        loop: runs in this thread or another.
        work: cancelled with the caller.

    Raises:
        PluginError: the loop is closed.
        BaseException: what the coroutine raises.
    """
    if asyncio.get_running_loop() is loop:
        return await work
    try:
        future = asyncio.run_coroutine_threadsafe(work, loop)
    except RuntimeError:
        work.close()
        raise PluginError("the home was closed before this call ended") from None
    return await asyncio.wrap_future(future)
