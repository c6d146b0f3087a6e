"""Days, moments and zones, as people write them and as Google Calendar wants them; pure, without any I/O."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from oneclaw_google_workspace.problems import invalid

if TYPE_CHECKING:
    from collections.abc import Mapping

When = date | datetime
"""A day, or a moment; one without an offset is not placed in a zone yet."""

_DAY_LENGTH = len("2026-03-31")


def find_zone(name: str) -> ZoneInfo:
    """Find a time zone.

    Args:
        name: such as ``Europe/Berlin``.

    Raises:
        GoogleError: there is none of that name.
    """
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise invalid(f"time_zone must be an IANA name such as Europe/Berlin, not {name[:60]!r}.") from None


def read_when(what: str, text: str) -> When:
    """Read a day or a moment.

    Args:
        what: the argument, for messages.
        text: YYYY-MM-DD, or a date-time with or without an offset.

    Raises:
        GoogleError: it is neither.
    """
    given = text.strip()
    try:
        if len(given) == _DAY_LENGTH:
            found: When = date.fromisoformat(given)
        else:
            found = datetime.fromisoformat(given)
            if found.tzinfo is not None:
                found.astimezone(UTC)  # neither before the first year nor after the last
            # A day either side must exist, too.
        _ = found - timedelta(days=1), found + timedelta(days=1)
    except (ValueError, OverflowError):
        raise invalid(
            f"{what} must be a time such as 2026-03-31T14:00:00+02:00 or a day such as 2026-03-31, not {text[:40]!r}."
        ) from None
    return found


def is_day(when: When) -> bool:
    """Return True if it is a whole day rather than a moment."""
    return not isinstance(when, datetime)


def needs_zone(when: When | None) -> bool:
    """Return True if it says nothing without a zone."""
    return when is not None and (not isinstance(when, datetime) or when.tzinfo is None)


def placed(what: str, when: datetime, zone: ZoneInfo) -> datetime:
    """Place a moment without an offset in a zone; of two of the same name, the first is meant.

    Args:
        what: the argument, for messages.
        when: the moment; one with an offset stays as it is.
        zone: where.

    Raises:
        GoogleError: clocks there skip that time.
    """
    if when.tzinfo is not None:
        return when
    found = when.replace(tzinfo=zone)
    if found.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != when:
        raise invalid(f"{what}: clocks in {zone.key} skip {when:%H:%M} on {when:%Y-%m-%d}. Give another time.")
    return found


def first_moment(what: str, when: When, zone: ZoneInfo) -> datetime:
    """The moment at which something begins: that of a day is its first, whatever clocks do.

    Args:
        what: the argument, for messages.
        when: a day or a moment.
        zone: where, for what has no offset.

    Raises:
        GoogleError: clocks there skip that time.
    """
    if isinstance(when, datetime):
        return placed(what, when, zone)
    # Where clocks go forward at midnight, the first moment comes an hour later.
    return datetime.combine(when, time(), zone).astimezone(UTC).astimezone(zone)


def google_time(when: When, zone_name: str | None) -> dict[str, Any]:
    """Write the start or end of an event.

    Args:
        when: a day, or a moment that is placed.
        zone_name: the zone to keep along with a moment, for the occurrences of a series.
    """
    if not isinstance(when, datetime):
        return {"date": when.isoformat()}
    return {"dateTime": rfc3339(when), **({"timeZone": zone_name} if zone_name else {})}


def rfc3339(moment: datetime) -> str:
    """Write a moment with its offset."""
    return moment.isoformat(timespec="seconds")


def from_google(value: Mapping[str, Any] | None) -> When | None:
    """Read the start or end of an event, ``None`` if there is none."""
    if not value:
        return None
    if value.get("date"):
        return date.fromisoformat(value["date"])
    return datetime.fromisoformat(value["dateTime"]) if value.get("dateTime") else None


def span_text(start: When | None, end: When | None, zone_name: str | None = None) -> str:
    """Say when an event is, for a question; empty if no one knows.

    Args:
        start: when it begins.
        end: when it ends; of whole days, the day after.
        zone_name: of the moments.
    """
    if start is None:
        return ""
    if not isinstance(start, datetime):
        last = end - timedelta(days=1) if end is not None and is_day(end) else start
        return f"{start}" if last <= start else f"{start} to {last}"
    text = f"{start:%Y-%m-%d %H:%M}"
    if isinstance(end, datetime):
        end = end.astimezone(start.tzinfo)
        text += f" to {end:%H:%M}" if end.date() == start.date() else f" to {end:%Y-%m-%d %H:%M}"
    offset = f"{start:%z}"
    return f"{text} {zone_name or f'UTC{offset[:3]}:{offset[3:5]}'}"
