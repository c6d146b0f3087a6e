"""Retry what is done with the store while the database is not available."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from oneclaw_core.errors import StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from typing import Any

    from oneclaw_core.provenance.marks import ProvenanceRecords
    from oneclaw_core.turn.stream import Deadline

STORE_RETRY_SECONDS = 30.0
_FIRST_PAUSE_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 5.0

_Arguments = ParamSpec("_Arguments")
_Value = TypeVar("_Value")

_log = logging.getLogger("oneclaw.turn")


async def retried(
    operation: Callable[[], Awaitable[_Value]],
    error: StoreUnavailableError,
    deadline: Deadline | None = None,
    tell: Callable[[StoreUnavailableError, float], Awaitable[None]] | None = None,
) -> _Value:
    """Repeat a failed operation of the store until it succeeds.

    Args:
        operation: can be repeated, also if the first attempt succeeded after all.
        error: of the first attempt.
        deadline: of the turn, if there is one.
        tell: called before each pause, with the error and the pause in seconds.

    Raises:
        StoreError: it failed for ``STORE_RETRY_SECONDS``, or until the deadline.
    """
    left = STORE_RETRY_SECONDS if deadline is None else min(STORE_RETRY_SECONDS, deadline.remaining_seconds())
    end = time.monotonic() + left
    pause_seconds = _FIRST_PAUSE_SECONDS
    while time.monotonic() + pause_seconds < end:
        _log.warning("the store is tried again in %.2f s: %s", pause_seconds, error)
        if tell is not None:
            await tell(error, pause_seconds)
        await asyncio.sleep(pause_seconds)
        pause_seconds = min(pause_seconds * 2, _LONGEST_PAUSE_SECONDS)
        try:
            return await operation()
        except StoreUnavailableError as latest:
            error = latest
    raise error


def while_away(
    operation: Callable[_Arguments, Awaitable[_Value]],
) -> Callable[_Arguments, Coroutine[Any, Any, _Value]]:
    """Return an operation of the store that is repeated while the database is not available."""

    async def repeated(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Value:
        try:
            return await operation(*args, **kwargs)
        except StoreUnavailableError as error:
            return await retried(lambda: operation(*args, **kwargs), error)

    return repeated


class PatientRecords:
    """Records of where text comes from; a call that ran does not fail because the database is away for a moment.

    Args:
        records: the store's.
    """

    def __init__(self, records: ProvenanceRecords) -> None:
        self.link_sources = while_away(records.link_sources)
        self.file_marks = while_away(records.file_marks)
        self.record_written = while_away(records.record_written)
