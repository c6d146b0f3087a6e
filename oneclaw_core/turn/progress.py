"""Detection of a turn that repeats its calls without progress."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from oneclaw_core.types.arguments import ArgumentsError, parse_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from oneclaw_core.types.messages import Message, ToolCall

# With the requests that made the calls first these are at most 20, also where two calls alternate.
MOST_REPEATS = 18
POLL_SECONDS = 5
# An answer that the token limit cuts is long.
COSTLY_REPEATS = MOST_REPEATS // 2
# The error type of a call that the token limit cut.
CUT_OFF = "cut_off"


class ProgressGuard:
    """Notices that a turn only repeats its calls.

    A request makes progress if one of its calls is new in the turn. A repeated call is progress too if its outcome has
    changed, and either its tool is a poll or :data:`POLL_SECONDS` have passed since the call was last made. A repeated
    call that the token limit cut again counts for many.

    Args:
        clock: gives the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._made: dict[tuple[str, str], tuple[int, float]] = {}  # outcome as a hash, and time in seconds
        self._repeats = 0
        self._begun = 0.0

    @property
    def is_stuck(self) -> bool:
        """True if too many requests in a row made no progress."""
        return self._repeats >= MOST_REPEATS

    def begin(self) -> None:
        """Note the time at which the calls of a request begin."""
        self._begun = self._clock()

    def note(self, calls: Sequence[ToolCall], results: Mapping[str, Message], polls: Container[str]) -> None:
        """Note the outcomes of the calls of one request."""
        is_progress = False
        for call in calls:
            key = (call.name, _canonical(call.arguments))
            outcome, before = _outcome(results[call.id]), self._made.get(key)
            self._made[key] = outcome, self._begun
            if before is None:
                is_progress = True
            elif outcome != before[0] and results[call.id].error_type != CUT_OFF:
                is_progress |= call.name in polls or self._begun - before[1] >= POLL_SECONDS
        is_costly = any(results[call.id].error_type == CUT_OFF for call in calls)
        self._repeats = 0 if is_progress else self._repeats + (COSTLY_REPEATS if is_costly else 1)


def _outcome(result: Message) -> int:
    files = tuple(each.data for each in result.attachments)
    return hash((result.tool_status, result.error_type, result.content, files))


def _canonical(arguments: str) -> str:
    """Write arguments in one way, whatever spaces and order they came with."""
    try:
        return json.dumps(parse_arguments(arguments), sort_keys=True)
    except ArgumentsError:
        return arguments
