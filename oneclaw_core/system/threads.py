"""Run synchronous code in daemon threads, which never delay the end of the program.

asyncio's and anyio's worker threads are joined when the interpreter exits, so one tool that hangs would keep the
program from ending after its timeout has long been reported. These are daemon threads, a new one for each call.
"""

from __future__ import annotations

import concurrent.futures
import contextvars
import sys
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from oneclaw_core.errors import PluginError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine
    from typing import Self

_T = TypeVar("_T")


class LoopBlockedError(PluginError):
    """A call was lost, because code of its plugin blocked the event loop that it ran on.

    Attributes:
        is_culprit: True if the call itself blocks it.
        has_begun: True if the call had begun, so that it may have had an effect.
    """

    def __init__(self, plugin: str, culprit: str, *, is_culprit: bool, has_begun: bool) -> None:
        self.is_culprit, self.has_begun = is_culprit, has_begun
        culprit = culprit or "unknown code"
        if is_culprit:
            text = (
                f"it blocks the event loop of its plugin {plugin}. It cannot be stopped and may go on in the "
                "background, so it may still have its effect. Do not repeat it without asking the user"
            )
        elif has_begun:
            text = (
                f"it was running when {culprit} blocked the event loop of the plugin {plugin}, so its outcome is "
                "unknown. Do not repeat it; look for what it did, or tell the user"
            )
        else:
            text = f"it was not run, because {culprit} blocks the event loop of the plugin {plugin}; call it again"
        super().__init__(text)

    @property
    def error_type(self) -> str:
        """The error type of a tool call that was lost."""
        return "unknown_outcome" if self.has_begun and not self.is_culprit else "timeout"


class ThreadWatch:
    """The functions of :func:`run_in_thread` that have not ended, also those that were abandoned.

    Coroutines on the event loop of a plugin count as well.

    A context manager: it watches the tasks that are made inside, and belongs to the watch of the running task.

    Attributes:
        block: the ``LoopBlockedError`` of a coroutine that was lost with the event loop of a plugin.
    """

    __slots__ = ("_outer", "_running", "_token", "block")

    def __init__(self) -> None:
        self._outer = _watch.get()
        self._running: set[object] = set()
        self.block: Exception | None = None

    def __enter__(self) -> Self:
        self._token = _watch.set(self)
        return self

    def __exit__(self, *raised: object) -> None:
        _watch.reset(self._token)

    @property
    def are_left(self) -> bool:
        """True if a thread goes on."""
        return bool(self._running)

    def begin(self, job: object) -> None:
        """Take note of a function that is about to run."""
        self._running.add(job)
        if self._outer is not None:
            self._outer.begin(job)

    def end(self, job: object) -> None:
        """Take note that it has ended; called in its thread."""
        self._running.discard(job)
        if self._outer is not None:
            self._outer.end(job)


_watch: contextvars.ContextVar[ThreadWatch | None] = contextvars.ContextVar("_watch", default=None)


def current_watch() -> ThreadWatch | None:
    """Return the watch of the running task, ``None`` if there is none."""
    return _watch.get()


async def run_in_thread(call: Callable[[], _T]) -> _T:
    """Call a function in a thread and wait for it without blocking the event loop.

    If the waiting task is cancelled the thread runs on, and what happens to it is ignored.

    Args:
        call: takes nothing; sees the context variables of the task that waits.

    Returns:
        What it returns.

    Raises:
        BaseException: what it raises; a ``RuntimeError`` for what would end the program, or cannot be passed on.
    """
    import asyncio

    call_here = partial(contextvars.copy_context().run, call)
    return await asyncio.wrap_future(_start(call_here, "oneclaw tool", _watch.get()))


def _start(call: Callable[[], _T], name: str, watch: ThreadWatch | None = None) -> concurrent.futures.Future[_T]:
    """Run a function in a new daemon thread, and have a watch take note of it."""
    future: concurrent.futures.Future[_T] = concurrent.futures.Future()
    future.set_running_or_notify_cancel()
    job = object()  # not the function, which would keep its result until garbage is collected

    def run() -> None:
        value: _T | None = None
        error: BaseException | None = None
        try:
            value = call()
        except BaseException as raised:  # noqa: BLE001  # raised where the result is awaited
            error = passable(raised)
        if watch is not None:
            watch.end(job)
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)  # type: ignore[arg-type]  # without an error it is what the call returned
        del value, error  # the traceback of an error keeps this frame

    if watch is not None:
        watch.begin(job)
    threading.Thread(target=run, name=name, daemon=True).start()
    return future


def passable(error: BaseException) -> BaseException:
    """Return an exception that can be raised in another thread in place of one that was raised in this."""
    if isinstance(error, StopIteration):  # a future cannot hold it
        return RuntimeError(f"the function raised {error!r}")
    if isinstance(error, KeyboardInterrupt):  # Ctrl-C is the main thread's; this one would end its event loop
        return RuntimeError("the function raised KeyboardInterrupt, though no one pressed Ctrl-C")
    return error


class DaemonExecutor(concurrent.futures.ThreadPoolExecutor):
    """Runs functions in daemon threads, for ``asyncio.to_thread``: the program does not wait for them at its end."""

    def submit(self, fn: Callable[..., _T], /, *args: Any, **kwargs: Any) -> concurrent.futures.Future[_T]:
        """Run a function in a thread."""
        return _start(partial(fn, *args, **kwargs), "oneclaw tool", _watch.get())


def started_task(coroutine: Coroutine[Any, Any, _T]) -> asyncio.Task[_T]:
    """Run a coroutine as a task; where Python can, it runs at once until it first waits.

    What never waits then costs no turn of the event loop.
    """
    import asyncio

    if sys.version_info >= (3, 12):
        return asyncio.Task(coroutine, loop=asyncio.get_running_loop(), eager_start=True)
    return asyncio.create_task(coroutine)


def start_in_background(call: Callable[[], _T], name: str) -> concurrent.futures.Future[_T]:
    """Start a call that cannot be cancelled, such as a name lookup, in a daemon thread.

    Args:
        call: takes nothing.
        name: of the thread.

    Returns:
        Its result. Await it with ``asyncio.wrap_future``.
    """

    def call_without_exit() -> _T:
        try:
            return call()
        except Exception:
            raise
        except BaseException as error:  # which would end the event loop that awaits it
            raise RuntimeError(f"the call raised {type(error).__name__}") from error

    return _start(call_without_exit, name)
