"""Days, moments and zones, as people write them and as Google Calendar wants them, and the times of events and series.

Parting a series at one of its occurrences: what comes before stays, "this and following" is another series. Google's
API knows no such change: the series ends before the occurrence, and a new one begins with it.

Source: https://developers.google.com/workspace/calendar/api/guides/recurringevents
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from oneclaw_google_workspace.failures import invalid
from oneclaw_google_workspace.methods import api_request

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_google_workspace.client import GoogleClient

_SERIES_FIELDS = (
    "id,etag,status,summary,description,location,start(date,dateTime,timeZone),end(date,dateTime,timeZone),recurrence,"
    "attendees,attendeesOmitted,organizer(self,email),reminders,colorId,transparency,visibility,guestsCanModify,"
    "guestsCanInviteOthers,guestsCanSeeOtherGuests,anyoneCanAddSelf,attachments(fileUrl,title),conferenceData,eventType,"
    "focusTimeProperties,outOfOfficeProperties,source,extendedProperties"
)
_NOT_COPIED = ("id", "etag", "status", "attendeesOmitted", "organizer")
_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_MOST_COUNTED = 20_000


async def zone_for(google: GoogleClient, calendar_id: str, time_zone: str | None) -> ZoneInfo:
    """Find the zone that is named, or that of a calendar.

    Args:
        google: the client.
        calendar_id: the calendar.
        time_zone: an IANA name.

    Raises:
        GoogleError: there is no such zone or calendar.
    """
    if time_zone:
        return find_zone(time_zone)
    found = await google.call("calendar.events.list", calendarId=calendar_id, maxResults=1, fields="timeZone")
    return find_zone(str(found.get("timeZone") or "UTC"))


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


@dataclass(frozen=True, slots=True)
class PartedSeries:
    """A series that is parted at one of its occurrences.

    Attributes:
        series: as Google answers it.
        at: when the occurrence is by the series' rules, wherever it was moved.
        zone: of the series.
        before: its recurrence up to the occurrence.
        after: that of the occurrence and what follows.
    """

    series: Mapping[str, Any]
    at: When
    zone: ZoneInfo
    before: list[str]
    after: list[str]

    @property
    def is_whole(self) -> bool:
        """True if nothing comes before the occurrence."""
        return self.at == from_google(self.series.get("start"))

    def rest(self) -> dict[str, Any]:
        """Write the event of a series that goes on with the occurrence as the present one would."""
        start, end = from_google(self.series.get("start")), from_google(self.series.get("end"))
        if start is None or end is None:
            raise invalid("The series has no times.")
        if isinstance(self.at, datetime) and isinstance(start, datetime) and isinstance(end, datetime):
            first = self.at.astimezone(self.zone)
            last = (first.astimezone(UTC) + (end.astimezone(UTC) - start.astimezone(UTC))).astimezone(self.zone)
            times = [{"dateTime": each.isoformat(), "timeZone": self.zone.key} for each in (first, last)]
        else:
            times = [{"date": each.isoformat()} for each in (self.at, self.at + (end - start))]
        return {**self.series, "start": times[0], "end": times[1], "recurrence": self.after}

    async def end_before(self, google: GoogleClient, calendar_id: str, send_updates: str) -> None:
        """End the series before the occurrence; the user has agreed.

        Args:
            google: the client.
            calendar_id: where the series is.
            send_updates: who is mailed about it.

        Raises:
            GoogleError: it did not work out, or somebody has changed the series meanwhile.
        """
        request = api_request(
            "calendar.events.patch",
            calendarId=calendar_id,
            eventId=self.series["id"],
            body={"recurrence": self.before},
            sendUpdates=send_updates,
            fields="id",
        )
        await google.send(request, headers={"If-Match": str(self.series["etag"])} if self.series.get("etag") else {})


async def part_series(google: GoogleClient, calendar_id: str, occurrence: Mapping[str, Any]) -> PartedSeries:
    """Read the series of an occurrence, and part it there.

    Args:
        google: the client.
        calendar_id: where it is.
        occurrence: with ``recurringEventId`` and ``originalStartTime``.

    Raises:
        GoogleError: it is no occurrence, or not one of a separate series.
    """
    at = from_google(occurrence.get("originalStartTime"))
    if not occurrence.get("recurringEventId") or at is None:
        raise invalid("this_and_following goes with the id of one occurrence, from calendar_list_events.")
    series = await google.call(
        "calendar.events.get", calendarId=calendar_id, eventId=occurrence["recurringEventId"], fields=_SERIES_FIELDS
    )
    if not series.get("organizer", {}).get("self"):
        raise invalid("Only the organizer can change the following occurrences of a series.")
    if series.get("attendeesOmitted"):
        raise invalid("This event has so many guests that Google does not name them all: change it in the calendar.")
    name = series.get("start", {}).get("timeZone")
    zone = find_zone(name) if name else await zone_for(google, calendar_id, None)
    start = from_google(series.get("start"))
    before, after = parted(series.get("recurrence", []), start if start is not None else at, at, zone)
    return PartedSeries(series, at, zone, before, after)


def new_event(rest: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    """Write the event of the new series.

    Args:
        rest: see :meth:`PartedSeries.rest`.
        changed: as for a patch; ``None`` clears a field.
    """
    body = {key: value for key, value in rest.items() if key not in _NOT_COPIED}
    meeting = {key: value for key, value in body.pop("conferenceData", {}).items() if key != "createRequest"}
    if meeting:
        body["conferenceData"] = meeting
    body |= changed
    for name in ("start", "end"):
        body[name] = {key: value for key, value in body[name].items() if value is not None}
    if body.get("eventType") == "default":
        del body["eventType"]
    return {key: value for key, value in body.items() if value is not None}


def parted(lines: Sequence[str], first: When, at: When, zone: ZoneInfo) -> tuple[list[str], list[str]]:
    """Part the recurrence of a series.

    Args:
        lines: by RFC 5545, without DTSTART.
        first: the start of the series.
        at: the start of the occurrence with which the second part begins.
        zone: of the series.

    Returns:
        The lines of the first part and of the second.
    """
    before: list[str] = []
    after: list[str] = []
    for line in lines:
        name, _, value = line.partition(":")
        kind = name.partition(";")[0].upper()
        if kind in ("RDATE", "EXDATE"):
            values = [(each, _is_before(each, name, at, zone)) for each in value.split(",")]
            for target, wanted in ((before, True), (after, False)):
                kept = [each for each, is_before in values if is_before is wanted]
                target += [f"{name}:{','.join(kept)}"] if kept else []
            continue
        rule = _rule(value)
        if "UNTIL" in rule and _is_before(rule["UNTIL"], name, at, zone):
            before.append(line)
            continue
        ending = {key: each for key, each in rule.items() if key not in ("COUNT", "UNTIL")}
        before.append(f"{name}:{_written({**ending, 'UNTIL': _just_before(at)})}")
        if "COUNT" in rule:
            left = int(rule["COUNT"]) - _count_before(ending, first, at, zone)
            if left > 0:
                after.append(f"{name}:{_written({**ending, 'COUNT': str(left)})}")
        else:
            after.append(line)
    return before, after


def shifted(lines: Sequence[str], old: When, new: When, zone: ZoneInfo) -> list[str]:
    """Move the recurrence of a series whose first occurrence is moved.

    Args:
        lines: by RFC 5545.
        old: the start until now.
        new: the start that it gets.
        zone: of the series.

    Raises:
        GoogleError: the rule names days, so that it cannot be told what it is to be.
    """
    if is_day(old) is not is_day(new):
        raise invalid("Give recurrence, too: whole days and times do not recur by the same lines.")
    old_wall, new_wall = _wall(old, zone), _wall(new, zone)
    by = new_wall - old_wall
    moved: list[str] = []
    for line in lines:
        name, _, value = line.partition(":")
        if name.partition(";")[0].upper() in ("RDATE", "EXDATE"):
            moved.append(f"{name}:{','.join(_moved(each, by) for each in value.split(','))}")
            continue
        rule = _rule(value)
        if new_wall.date() != old_wall.date() and any(key.startswith("BY") for key in rule):
            day = _DAYS[old_wall.weekday()]
            if rule.get("FREQ") != "WEEKLY" or rule.get("BYDAY") != day or len([k for k in rule if k[:2] == "BY"]) > 1:
                raise invalid(f"Give recurrence, too: the present one names days ({line[:100]}).")
            rule["BYDAY"] = _DAYS[new_wall.weekday()]
        if "UNTIL" in rule:
            rule["UNTIL"] = _moved(rule["UNTIL"], by)
        moved.append(f"{name}:{_written(rule)}")
    return moved


def _rule(value: str) -> dict[str, str]:
    parts = (part.partition("=") for part in value.strip().split(";") if part)
    return {key.upper(): each.upper() for key, _, each in parts}


def _written(rule: Mapping[str, str]) -> str:
    return ";".join(f"{key}={value}" for key, value in rule.items())


def _wall(when: When, zone: ZoneInfo) -> datetime:
    """Return the wall-clock time."""
    if isinstance(when, datetime):
        return when.astimezone(zone).replace(tzinfo=None)
    return datetime(when.year, when.month, when.day)


def _just_before(at: When) -> str:
    if isinstance(at, datetime):
        return f"{at.astimezone(UTC) - timedelta(seconds=1):%Y%m%dT%H%M%SZ}"
    return f"{at - timedelta(days=1):%Y%m%d}"


def _is_before(value: str, name: str, at: When, zone: ZoneInfo) -> bool:
    """Return True if a date or a moment of a line lies before an occurrence."""
    text = value.strip().partition("/")[0]
    found = _read_stamp(text)
    if "T" not in text.upper() or not isinstance(at, datetime):
        return found.date() < _wall(at, zone).date()
    if text.upper().endswith("Z"):
        return found.replace(tzinfo=UTC) < at.astimezone(UTC)
    named = next((part[5:] for part in name.split(";") if part.upper().startswith("TZID=")), "")
    place = find_zone(named.strip('"')) if named else zone
    return found.replace(tzinfo=place) < at.astimezone(UTC)


def _read_stamp(text: str) -> datetime:
    form = "%Y%m%dT%H%M%S" if "T" in text.upper() else "%Y%m%d"
    try:
        return datetime.strptime(text.upper().removesuffix("Z"), form)  # its zone is read beside it
    except ValueError:
        raise invalid(
            f"The recurrence of the series cannot be read: {text[:40]!r}. Change it in the calendar."
        ) from None


def _moved(value: str, by: timedelta) -> str:
    text = value.strip()
    found = _read_stamp(text) + by
    if "T" not in text.upper():
        return f"{found:%Y%m%d}"
    return f"{found:%Y%m%dT%H%M%S}{'Z' if text.upper().endswith('Z') else ''}"


def _count_before(rule: Mapping[str, str], first: When, at: When, zone: ZoneInfo) -> int:
    """Count the occurrences of a rule that come before another one, those left out included, as COUNT does."""
    from dateutil.rrule import rrulestr

    try:
        starts = iter(rrulestr(_written(rule), dtstart=_wall(first, zone)))
    except ValueError:
        raise invalid(f"The recurrence of the series cannot be read: {_written(rule)[:100]}.") from None
    end, number = _wall(at, zone), 0
    for start in starts:
        if start >= end or number == _MOST_COUNTED:
            break
        number += 1
    return number
