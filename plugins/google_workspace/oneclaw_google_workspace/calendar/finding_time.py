"""The tool ``calendar_find_free_time``."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, google_tool
from oneclaw_google_workspace.calendar.free_time import Span, WorkingHours, free_slots
from oneclaw_google_workspace.calendar.times import find_zone, first_moment, read_when, rfc3339
from oneclaw_google_workspace.calendar.zones import zone_for
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.problems import invalid

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from zoneinfo import ZoneInfo

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient

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
