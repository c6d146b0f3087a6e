"""Run the async code of one plugin on an event loop in a daemon thread, which is abandoned if the code blocks it.

Code that never returns control to its event loop cannot be stopped. Here it delays neither the program's event loop
nor the end of the program, only calls of the same plugin that were running beside it.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import sys
import threading
import traceback
import weakref
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from oneclaw_core.system.loops import WorkerThread
from oneclaw_core.system.threads import DaemonExecutor, LoopBlockedError, current_watch, passable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

HEARTBEAT_SECONDS = 0.5
"""Seconds without an answer after which an event loop counts as blocked."""
END_SECONDS = 1.0
"""The time that cancelled tasks have to clean up before their loop is closed."""
_LOOP_FILES = (__file__, str(Path(asyncio.__file__).parent), threading.__file__)

_T = TypeVar("_T")

_log = logging.getLogger("oneclaw.plugins")


class WorkerLoop:
    """An event loop for the async code of one plugin; its thread is started by the first call.

    Args:
        plugin: the plugin's name.

    Attributes:
        when_abandoned: called when the loop was found blocked; the next call gets another one.
    """

    def __init__(self, plugin: str) -> None:
        self._plugin = plugin
        self.when_abandoned: Callable[[], None] = lambda: None
        self._thread: _LoopThread | None = None

    async def run(self, call: Callable[[], Awaitable[_T]], name: str) -> _T:
        """Run a coroutine on the loop, and wait for it on the loop of the caller.

        It sees the caller's context variables. Cancelling the caller cancels it and waits for its end.

        Args:
            call: makes the coroutine, or another awaitable; called on the loop.
            name: of the call, for messages, such as ``tool fetch``.

        Raises:
            LoopBlockedError: another call blocked the loop.
            BaseException: what the coroutine raises; a ``RuntimeError`` for what would end the program.
        """
        waiter = asyncio.get_running_loop()
        if self._thread is not None and self._thread.loop is waiter:
            return await call()
        job = _Job(call, name, waiter)
        self._submit(job)
        try:
            return await job.outcome
        except asyncio.CancelledError:
            if not job.is_ended:  # else the coroutine has cancelled itself
                await self._cancel(job)
            raise

    async def clean_up(self, loop: asyncio.AbstractEventLoop, call: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Release what belongs to a loop, unless that is abandoned: then it is lost.

        Args:
            loop: the caller's, or one that this object had.
            call: makes a coroutine that does it.
        """
        if loop is asyncio.get_running_loop():
            await call()
        elif self._thread is not None and self._thread.loop is loop:
            done = asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call(), loop))
            await asyncio.wait({done}, timeout=END_SECONDS)

    async def aclose(self) -> None:
        """Cancel what runs on the loop, and end its thread; one that does not answer is left behind."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.stop()
            await asyncio.wait({asyncio.wrap_future(thread.ended)}, timeout=END_SECONDS + HEARTBEAT_SECONDS)

    def _submit(self, job: _Job[Any]) -> None:
        if self._thread is None:
            self._thread = _LoopThread(self._plugin)
        job.submit_to(self._thread)

    async def _cancel(self, job: _Job[Any]) -> None:
        """Cancel a coroutine; if its loop does not answer, abandon the loop."""
        thread = job.thread
        answered: asyncio.Future[None] = job.waiter.create_future()
        try:
            thread.loop.call_soon_threadsafe(job.cancel, answered)
        except RuntimeError:  # the loop is closed
            return
        await asyncio.wait({answered}, timeout=HEARTBEAT_SECONDS)
        if answered.done():
            await job.wait_for_end()
            return
        culprit = thread.running_caller()
        has_begun = not job.withdraw()
        if job.watch is not None:
            job.watch.block = self._lost(job, culprit, has_begun=has_begun)
        if thread is self._thread:
            self._abandon(thread, culprit)
        if culprit is job.caller:
            # It had its time. The others may never be answered, and are not to wait for that.
            for other in list(thread.jobs):
                if other is not job:
                    _call_soon(other.waiter, other.deliver, None, self._lost(other, culprit, has_begun=True))
            thread.stop()

    def _abandon(self, thread: _LoopThread, culprit: _Caller | None) -> None:
        """Give later calls another loop, and those that this one has not begun."""
        self._thread = None
        _log.warning(
            "plugin %s: %s blocks the plugin's event loop, which is abandoned; use await there, or a plain function, "
            "which runs in a thread; it is at %s",
            self._plugin,
            culprit.name if culprit is not None else "unknown code",
            thread.place(),
        )
        self.when_abandoned()
        for job in list(thread.jobs):
            if job.withdraw():
                self._submit(job)
        thread.stop_when_idle()

    def _lost(self, job: _Job[Any], culprit: _Caller | None, *, has_begun: bool) -> LoopBlockedError:
        name = culprit.name if culprit is not None else ""
        return LoopBlockedError(self._plugin, name, is_culprit=culprit is job.caller, has_begun=has_begun)


class _Caller:
    """The identity of a job, which tasks may keep for longer than the job: it holds no result.

    Args:
        name: of the call.
    """

    __slots__ = ("__weakref__", "name")

    def __init__(self, name: str) -> None:
        self.name = name


_running_caller: contextvars.ContextVar[_Caller | None] = contextvars.ContextVar("_running_caller", default=None)


class _Job(Generic[_T]):
    """One call.

    Args:
        call: makes a coroutine.
        name: of the call.
        waiter: the event loop that waits for it.

    Attributes:
        caller: its identity.
        outcome: of the call, on the loop that waits.
        watch: of the task that waits.
        thread: runs it.
        is_ended: True when the loop that waits has the outcome.
    """

    def __init__(self, call: Callable[[], Awaitable[_T]], name: str, waiter: asyncio.AbstractEventLoop) -> None:
        self._call = call
        self.caller = _Caller(name)
        self.waiter = waiter
        self.outcome: asyncio.Future[_T] = waiter.create_future()
        self.watch = current_watch()
        self.thread: _LoopThread
        self.is_ended = False
        self._end: asyncio.Future[None] | None = None
        self._context = contextvars.copy_context()
        self._context.run(_running_caller.set, self.caller)
        self._task: asyncio.Task[None] | None = None
        self._ticket: list[None] = []

    def submit_to(self, thread: _LoopThread) -> None:
        """Have a thread begin it."""
        self.thread = thread
        # The side that takes the only item decides whether it begins. Taking it is atomic.
        self._ticket = [None]
        thread.jobs.add(self)
        if self.watch is not None:
            self.watch.begin(self)
        thread.loop.call_soon_threadsafe(self._begin, self._ticket, context=self._context)

    def withdraw(self) -> bool:
        """Keep it from beginning; return False if it has begun."""
        try:
            self._ticket.pop()
        except IndexError:
            return False
        self._leave()
        return True

    def cancel(self, answered: asyncio.Future[None]) -> None:
        """Cancel it, and answer; called on its loop."""
        if self._task is not None:
            self._task.cancel()
        _call_soon(self.waiter, _answer, answered)

    async def wait_for_end(self) -> None:
        """Wait until it has ended, whatever it returns or raises."""
        if not self.is_ended:
            self._end = self.waiter.create_future()
            await self._end

    def deliver(self, value: _T | None, error: BaseException | None) -> None:
        """Set its outcome; called on the loop that waits."""
        if self.outcome.done():
            return
        if isinstance(error, asyncio.CancelledError):
            self.outcome.cancel()
        elif error is not None:
            self.outcome.set_exception(error)
        else:
            self.outcome.set_result(value)  # type: ignore[arg-type]  # without an error it is what the call returned

    def _begin(self, ticket: list[None]) -> None:
        try:
            ticket.pop()
        except IndexError:  # withdrawn
            return
        self._task = self.thread.loop.create_task(self._work())
        self._task.add_done_callback(self._end_unbegun)

    def _end_unbegun(self, task: asyncio.Task[None]) -> None:
        """End a job whose task was cancelled before its first step, so that none of :meth:`_work` runs."""
        if task.cancelled():
            self._leave()
            _call_soon(self.waiter, self._finish, None, asyncio.CancelledError())

    async def _work(self) -> None:
        value: _T | None = None
        error: BaseException | None = None
        try:
            value = await self._call()
        except GeneratorExit:  # its loop was closed
            raise
        except BaseException as raised:  # noqa: BLE001  # belongs to the task that waits
            error = passable(raised)
        self._leave()
        _call_soon(self.waiter, self._finish, value, error)
        del value, error  # the traceback of an error keeps this frame

    def _leave(self) -> None:
        self.thread.leave(self)
        if self.watch is not None:
            self.watch.end(self)

    def _finish(self, value: _T | None, error: BaseException | None) -> None:
        self.is_ended = True
        self.deliver(value, error)
        if self._end is not None:
            _answer(self._end)


class _LoopThread(WorkerThread):
    """A thread that runs an event loop.

    Args:
        plugin: the plugin's name.

    Attributes:
        loop: runs in it.
        jobs: those that have not ended.
        callers: those that tasks belong to.
        ended: done when the loop is closed.
    """

    def __init__(self, plugin: str) -> None:
        super().__init__(name=f"oneclaw {plugin}", daemon=True)
        self.loop = asyncio.new_event_loop()
        self.loop.set_default_executor(DaemonExecutor())
        self.loop.set_task_factory(self._make_task)
        self.jobs: set[_Job[Any]] = set()
        self.callers: weakref.WeakKeyDictionary[asyncio.Future[Any], _Caller] = weakref.WeakKeyDictionary()
        self.ended: Future[None] = Future()
        self._is_retired = False
        self._is_stopping = False
        self.start()

    def run(self) -> None:
        """Run the loop until it is stopped."""
        while not self._is_stopping:
            try:
                self.loop.run_forever()
            except BaseException:  # noqa: BLE001  # a task may raise SystemExit, which ends nothing but itself
                _log.exception("a task of a plugin failed")
        try:
            self.loop.run_until_complete(self._cancel_all())
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        except BaseException:  # noqa: BLE001  # left by a task, too
            _log.exception("the event loop of a plugin could not be ended")
        finally:
            self.loop.close()
            self.ended.set_result(None)

    def leave(self, job: _Job[Any]) -> None:
        """Forget a job that has ended, or does not begin here."""
        self.jobs.discard(job)
        if self._is_retired and not self.jobs:
            self.stop()

    def stop_when_idle(self) -> None:
        """End the thread when all jobs have ended."""
        self._is_retired = True
        if not self.jobs:
            self.stop()

    def stop(self) -> None:
        """End the thread as soon as the loop answers."""
        _call_soon(self.loop, self._stop)

    def _stop(self) -> None:
        if not self._is_stopping:  # else the loop runs what is left
            self._is_stopping = True
            self.loop.stop()

    def running_caller(self) -> _Caller | None:
        """Return the caller whose code runs now, ``None`` if that is unknown."""
        task = asyncio.current_task(self.loop)
        return self.callers.get(task) if task is not None else None

    def place(self) -> str:
        """Return where the plugin's code is now: the function that the loop runs, and the innermost one."""
        frame = sys._current_frames().get(self.ident or 0)
        stack = traceback.extract_stack(frame) if frame is not None else []
        frames = [each for each in stack if not each.filename.startswith(_LOOP_FILES)]
        shown = [*frames[:1], *frames[1:][-1:]]
        return ", ".join(f"{each.filename}:{each.lineno} ({each.name})" for each in shown) or "an unknown place"

    def _make_task(self, loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> asyncio.Future[Any]:
        task: asyncio.Task[Any] = asyncio.Task(work, loop=loop, **options)
        caller = _running_caller.get()
        if caller is not None:
            self.callers[task] = caller
        return task

    async def _cancel_all(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=END_SECONDS)


def _call_soon(loop: asyncio.AbstractEventLoop, call: Callable[..., object], *arguments: Any) -> None:
    try:
        loop.call_soon_threadsafe(call, *arguments)
    except RuntimeError:
        if not loop.is_closed():  # else nothing waits there any more
            raise


def _answer(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
