"""Messages that arrive while a turn runs: they wait for its end, steer it, or stop it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from oneclaw_core.channels.conversation import Conversation

MOST_WAITING = 20


class TurnQueue:
    """Works through the lines of one conversation, one at a time; some are done at once.

    Args:
        conversation: whose ``waiting`` are the lines that wait.
        work: does what a line says, and reports what fails.
        is_immediate: True for a line that need not wait, such as ``/stop``.
        changed: called when a line begins to wait or to be worked on, or work ends.

    Attributes:
        line: that is worked on; ``None`` while nothing is.
    """

    def __init__(
        self,
        conversation: Conversation,
        work: Callable[[str], Coroutine[Any, Any, None]],
        is_immediate: Callable[[str], bool],
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self.line: str | None = None
        self._conversation = conversation
        self._work = work
        self._is_immediate = is_immediate
        self._changed = changed
        self._task: asyncio.Task[None] | None = None
        self._at_once: set[asyncio.Task[None]] = set()

    @property
    def is_busy(self) -> bool:
        """True while a line is worked on."""
        return self._task is not None

    def put(self, line: str) -> bool:
        """Take a line; return False if too many wait already."""
        waiting = self._conversation.waiting
        if self.is_busy and self._is_immediate(line):
            task = asyncio.get_running_loop().create_task(self._work(line))
            self._at_once.add(task)
            task.add_done_callback(self._at_once.discard)
            return True
        if len(waiting) >= MOST_WAITING:
            return False
        waiting.append(line)
        self._go_on()
        self._changed()
        return True

    def stop(self) -> bool:
        """Stop the work on a line; those that wait come next. Return False if there was nothing to stop."""
        return self._task is not None and self._task.cancel()

    async def close(self) -> None:
        """Stop all work, drop what waits, and wait for the end of it."""
        self._conversation.waiting.clear()
        tasks = [*self._at_once, *([self._task] if self._task is not None else [])]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _go_on(self) -> None:
        if self._task is None and self._conversation.waiting:
            self.line = self._conversation.waiting.pop(0)
            self._task = asyncio.get_running_loop().create_task(self._work(self.line))
            self._task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._task = self.line = None
        if not task.cancelled() and task.exception() is not None:
            task.get_loop().call_exception_handler({"message": "a line failed", "exception": task.exception()})
        self._go_on()
        self._changed()
