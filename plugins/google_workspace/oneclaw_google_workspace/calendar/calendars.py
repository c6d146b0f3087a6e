"""Calendars: listing them, making and changing them, and finding time that is free in them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, from_outside, google_tool, passage, quoted
from oneclaw_google_workspace.calendar.times import find_zone, first_moment, read_when, rfc3339, zone_for
from oneclaw_google_workspace.client import connect
from oneclaw_google_workspace.failures import invalid

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from zoneinfo import ZoneInfo

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient

_FIELDS = "id,summary,description,location,timeZone"
_ENTRY_FIELDS = "items(id,summary,summaryOverride,primary,accessRole)"
_MOST_CALENDARS = 5_000
# What each argument is called in a question, and by Google.
_NAMES = {"name": "summary", "description": "description", "time_zone": "timeZone"}
_SATURDAY = 5


@google_tool
async def calendar_list_calendars(
    min_access_role: str | None = None,
    show_hidden: bool = False,
    max_results: int = 100,
    page_token: str | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """List the user's calendars."""
    google = connect(context)
    page = await google.call(
        "calendar.calendarList.list",
        minAccessRole=min_access_role,
        showHidden=show_hidden or None,
        maxResults=max_results,
        pageToken=page_token,
        fields="items(id,summary,summaryOverride,description,primary,accessRole,timeZone,hidden),nextPageToken",
    )
    rows = [calendar_row(entry) for entry in page.get("items", [])]
    return from_outside({"calendars": rows, **compact({"next_page_token": page.get("nextPageToken")})}, "calendars")


def calendar_row(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Make the row of a calendar.

    Args:
        entry: of the calendar list, as Google answers it.
    """
    return compact(
        {
            "id": entry.get("id"),
            "name": entry.get("summaryOverride") or entry.get("summary"),
            "description": entry.get("description"),
            "primary": entry.get("primary") or None,
            "access": entry.get("accessRole"),
            "time_zone": entry.get("timeZone"),
            "hidden": entry.get("hidden") or None,
        }
    )


@google_tool
async def calendar_manage_calendar(
    action: str,
    calendar_id: str | None = None,
    name: str | None = None,
    description: str | None = None,
    time_zone: str | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Create, change or delete a calendar."""
    google = connect(context)
    given = {"name": name, "description": description, "time_zone": time_zone}
    body = {_NAMES[key]: value.strip() for key, value in given.items() if value is not None}
    if name is not None and not body["summary"]:
        raise invalid("A calendar cannot be without a name.")
    if time_zone is not None:
        find_zone(body["timeZone"])
    words = [f"{key} {passage(value)}" if value else f"no {key}" for key, value in given.items() if value is not None]
    if action == "create":
        if calendar_id or name is None:
            raise invalid("To create a calendar, give its name, and no calendar_id.")
        await google.ask(f"create a calendar: {', '.join(words)}")
        made = await google.call(
            "calendar.calendars.insert",
            body=body,
            fields=_FIELDS,
            unclear_hint="Look for it with calendar_list_calendars",
        )
        return {"status": "created", **_row(made)}
    if not calendar_id:
        raise invalid("Give calendar_id, from calendar_list_calendars.")
    entry = await _entry(google, calendar_id)
    if entry.get("accessRole") != "owner":
        raise invalid(f"Only its owner can change or delete the calendar {entry.get('summary', calendar_id)!r}.")
    shown = quoted(entry.get("summaryOverride") or entry.get("summary") or entry["id"])
    if action == "delete":
        if body:
            raise invalid("To delete a calendar, give nothing but calendar_id.")
        if entry.get("primary"):
            raise invalid("The primary calendar cannot be deleted.")
        await google.ask(f"delete the calendar {shown} permanently, WITH ALL ITS EVENTS, for everybody", "delete")
        await google.delete("calendar.calendars.delete", calendarId=entry["id"])
        return {"status": "deleted", "id": entry["id"], "name": entry.get("summary")}
    if not body:
        raise invalid("Give what to change about the calendar: name, description, time_zone.")
    await google.ask(f"change the calendar {shown}: {', '.join(words)}")
    after = await google.call("calendar.calendars.patch", calendarId=entry["id"], body=body, fields=_FIELDS)
    return {"status": "updated", **_row(after)}


async def _entry(google: GoogleClient, calendar_id: str) -> dict[str, Any]:
    """Find a calendar in the user's list."""
    entries, _ = await google.all_items(
        "calendar.calendarList.list",
        "items",
        fields=_ENTRY_FIELDS,
        limit=_MOST_CALENDARS,
        maxResults=250,
        showHidden=True,
    )
    for each in entries:
        if each["id"] == calendar_id or (calendar_id == "primary" and each.get("primary")):
            return each
    raise invalid(f"The user has no calendar {calendar_id[:100]!r}. calendar_list_calendars lists them.")


def _row(calendar: dict[str, Any]) -> dict[str, Any]:
    return compact(
        {
            "id": calendar.get("id"),
            "name": calendar.get("summary"),
            "description": calendar.get("description"),
            "time_zone": calendar.get("timeZone"),
        }
    )


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time, in UTC: Python compares moments of one zone by the clock on the wall, which may go back.

    Attributes:
        start: its first moment.
        end: the moment after its last.
    """

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", self.start.astimezone(UTC))
        object.__setattr__(self, "end", self.end.astimezone(UTC))

    @property
    def minutes(self) -> int:
        """The length in whole minutes."""
        return int((self.end - self.start).total_seconds() // 60)


@dataclass(frozen=True, slots=True)
class WorkingHours:
    """When somebody works.

    Attributes:
        start: minutes after midnight, by the clock on the wall.
        end: the same; 1440 is the end of the day.
        weekdays_only: whether Saturday and Sunday are left out.
        zone: where.
    """

    start: int
    end: int
    weekdays_only: bool
    zone: ZoneInfo

    @classmethod
    def read(cls, day_start: str, day_end: str, *, weekdays_only: bool, zone: ZoneInfo) -> WorkingHours:
        """Read two times of the day.

        Args:
            day_start: HH:MM.
            day_end: HH:MM, up to 24:00.
            weekdays_only: see above.
            zone: see above.

        Raises:
            GoogleError: they are none, or the wrong way round.
        """
        start, end = _minutes("day_start", day_start), _minutes("day_end", day_end)
        if end <= start:
            raise invalid("day_end must be later than day_start.")
        return cls(start, end, weekdays_only, zone)

    def within(self, span: Span) -> Iterator[Span]:
        """Go through the working hours of a stretch of time, day by day."""
        first, last = span.start.astimezone(self.zone).date(), span.end.astimezone(self.zone).date()
        for number in range((last - first).days + 1):
            day = first + timedelta(days=number)
            if self.weekdays_only and day.weekday() >= _SATURDAY:
                continue
            start, end = self._at(day, self.start), self._at(day, self.end)
            found = Span(max(start, span.start), min(end, span.end))
            if found.start < found.end:
                yield found

    def _at(self, day: date, minutes: int) -> datetime:
        wall = datetime.combine(day, time()) + timedelta(minutes=minutes)
        return wall.replace(tzinfo=self.zone).astimezone(UTC)


def free_slots(span: Span, busy: Iterable[Span], hours: WorkingHours, min_minutes: int) -> list[Span]:
    """Find when no one is busy.

    Args:
        span: where to look.
        busy: of everybody, in any order.
        hours: only within these.
        min_minutes: shorter ones are left out.
    """
    taken = sorted(busy, key=lambda each: (each.start, each.end))
    found: list[Span] = []
    for window in hours.within(span):
        start = window.start
        for each in taken:
            if each.end <= start or each.start >= window.end:
                continue
            found.append(Span(start, min(each.start, window.end)))
            start = max(start, each.end)
        found.append(Span(start, window.end))
    return [each for each in found if each.start < each.end and each.minutes >= min_minutes]


def _minutes(what: str, text: str) -> int:
    hour, colon, minute = text.strip().partition(":")
    if colon and hour.isdecimal() and minute.isdecimal() and len(minute) == 2 and len(hour) <= 2:
        total = int(hour) * 60 + int(minute)
        if int(minute) < 60 and total <= 24 * 60:
            return total
    raise invalid(f"{what} must be a time of the day such as 09:00, not {text[:20]!r}.")


# Google refuses longer ranges.
_STEP = timedelta(days=60)
_LONGEST = timedelta(days=366)


@google_tool
async def calendar_find_free_time(
    time_min: str,
    time_max: str,
    calendar_ids: Sequence[str] = ("primary",),
    time_zone: str | None = None,
    min_minutes: int = 30,
    day_start: str = "09:00",
    day_end: str = "17:00",
    weekdays_only: bool = True,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Find when calendars are busy, and when all are free."""
    google = connect(context)
    start, end = read_when("time_min", time_min), read_when("time_max", time_max)
    hours = WorkingHours.read(day_start, day_end, weekdays_only=weekdays_only, zone=find_zone(time_zone or "UTC"))
    zone = await zone_for(google, "primary", time_zone)
    hours = replace(hours, zone=zone)
    span = Span(first_moment("time_min", start, zone), first_moment("time_max", end, zone))
    if span.end <= span.start:
        raise invalid("time_max must be later than time_min; for a single day, give the day after it as time_max.")
    if span.end - span.start > _LONGEST:
        raise invalid("Give a range of at most a year.")
    wanted = list(dict.fromkeys(calendar_ids))
    busy: dict[str, list[Span]] = {calendar_id: [] for calendar_id in wanted}
    unreadable: dict[str, str] = {}
    for part in _parts(span):
        await _ask(google, part, zone.key, busy, unreadable)
    readable = [calendar_id for calendar_id in wanted if calendar_id not in unreadable]
    slots = free_slots(span, (each for name in readable for each in busy[name]), hours, min_minutes) if readable else []
    free = [{**_written(each, zone), "minutes": each.minutes} for each in slots]
    answer: dict[str, Any] = {
        "time_zone": zone.key,
        "busy": {calendar_id: [_written(each, zone) for each in busy[calendar_id]] for calendar_id in readable},
    }
    if not unreadable:
        return {**answer, "free": free}
    reasons = [compact({"calendar": calendar_id, "reason": reason}) for calendar_id, reason in unreadable.items()]
    # No one whose calendar cannot be read may be taken for free.
    return {**answer, "free_without_the_unreadable": free, "unreadable": reasons}


def _parts(span: Span) -> Iterator[Span]:
    start = span.start
    while start < span.end:
        end = min(start + _STEP, span.end)
        yield Span(start, end)
        start = end


async def _ask(
    google: GoogleClient, span: Span, zone: str, busy: dict[str, list[Span]], unreadable: dict[str, str]
) -> None:
    answer = await google.call(
        "calendar.freebusy.query",
        body={
            "timeMin": rfc3339(span.start),
            "timeMax": rfc3339(span.end),
            "timeZone": zone,
            "items": [{"id": calendar_id} for calendar_id in busy],
            "calendarExpansionMax": 50,
        },
        fields="calendars",
    )
    found = answer.get("calendars", {})
    for calendar_id, spans in busy.items():
        calendar = found.get(calendar_id)
        if calendar is None or calendar.get("errors"):
            errors = (calendar or {}).get("errors", [])
            unreadable[calendar_id] = str(errors[0].get("reason", "unknown")) if errors else "notAnswered"
            continue
        for each in calendar.get("busy", []):
            new = Span(datetime.fromisoformat(each["start"]), datetime.fromisoformat(each["end"]))
            if spans and spans[-1].end == new.start == span.start:
                spans[-1] = Span(spans[-1].start, new.end)  # Google was asked in two parts
            else:
                spans.append(new)


def _written(span: Span, zone: ZoneInfo) -> dict[str, str]:
    return {"start": rfc3339(span.start.astimezone(zone)), "end": rfc3339(span.end.astimezone(zone))}
