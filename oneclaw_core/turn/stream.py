"""Streams of events: emitted by a coroutine, tracked until they end, limited by a deadline, and stopped on request.

``await emit(event)`` suspends the coroutine until the listener asks for the next event. It may stand in any function
that the coroutine awaits. The coroutine runs in the task of the listener, with its timeouts and its cancellation, but
in one context: context variables that it sets neither leak into the listener nor depend on which task asks next.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
import weakref
from collections.abc import Callable
from contextlib import asynccontextmanager, contextmanager, suppress
from inspect import CORO_CLOSED, getcoroutinestate
from typing import TYPE_CHECKING, Any, TypeVar

from oneclaw_core.errors import StoreError, TurnDeadlineError, TurnStoppedError, UsageError
from oneclaw_core.types.events import TurnEvent

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Collection, Coroutine, Generator, Iterator

# Longer than a cancelled tool may take to clean up.
END_SECONDS = 10.0
STOP_POLL_SECONDS = 0.3

Emit = Callable[[TurnEvent], "Awaitable[None]"]
"""Hand an event to the listener, and go on when it asks for the next."""

_Event = TypeVar("_Event")

_log = logging.getLogger("oneclaw.turn")


class StreamClosed(BaseException):  # no error, like GeneratorExit
    """The listener has left. Unlike ``GeneratorExit``, it lets coroutines await while they clean up."""


class TurnTracker:
    """The turns that run in an open home, so that they end before what they need is closed.

    A listener may leave a turn half-way, may never ask for its next event, or may be a task that outlives the home.
    """

    def __init__(self) -> None:
        # In the order of their beginning: a turn ends those that its tools have begun.
        self._running: dict[_Running, None] = {}
        self._is_ended = False

    def stream(
        self, run: Callable[[Callable[[_Event], Awaitable[None]]], Coroutine[Any, Any, None]]
    ) -> AsyncGenerator[_Event, None]:
        """Return a stream of the events that a coroutine emits; it runs from the first event asked for to its end.

        Closing the stream raises ``StreamClosed`` where the coroutine emits, and waits until it has cleaned up.

        Args:
            run: takes the function that emits; called when the first event is asked for.
        """
        running = _Running()
        events = self._events(run, running)
        # Held weakly: a stream without a listener is closed at once, not when the home is.
        running.stream = weakref.ref(events)
        return events

    @contextmanager
    def of_this_task(self) -> Iterator[None]:
        """Track the running task as one that needs the home."""
        running = _Running()
        running.task = asyncio.current_task()
        with self._tracked(running):
            yield

    async def end(self) -> None:
        """End all turns that run, wait for that, and let no other begin."""
        self._is_ended = True
        while self._running:
            running = next(iter(self._running))
            try:
                async with asyncio.timeout(END_SECONDS):
                    await running.end()
            except Exception as error:  # noqa: BLE001  # the others are still to be ended
                _log.warning("a turn could not be ended in good order", exc_info=error)
            self._running.pop(running, None)

    async def _events(
        self, run: Callable[[Callable[[_Event], Awaitable[None]]], Coroutine[Any, Any, None]], running: _Running
    ) -> AsyncGenerator[_Event, None]:
        with self._tracked(running):
            work = run(_Emission)
            resume, send = contextvars.copy_context().run, work.send
            try:
                while True:
                    try:
                        step = resume(send, None)
                    except StopIteration:
                        return
                    if type(step) is not _Emission:
                        # Each event may be asked for by another task.
                        running.task = asyncio.current_task()
                        step = await _NextEmission(resume, work, step)
                        running.task = None
                        if step is None:
                            return
                    yield step.event
            finally:
                running.is_ending = True
                if getcoroutinestate(work) != CORO_CLOSED:
                    with suppress(StreamClosed, StopIteration):
                        step = resume(work.throw, StreamClosed())
                        if type(step) is _Emission or await _NextEmission(resume, work, step) is not None:
                            raise RuntimeError("an event was emitted after its stream was closed")

    @contextmanager
    def _tracked(self, running: _Running) -> Iterator[None]:
        if self._is_ended:
            raise UsageError("this home is closed: open it again with OneClaw.open()")
        self._running[running] = None
        try:
            yield
        finally:
            self._running.pop(running, None)
            running.ended.set()


class _Running:
    """A turn under way.

    Attributes:
        stream: of its events; ``None`` for a task that is tracked as a whole.
        task: that waits for the next event; ``None`` while none waits.
        is_ending: True if it is about to end by itself.
        ended: set when it has ended.
    """

    def __init__(self) -> None:
        self.stream: weakref.ref[AsyncGenerator[object, None]] | None = None
        self.task: asyncio.Task[object] | None = None
        self.is_ending = False
        self.ended = asyncio.Event()

    async def end(self) -> None:
        """End it and wait for that."""
        if self.stream is None:
            self._cancel()
        else:
            stream = self.stream()
            if stream is not None and not self.is_ending:
                if getattr(stream, "ag_running", False):
                    self._cancel()
                else:
                    await stream.aclose()
            # Where it is gone, the event loop is closing what is left of it.
            del stream
        await self.ended.wait()

    def _cancel(self) -> None:
        if self.task is not None and self.task is not asyncio.current_task():
            self.task.cancel()


class _Emission:
    """An event on its way from the coroutine to the listener."""

    __slots__ = ("event",)

    def __init__(self, event: Any) -> None:
        self.event = event

    def __await__(self) -> Generator[Any, Any, None]:
        # Faster than a generator. It has no ``throw``: an exception is raised where the emission is awaited.
        return iter((self,))  # type: ignore[return-value]


class _NextEmission:
    """Wait for what a coroutine waits for, until it emits an event or ends, with ``None``.

    Args:
        resume: calls a function in the context of the coroutine.
        work: the coroutine.
        waits_for: yielded by it.
    """

    __slots__ = ("_resume", "_waits_for", "_work")

    def __init__(self, resume: Callable[..., Any], work: Coroutine[Any, Any, None], waits_for: Any) -> None:
        self._resume = resume
        self._work = work
        self._waits_for = waits_for

    def __await__(self) -> Generator[Any, Any, _Emission | None]:
        resume, work, step = self._resume, self._work, self._waits_for
        while type(step) is not _Emission:
            function: Callable[[Any], Any] = work.send
            try:
                value = yield step
            except GeneratorExit:
                resume(work.close)
                raise
            except BaseException as error:  # noqa: BLE001  # such as a cancellation: passed on, as a coroutine does
                function, value = work.throw, error
            try:
                step = resume(function, value)
            except StopIteration:
                return None
        return step


class StopRequests:
    """Stops the turns of an open home when a process asks for that; one timer serves all turns.

    Args:
        requested: reads the ids of the sessions whose turns are to be stopped.
        withdraw: removes the request to stop the turn of a session.
    """

    def __init__(
        self, requested: Callable[[], Awaitable[Collection[str]]], withdraw: Callable[[str], Awaitable[object]]
    ) -> None:
        self._requested = requested
        self._withdraw = withdraw
        self._running: dict[str, Deadline] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._looking: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def watching(self, session_id: str, deadline: Deadline) -> AsyncIterator[None]:
        """Stop the turn of a session on request while the block runs."""
        self._running[session_id] = deadline
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(STOP_POLL_SECONDS, self._look)
        try:
            yield
        finally:
            del self._running[session_id]
            if not self._running and self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if deadline.is_stopped:
                await self._withdraw(session_id)

    def _look(self) -> None:
        self._timer = None
        self._looking = asyncio.get_running_loop().create_task(self._stop_requested())

    async def _stop_requested(self) -> None:
        try:
            for session_id in await self._requested():
                if session_id in self._running:
                    self._running[session_id].stop()
        except StoreError as error:
            # The turn meets the same error when it writes.
            _log.debug("requests to stop turns could not be read", exc_info=error)
        if self._running and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(STOP_POLL_SECONDS, self._look)


class Deadline:
    """The end of a turn's time, counted from now; :meth:`stop` brings it forward.

    Args:
        seconds: how long the turn may take.

    Attributes:
        is_stopped: True once the turn is to end at once.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._moment = time.monotonic() + seconds
        self.is_stopped = False
        # Of the iterators that are limited now.
        self._alarms: set[_Alarm] = set()

    def remaining_seconds(self) -> float:
        """Seconds that are left for the turn; 0 if it is to end."""
        return 0.0 if self.is_stopped else max(self._moment - time.monotonic(), 0.0)

    def stop(self) -> None:
        """End the turn now; waiting for an item raises ``TurnStoppedError``."""
        self.is_stopped = True
        for alarm in self._alarms:
            alarm.ring()

    async def limit(self, items: AsyncIterator[_Event]) -> AsyncGenerator[_Event, None]:
        """Pass items on until the deadline, with one timer for all; close their iterator at the end.

        Args:
            items: waiting for one is broken off at the deadline; a listener is never cancelled in between.

        Raises:
            TurnDeadlineError: it comes before the last item.
            TurnStoppedError: the turn is stopped before that.
        """
        iterator = aiter(items)
        alarm = _Alarm()
        alarm.has_rung = self.is_stopped
        self._alarms.add(alarm)
        timer = asyncio.get_running_loop().call_later(self._moment - time.monotonic(), alarm.ring)
        try:
            while not alarm.has_rung:
                # Each item may be asked for by another task.
                task = alarm.waiting = asyncio.current_task()
                assert task is not None
                cancellations = task.cancelling()
                try:
                    item = await anext(iterator)
                except StopAsyncIteration:
                    return
                except asyncio.CancelledError:
                    # Another one may have cancelled it as well.
                    if not alarm.has_cancelled or task.cancelling() - 1 > cancellations:
                        raise
                    break
                finally:
                    alarm.waiting = None
                    if alarm.has_cancelled:
                        task.uncancel()
                yield item
            if self.is_stopped:
                raise TurnStoppedError("the turn was stopped by the user; send another message to go on")
            raise TurnDeadlineError(
                f"the turn was stopped after {self._seconds:g} seconds; send another message to go on, "
                "or raise the setting turn_deadline_seconds"
            )
        finally:
            timer.cancel()
            self._alarms.discard(alarm)
            # An iterator of a plugin may lack it.
            close = getattr(iterator, "aclose", None)
            if close is not None:
                await close()


class _Alarm:
    """Cancels, once, the task that waits when it rings.

    Attributes:
        waiting: the task, ``None`` while none waits.
        has_rung: True if it has.
        has_cancelled: True if a task waited then.
    """

    __slots__ = ("has_cancelled", "has_rung", "waiting")

    def __init__(self) -> None:
        self.waiting: asyncio.Task[object] | None = None
        self.has_rung = False
        self.has_cancelled = False

    def ring(self) -> None:
        """Let no item be asked for any more, and end the waiting for one."""
        if self.has_rung:
            return
        self.has_rung = True
        if self.waiting is not None:
            self.has_cancelled = self.waiting.cancel()
