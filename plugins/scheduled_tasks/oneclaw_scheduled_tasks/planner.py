"""Making runs of what is due, by a clock that can be wrong."""

from __future__ import annotations

import logging
import time
from datetime import timedelta
from typing import TYPE_CHECKING

from oneclaw_scheduled_tasks import stored_tasks

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from sqlalchemy import Connection

    from oneclaw_scheduled_tasks.database import TaskDatabase

STEADY_SECONDS = 30.0
_JUMP = timedelta(seconds=10)

_log = logging.getLogger("oneclaw.tasks")


class Planner:
    """Plans the tasks, tick by tick.

    A clock that was set is noticed. Nothing is planned before it has been steady for a while, since a clock that is
    wrong for a moment, such as one without a battery after a start, would make runs of times that never were.

    Args:
        database: the tasks'.
        clock: tells the time.
        elapsed: seconds by a clock that no one sets, and that goes on while the machine sleeps.
    """

    def __init__(
        self, database: TaskDatabase, clock: Callable[[], datetime], elapsed: Callable[[], float] | None = None
    ) -> None:
        self._database = database
        self._clock = clock
        self._elapsed = elapsed or seconds_since_boot
        self._seen: tuple[datetime, float] | None = None
        self._jump = timedelta()
        self._steady_at: float | None = None

    def is_steady(self) -> bool:
        """Look at the clocks; False if the one that can be set was set a moment ago."""
        elapsed = self._elapsed()
        self._note(self._clock(), elapsed)
        return self._steady_at is None or elapsed >= self._steady_at

    async def tick(self) -> bool:
        """Make the runs of what is due.

        Returns:
            False if the clock was set a moment ago, so that nothing was planned.
        """
        if not self.is_steady():
            return False
        now = self._clock()
        has_jumped = self._jump >= _JUMP
        if self._steady_at is not None:
            _log.warning("the clock is steady again, %s; tasks are planned", _described(self._jump))
            self._steady_at, self._jump = None, timedelta()

        def plan(connection: Connection) -> int:
            if stored_tasks.was_planned_later(connection, now):
                stored_tasks.replan(connection, now)
            return stored_tasks.plan_due(connection, now, has_jumped=has_jumped)

        while await self._database.run(plan):
            pass
        return True

    def _note(self, now: datetime, elapsed: float) -> None:
        if self._seen is not None:
            then, elapsed_then = self._seen
            jump = now - then - timedelta(seconds=elapsed - elapsed_then)
            if abs(jump) >= _JUMP:
                self._jump += jump
                self._steady_at = elapsed + STEADY_SECONDS
                _log.warning(
                    "the clock was set, %s; no task is planned before it has been steady for %g seconds",
                    _described(jump),
                    STEADY_SECONDS,
                )
        self._seen = now, elapsed


def seconds_since_boot() -> float:
    """Read a clock that no one sets; where the system has one, it counts the time that the machine sleeps."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


def _described(jump: timedelta) -> str:
    if abs(jump) < _JUMP:
        return "as if it had not been set"
    return f"{abs(jump)} {'forward' if jump > timedelta() else 'back'}"
