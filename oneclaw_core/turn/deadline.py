"""Pass items on until a deadline, with one timer for all of them: an answer has thousands of pieces."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from oneclaw_core.errors import TurnDeadlineError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Deadline:
    """The end of a turn's time.

    Attributes:
        moment: as ``time.monotonic`` counts.
        seconds: that the turn may take.
    """

    moment: float
    seconds: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """Count from now."""
        return cls(time.monotonic() + seconds, seconds)

    def limit(self, items: AsyncIterator[_Item]) -> AsyncGenerator[_Item, None]:
        """Pass items on until the deadline.

        Raises:
            TurnDeadlineError: it comes before the last item.
        """
        return until(self.moment, items, self._too_late)

    def _too_late(self) -> TurnDeadlineError:
        return TurnDeadlineError(
            f"the turn was stopped after {self.seconds:g} seconds; send another message to go on, "
            "or raise the setting turn_deadline_seconds"
        )


async def until(
    deadline: float, items: AsyncIterator[_Item], too_late: Callable[[], Exception]
) -> AsyncGenerator[_Item, None]:
    """Pass items on, and close their iterator at the end, however it comes.

    Args:
        deadline: as ``time.monotonic`` counts.
        items: waiting for one is broken off at the deadline; whoever listens is never cancelled in between.
        too_late: makes what is raised if the deadline comes before the last item.
    """
    iterator = aiter(items)
    alarm = _Alarm()
    timer = asyncio.get_running_loop().call_later(deadline - time.monotonic(), alarm.ring)
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
                # Somebody else may have cancelled it as well.
                if not alarm.has_cancelled or task.cancelling() - 1 > cancellations:
                    raise
                break
            finally:
                alarm.waiting = None
                if alarm.has_cancelled:
                    task.uncancel()
            yield item
        raise too_late()
    finally:
        timer.cancel()
        close = getattr(iterator, "aclose", None)
        if close is not None:
            await close()


class _Alarm:
    """Cancels, once, the task that waits when it rings.

    Attributes:
        waiting: the task, ``None`` while nobody waits.
        has_rung: whether it has.
        has_cancelled: whether anybody waited then.
    """

    __slots__ = ("has_cancelled", "has_rung", "waiting")

    def __init__(self) -> None:
        self.waiting: asyncio.Task[object] | None = None
        self.has_rung = False
        self.has_cancelled = False

    def ring(self) -> None:
        """Let no item be asked for any more, and end the waiting for one."""
        self.has_rung = True
        if self.waiting is not None:
            self.has_cancelled = self.waiting.cancel()
