"""The time of one call, which stands still while the user is asked."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class CallClock:
    """Counts the time of a tool; questions may be asked in any thread.

    Args:
        timeout_seconds: how long the tool may run.
        outer: the clock of the call that the tool is run within, which stands still too; ``None`` for none.

    Attributes:
        changed: called when the clock is stopped or goes on.
    """

    def __init__(self, timeout_seconds: float, outer: CallClock | None = None) -> None:
        self.timeout_seconds = timeout_seconds
        self._outer = outer
        self.changed: Callable[[], None] = lambda: None
        self._deadline = time.monotonic() + timeout_seconds
        self._stopped_at = 0.0
        self._asked_seconds = 0.0
        self._questions = 0
        self._counting = threading.Lock()

    def remaining_seconds(self) -> float | None:
        """Return the seconds until the timeout of the tool; ``None`` while the user is asked."""
        return None if self._questions else self._deadline - time.monotonic()

    def asked_seconds(self) -> float:
        """Return the seconds that questions to the user took so far."""
        return self._asked_seconds + (time.monotonic() - self._stopped_at if self._questions else 0.0)

    def extend(self, seconds: float) -> None:
        """Give the tool back time in which it could not run."""
        self._deadline += seconds

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let the time stand still, because the user is being asked."""
        with self._counting:
            if not self._questions:
                self._stopped_at = time.monotonic()
            self._questions += 1
        self.changed()
        try:
            with self._outer.paused() if self._outer is not None else nullcontext():
                yield
        finally:
            with self._counting:
                self._questions -= 1
                if not self._questions:
                    seconds = time.monotonic() - self._stopped_at
                    self._deadline += seconds
                    self._asked_seconds += seconds
            self.changed()
