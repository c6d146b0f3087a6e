"""The stream of a turn's events, the end of its time, and requests to stop it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from oneclaw_core.errors import StoreError, TurnDeadlineError, TurnError, TurnStoppedError, UsageError
from oneclaw_core.types.events import TurnEvent

# Longer than a cancelled tool may take to clean up.
END_SECONDS = 10.0
STOP_POLL_SECONDS = 0.3

Emit = Callable[[TurnEvent], Awaitable[None]]
"""Hand an event to the listener, and go on when it asks for the next."""

_Event = TypeVar("_Event")
_Value = TypeVar("_Value")

_log = logging.getLogger("oneclaw.turn")


class TurnTracker:
    """The turns that run in an open home, each in a task, so that they end before what they need is closed.

    A listener may leave a turn half-way, may never ask for its next event, or may be a task that outlives the home.
    """

    def __init__(self) -> None:
        # In the order of their beginning: a turn ends those that its tools have begun. True once they are cancelled.
        self._running: dict[asyncio.Task[Any], bool] = {}
        self._is_ended = False

    async def stream(
        self, run: Callable[[Callable[[_Event], Awaitable[None]]], Coroutine[Any, Any, None]]
    ) -> AsyncGenerator[_Event, None]:
        """Yield the events that a coroutine emits; it runs from the first event asked for to its end.

        Closing the stream cancels the coroutine, and waits until it has cleaned up.

        Args:
            run: takes the function that emits; called when the first event is asked for.
        """
        events: asyncio.Queue[_Event | None] = asyncio.Queue()

        async def emit(event: _Event) -> None:
            if self._running.get(task):
                raise RuntimeError("an event was emitted after its stream was closed")
            events.put_nowait(event)
            await events.join()

        task = self._begin(run, emit)
        task.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
                if task.cancelled():
                    return  # the home was closed
                events.task_done()
            await task
        finally:
            if not task.done():
                self._cancel(task)
                await asyncio.wait({task})
                if not task.cancelled():
                    task.result()

    async def run(self, work: Callable[[], Coroutine[Any, Any, _Value]]) -> _Value:
        """Await a coroutine that needs the home, and return its result."""
        return await self._begin(work)

    async def end(self) -> None:
        """End all turns that run, wait for that, and let no other begin."""
        self._is_ended = True
        while self._running:
            task = next(iter(self._running))
            self._cancel(task)
            await asyncio.wait({task}, timeout=END_SECONDS)
            self._running.pop(task, None)
            if not task.cancelled() and (not task.done() or task.exception() is not None):
                error = task.exception() if task.done() else None
                _log.warning("a turn could not be ended in good order", exc_info=error)

    def _begin(self, run: Callable[..., Coroutine[Any, Any, _Value]], *args: Any) -> asyncio.Task[_Value]:
        if self._is_ended:
            raise UsageError("this home is closed: open it again with OneClaw.open()")
        task = asyncio.create_task(run(*args))
        self._running[task] = False
        task.add_done_callback(lambda task: self._running.pop(task, None))
        return task

    def _cancel(self, task: asyncio.Task[Any]) -> None:
        if self._running.get(task) is False:  # a second time would break off its cleaning up
            self._running[task] = True
            task.cancel()


class StopRequests:
    """Stops the turns of an open home when a process asks for that; one task looks for all turns.

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
        self._looking: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def watching(self, session_id: str, deadline: Deadline) -> AsyncIterator[None]:
        """Stop the turn of a session on request while the block runs."""
        self._running[session_id] = deadline
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())
        try:
            yield
        finally:
            del self._running[session_id]
            if not self._running and self._looking is not None:
                self._looking.cancel()
                self._looking = None
            if deadline.is_stopped:
                await self._withdraw(session_id)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(STOP_POLL_SECONDS)
            with suppress(StoreError):  # the turn meets the same error when it writes
                for session_id in await self._requested():
                    if session_id in self._running:
                        self._running[session_id].stop()


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
        self._timeouts: set[asyncio.Timeout] = set()

    def remaining_seconds(self) -> float:
        """Seconds that are left for the turn; 0 if it is to end."""
        return 0.0 if self.is_stopped else max(self._moment - time.monotonic(), 0.0)

    def stop(self) -> None:
        """End the turn now; blocks of :meth:`limit` raise ``TurnStoppedError``."""
        self.is_stopped = True
        for timeout in self._timeouts:
            if not timeout.expired():
                timeout.reschedule(asyncio.get_running_loop().time())

    @asynccontextmanager
    async def limit(self) -> AsyncIterator[asyncio.Timeout]:
        """Cancel at the deadline what the block awaits.

        Yields:
            The timeout, for code that may swallow its cancellation.

        Raises:
            TurnDeadlineError: the deadline came before the end of the block.
            TurnStoppedError: the turn is stopped before that.
        """
        if self.is_stopped:
            raise self._error()
        timeout = asyncio.timeout(self.remaining_seconds())
        self._timeouts.add(timeout)
        try:
            async with timeout:
                yield timeout
        except TimeoutError:
            if not timeout.expired():
                raise
        finally:
            self._timeouts.discard(timeout)
        if timeout.expired():
            raise self._error()

    def _error(self) -> TurnError:
        if self.is_stopped:
            return TurnStoppedError("the turn was stopped by the user; send another message to go on")
        return TurnDeadlineError(
            f"the turn was stopped after {self._seconds:g} seconds; send another message to go on, "
            "or raise the setting turn_deadline_seconds"
        )


@asynccontextmanager
async def closing(items: AsyncIterator[_Event]) -> AsyncIterator[AsyncIterator[_Event]]:
    """Close an iterator at the end of the block; one of a plugin may lack ``aclose``."""
    try:
        yield items
    finally:
        close = getattr(items, "aclose", None)
        if close is not None:
            await close()
