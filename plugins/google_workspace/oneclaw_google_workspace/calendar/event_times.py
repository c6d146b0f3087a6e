"""From the arguments ``start`` and ``end`` to the times of an event."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.calendar.times import (
    When,
    find_zone,
    google_time,
    is_day,
    needs_zone,
    placed,
    read_when,
    span_text,
)
from oneclaw_google_workspace.calendar.zones import zone_for
from oneclaw_google_workspace.problems import invalid

if TYPE_CHECKING:
    from oneclaw_google_workspace.client import GoogleClient

_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class EventTimes:
    """When an event is.

    Attributes:
        start: a day or a placed moment.
        end: of the same kind; of days, the one after the last.
        zone_name: to keep along with moments, ``None`` for none.
    """

    start: When
    end: When
    zone_name: str | None

    def body(self, *, was_all_day: bool | None = None) -> dict[str, Any]:
        """Return the request body for Google.

        Args:
            was_all_day: of an event that there is already: what is of the other kind must be cleared.
        """
        found = {"start": google_time(self.start, self.zone_name), "end": google_time(self.end, self.zone_name)}
        if was_all_day is not None and was_all_day is not is_day(self.start):
            gone: dict[str, Any] = {"date": None} if was_all_day else {"dateTime": None, "timeZone": None}
            found = {key: {**value, **gone} for key, value in found.items()}
        return found

    def __str__(self) -> str:
        return span_text(self.start, self.end, self.zone_name)


async def read_times(
    google: GoogleClient,
    calendar_id: str,
    start_text: str,
    end_text: str | None,
    zone_name: str | None,
    *,
    length: timedelta | None = None,
    is_series: bool,
) -> EventTimes:
    """Read when an event is to be.

    Args:
        google: the client, for the zone of the calendar.
        calendar_id: the calendar.
        start_text: a day or a date-time.
        end_text: the same, of days the last; ``None`` for a length.
        zone_name: for times without an offset, and to be kept; ``None`` for that of the calendar.
        length: without an end; ``None`` for an hour or a day.
        is_series: whether it happens again, so that a zone must be kept.

    Raises:
        GoogleError: that cannot be.
    """
    start, end = read_when("start", start_text), read_when("end", end_text) if end_text else None
    if end is not None and is_day(start) is not is_day(end):
        raise invalid("start and end must both be days, or both be times.")
    if not isinstance(start, datetime):
        return _days(start, end, length, zone_name)
    zone = find_zone(zone_name) if zone_name else None
    if zone is None and (is_series or needs_zone(start)):
        zone = await zone_for(google, calendar_id, None)
    first = placed("start", start, zone) if zone else start
    if not isinstance(end, datetime):
        # By the clock of the universe: an hour is an hour, whatever clocks on walls do.
        last = (first.astimezone(UTC) + (length or _HOUR)).astimezone(first.tzinfo)
    elif end.tzinfo is None:
        last = placed("end", end, zone) if zone else end.replace(tzinfo=first.tzinfo)
    else:
        last = end
    if last.astimezone(UTC) <= first.astimezone(UTC):
        raise invalid("end must be later than start.")
    return EventTimes(first, last, zone.key if zone else None)


def _days(start: date, end: date | None, length: timedelta | None, zone_name: str | None) -> EventTimes:
    if zone_name:
        find_zone(zone_name)
    if end is not None and end < start:
        raise invalid("end, the last day, must not be before start.")
    try:
        return EventTimes(start, end + _DAY if end is not None else start + (length or _DAY), None)
    except OverflowError:
        raise invalid("end is too late.") from None
