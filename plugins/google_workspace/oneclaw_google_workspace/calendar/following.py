"""Parting a series at one of its occurrences: what comes before stays, "this and following" is another series.

Google's API knows no such change: the series ends before the occurrence, and a new one begins with it.

Source: https://developers.google.com/workspace/calendar/api/guides/recurringevents
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.api_request import api_request
from oneclaw_google_workspace.calendar.times import When, find_zone, from_google, is_day, zone_for
from oneclaw_google_workspace.problems import invalid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from zoneinfo import ZoneInfo

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
