"""Dates as PDF files write them (ISO 32000-1, 7.9.4)."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

_DATE = re.compile(
    r"(?:D:)?(?P<year>\d{4})(?:(?P<month>\d\d)(?:(?P<day>\d\d)(?:(?P<hour>\d\d)(?:(?P<minute>\d\d)(?P<second>\d\d)?)?)?)?)?"
    r"(?:(?P<utc>Z)(?:00'?(?:00'?)?)?|(?P<sign>[+-])(?P<offset_hours>\d\d)'?(?:(?P<offset_minutes>\d\d)'?)?)?",
    re.ASCII,
)


def iso_date(text: str) -> str:
    """Write a PDF date such as ``D:20261121150500+01'00'`` as ISO 8601, as precise as it is.

    Returns:
        The text as it is if it is no such date.
    """
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return text
    year, month, day, hour, minute, second = (
        int(match[name] or default)
        for name, default in (("year", 1), ("month", 1), ("day", 1), ("hour", 0), ("minute", 0), ("second", 0))
    )
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=_zone(match))
    except ValueError:
        return text
    if match["day"] is None:
        return f"{year:04d}-{month:02d}" if match["month"] else f"{year:04d}"
    return moment.date().isoformat() if match["hour"] is None else moment.isoformat(timespec="seconds")


def _zone(match: re.Match[str]) -> timezone | None:
    if match["utc"]:
        return timezone.utc  # noqa: UP017  # the type of the other branch
    if match["sign"] is None:
        return None
    offset = timedelta(hours=int(match["offset_hours"]), minutes=int(match["offset_minutes"] or 0))
    return timezone(offset if match["sign"] == "+" else -offset)
