"""Stored moments: whole microseconds since 1970 in UTC, which every database sorts alike."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def now() -> int:
    """Return the current moment as it is stored."""
    return time.time_ns() // 1000


def to_datetime(microseconds: int) -> datetime:
    """Convert a stored moment to a datetime in UTC.

    Raises:
        OverflowError: it is none that a calendar knows.
        TypeError: it is not a number.
    """
    return _EPOCH + timedelta(microseconds=microseconds)


def to_stored(moment: datetime) -> int:
    """Convert a datetime with a time zone to a stored moment."""
    return (moment - _EPOCH) // timedelta(microseconds=1)
