"""Async tools of the program that block its event loop: measure for how long, and give the others their time back."""

from __future__ import annotations

import logging
import time
from types import CoroutineType, coroutine
from typing import TYPE_CHECKING, Any

from oneclaw_core.loops.worker_loop import HEARTBEAT_SECONDS
from oneclaw_core.types.tools import ToolResult

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    from oneclaw_core.tools.calls.running_call import CallClock

_log = logging.getLogger("oneclaw.executor")


class LoopBlocks:
    """Seconds for which tools of the program have blocked its event loop; one object for all calls."""

    seconds = 0.0


class BlockMeter:
    """Measures how long one call blocks the event loop, and how much time others take from it.

    Args:
        blocks: by all calls.
    """

    def __init__(self, blocks: LoopBlocks) -> None:
        self._blocks = blocks
        self._before = blocks.seconds
        self._seconds = 0.0
        self._was_late = False

    @coroutine
    def run(self, call: Callable[[], Awaitable[Any]]) -> Generator[Any, Any, Any]:
        """Await what a function makes, and measure each of its steps."""
        work: Any = call()
        if not isinstance(work, CoroutineType):
            return (yield from work.__await__())
        resume: Callable[[Any], Any] = work.send
        value: Any = None
        while True:
            began = time.monotonic()
            try:
                step = resume(value)
            except StopIteration as stop:
                return stop.value
            finally:
                if (seconds := time.monotonic() - began) > HEARTBEAT_SECONDS:
                    self._seconds += seconds
                    self._blocks.seconds += seconds
            resume = work.send
            try:
                value = yield step
            except GeneratorExit:
                work.close()
                raise
            except BaseException as error:  # noqa: BLE001  # such as a cancellation: passed on, as a coroutine does
                resume, value = work.throw, error

    def lost_seconds(self, late_seconds: float) -> float:
        """Return how much time others have taken from the tool: while the loop was blocked, it could not run."""
        lost = self._blocks.seconds - self._before - self._seconds
        self._before += lost
        if not lost and not self._seconds and not self._was_late and late_seconds > HEARTBEAT_SECONDS:
            self._was_late = True  # code of the program has blocked the loop; only once, since it may be slow for long
            return late_seconds + HEARTBEAT_SECONDS
        return lost

    def judged(self, tool_name: str, result: ToolResult, clock: CallClock) -> ToolResult:
        """Name a tool that has blocked the program's event loop; past its timeout, that is its result."""
        if not self._seconds:
            return result
        _log.warning(
            "tool %s blocked the program's event loop for %.1f s: use await there, or a plain function, which runs in "
            "a thread",
            tool_name,
            self._seconds,
        )
        remaining = clock.remaining_seconds()
        if remaining is None or remaining > 0:
            return result
        return ToolResult.error(
            "timeout",
            f"Tool '{tool_name}' blocked the program for {self._seconds:.1f} s, and ended after its timeout of "
            f"{clock.timeout_seconds:g} s. It may have had its effect. Do not repeat it without asking the user.",
        )
