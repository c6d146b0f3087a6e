"""The turns that run in an open home, so that they can be ended before what they need is closed."""

from __future__ import annotations

import asyncio
import logging
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from oneclaw_core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

# Longer than a cancelled tool may take to clean up.
END_SECONDS = 10.0

_Event = TypeVar("_Event")

_log = logging.getLogger("oneclaw.turn")


class TurnTracker:
    """Knows the turns under way, and ends them.

    Whoever listens to a turn may leave it half-way, may never ask it for its next event, or may be a task of its own
    that outlives the home.
    """

    def __init__(self) -> None:
        # In the order of their beginning: a turn ends those that its tools have begun.
        self._running: dict[_Running, None] = {}
        self._is_ended = False

    def followed(self, events: AsyncGenerator[_Event, None]) -> AsyncGenerator[_Event, None]:
        """Pass a turn's events on, and know it as running from the first of them that is asked for to its end.

        Args:
            events: of a turn that has not begun.
        """
        running = _Running()
        generator = self._passed_on(events, running)
        # Held weakly: one that nobody listens to any more is closed at once, not when the home is.
        running.generator = weakref.ref(generator)
        return generator

    @contextmanager
    def of_this_task(self) -> Iterator[None]:
        """Know the running task as one that needs the home."""
        running = _Running()
        with self._known(running):
            yield

    async def end(self) -> None:
        """End all turns that run, wait for that, and let none begin any more."""
        self._is_ended = True
        while self._running:
            running = next(iter(self._running))
            try:
                async with asyncio.timeout(END_SECONDS):
                    await running.end()
            except Exception as error:  # noqa: BLE001  # the others are still to be ended
                _log.warning("a turn could not be ended in good order", exc_info=error)
            self._running.pop(running, None)

    async def _passed_on(self, events: AsyncGenerator[_Event, None], running: _Running) -> AsyncGenerator[_Event, None]:
        with self._known(running):
            try:
                async for event in events:
                    yield event
                    # Each event may be asked for by another task.
                    running.task = asyncio.current_task()
            finally:
                running.is_ending = True
                await events.aclose()

    @contextmanager
    def _known(self, running: _Running) -> Iterator[None]:
        if self._is_ended:
            raise UsageError("this home is closed: open it again with OneClaw.open()")
        running.task = asyncio.current_task()
        self._running[running] = None
        try:
            yield
        finally:
            self._running.pop(running, None)
            running.ended.set()


class _Running:
    """A turn under way.

    Attributes:
        generator: of its events; ``None`` for a task of which only the end counts.
        task: that has asked for the event to come.
        is_ending: whether it is about to end by itself.
        ended: when it has ended.
    """

    def __init__(self) -> None:
        self.generator: weakref.ref[AsyncGenerator[object, None]] | None = None
        self.task: asyncio.Task[object] | None = None
        self.is_ending = False
        self.ended = asyncio.Event()

    async def end(self) -> None:
        """End it and wait for that."""
        if self.generator is None:
            self._cancel()
        else:
            generator = self.generator()
            if generator is not None and not self.is_ending:
                if getattr(generator, "ag_running", False):
                    self._cancel()
                else:
                    await generator.aclose()
            # Where it is gone, the event loop is closing what is left of it.
            del generator
        await self.ended.wait()

    def _cancel(self) -> None:
        if self.task is not None and self.task is not asyncio.current_task():
            self.task.cancel()
