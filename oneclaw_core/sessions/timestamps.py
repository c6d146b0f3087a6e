"""How points in time are stored: whole microseconds since 1970 in UTC, so that every database sorts them alike."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def now() -> int:
    """This moment as it is stored."""
    return time.time_ns() // 1000


def to_datetime(microseconds: int) -> datetime:
    """Make a point in time, in UTC, of what is stored.

    Raises:
        OverflowError: it is none that a calendar knows.
        TypeError: it is no number.
    """
    return _EPOCH + timedelta(microseconds=microseconds)


def to_stored(moment: datetime) -> int:
    """Make what is stored of a point in time, which knows its time zone."""
    return (moment - _EPOCH) // timedelta(microseconds=1)
