"""The workers that have died; the caller passes the time of a monotonic clock.

A worker that lives counts up. Each observer notes by its own clock when it last saw a worker's count change, so no
clocks of different machines are compared, and setting a clock kills no one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

BEAT_SECONDS = 3.0
DEAD_SECONDS = 15.0


class Watch:
    """One observer."""

    def __init__(self, dead_seconds: float = DEAD_SECONDS) -> None:
        self._dead_seconds = dead_seconds
        self._seen: dict[str, tuple[int, float]] = {}

    def dead(self, beats: Mapping[str, int], now: float) -> frozenset[str]:
        """Look at the counts.

        ``now`` is in seconds, by a monotonic clock.
        """
        self._seen = {
            worker: seen if (seen := self._seen.get(worker)) is not None and seen[0] == count else (count, now)
            for worker, count in beats.items()
        }
        return frozenset(worker for worker, (_, since) in self._seen.items() if now - since > self._dead_seconds)
