"""The stand-in's recurrence: the part of RFC 5545 that tests use, by the clock on the wall."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from zoneinfo import ZoneInfo

_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_LIMIT = 500


def starts(first: date | datetime, lines: list[str], zone: ZoneInfo) -> Iterator[date | datetime]:
    """The starts of a series, of moments in their zone."""
    rule = next(dict(part.split("=") for part in line[6:].split(";")) for line in lines if line.startswith("RRULE:"))
    left_out = {each for line in lines if line.startswith("EXDATE") for each in line.rpartition(":")[2].split(",")}
    wall = first.astimezone(zone).replace(tzinfo=None) if isinstance(first, datetime) else first
    count = int(rule.get("COUNT", _LIMIT))
    for number, each in enumerate(_walls(wall, rule)):
        if number >= min(count, _LIMIT):
            return
        found = each.replace(tzinfo=zone) if isinstance(each, datetime) else each
        if "UNTIL" in rule and stamp(found) > rule["UNTIL"]:
            return
        if stamp(found) not in left_out:
            yield found


def stamp(start: date | datetime) -> str:
    """What the id of an occurrence ends in."""
    if isinstance(start, datetime):
        return f"{start.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    return f"{start:%Y%m%d}"


def _walls(first: date | datetime, rule: dict[str, str]) -> Iterator[date | datetime]:
    step = int(rule.get("INTERVAL", 1))
    if rule["FREQ"] == "DAILY":
        for number in range(_LIMIT):
            yield first + timedelta(days=number * step)
    elif rule["FREQ"] == "WEEKLY":
        days = sorted(_DAYS.index(day) for day in rule["BYDAY"].split(",")) if "BYDAY" in rule else [first.weekday()]
        monday = first - timedelta(days=first.weekday())
        for number in range(_LIMIT):
            for day in days:
                found = monday + timedelta(days=day, weeks=number * step)
                if found >= first:
                    yield found
    else:
        for number in range(_LIMIT):
            month = first.month - 1 + number * step
            yield first.replace(year=first.year + month // 12, month=month % 12 + 1)
