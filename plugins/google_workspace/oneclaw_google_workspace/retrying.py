"""The pause before a request is sent again."""

from __future__ import annotations

import asyncio
import random

MAX_TRIES = 5
# All waiting of one tool call together; the shortest timeout of a tool is 30 s.
MAX_WAIT_SECONDS = 20.0
FIRST_PAUSE_SECONDS = 1.0
MAX_PAUSE_SECONDS = 8.0


class Patience:
    """The rest of the time that one tool call may wait for Google to recover."""

    def __init__(self) -> None:
        self._left_seconds = MAX_WAIT_SECONDS

    async def wait(self, tries: int, retry_after_seconds: float | None) -> bool:
        """Wait before another try.

        Args:
            tries: how often it was tried so far, from 1.
            retry_after_seconds: how long Google asks to wait, if it does; that goes before our own pauses.

        Returns:
            Whether to try again; if not, nothing was waited for.
        """
        if tries >= MAX_TRIES:
            return False
        if retry_after_seconds is not None:
            pause = retry_after_seconds
        else:
            # Full jitter: those who failed at the same moment do not come back at the same moment.
            longest = min(FIRST_PAUSE_SECONDS * 2 ** (tries - 1), MAX_PAUSE_SECONDS)
            pause = random.uniform(0, longest)  # noqa: S311  # no secret
        if pause > self._left_seconds:
            return False
        self._left_seconds -= pause
        await asyncio.sleep(pause)
        return True
