"""The tools of the group ``google_calendar`` that read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from oneclaw_core import untrusted
from oneclaw_google_workspace.answers import compact, from_outside, google_tool
from oneclaw_google_workspace.calendar.description import description_text
from oneclaw_google_workspace.calendar.rows import DETAIL_FIELDS, EVENT_FIELDS, calendar_row, event_details, event_row
from oneclaw_google_workspace.calendar.times import find_zone, first_moment, needs_zone, read_when, rfc3339
from oneclaw_google_workspace.calendar.zones import zone_for
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.problems import invalid
from oneclaw_google_workspace.wording import listing

if TYPE_CHECKING:
    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient

_DEFAULT_RANGE = timedelta(days=7)
_SEPARATOR = "~"
_MAX_GUESTS = 200


@google_tool
async def calendar_list_events(
    calendar_id: str = "primary",
    time_min: str | None = None,
    time_max: str | None = None,
    query: str | None = None,
    event_types: list[str] | None = None,
    time_zone: str | None = None,
    show_deleted: bool = False,
    max_results: int = 25,
    page_token: str | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """List the events of a calendar, each occurrence by itself."""
    google = connect(context)
    if time_zone:
        find_zone(time_zone)
    if page_token:
        place = _Place.read(page_token)
    else:
        place = await _range(google, calendar_id, time_min, time_max, time_zone, is_open=bool(query))
    page = await google.call(
        "calendar.events.list",
        calendarId=calendar_id,
        singleEvents=True,
        orderBy="startTime",
        timeMin=place.time_min,
        timeMax=place.time_max or None,
        q=query or None,
        eventTypes=event_types or None,
        timeZone=time_zone,
        showDeleted=show_deleted or None,
        maxResults=max_results,
        pageToken=place.token or None,
        fields=f"items({EVENT_FIELDS}),timeZone,summary,accessRole,nextPageToken",
    )
    following = page.get("nextPageToken")
    rest = {
        "next_page_token": _Place(place.time_min, place.time_max, following).written() if following else None,
        "note": "Only when this calendar is busy may be seen: its events have no titles."
        if page.get("accessRole") == "freeBusyReader"
        else None,
    }
    answer = {
        "calendar": page.get("summary", calendar_id),
        "time_zone": page.get("timeZone"),
        "events": [event_row(event) for event in page.get("items", [])],
    }
    return from_outside({**answer, **compact(rest)}, "events")


@google_tool
async def calendar_get_event(
    event_id: str,
    calendar_id: str = "primary",
    time_zone: str | None = None,
    instances: int = 0,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Say all about an event."""
    google = connect(context)
    if time_zone:
        find_zone(time_zone)
    event = await google.call(
        "calendar.events.get",
        calendarId=calendar_id,
        eventId=event_id,
        timeZone=time_zone,
        maxAttendees=_MAX_GUESTS,
        fields=DETAIL_FIELDS,
    )
    answer = event_details(event)
    if event.get("description"):
        text = description_text(event["description"])
        answer["description"] = untrusted(text, f"the description of the event {listing([event.get('summary', '')])}")
    if instances:
        series = event["id"] if event.get("recurrence") else event.get("recurringEventId")
        if not series:
            raise invalid("The event is no series. Leave instances out.")
        page = await google.call(
            "calendar.events.instances",
            calendarId=calendar_id,
            eventId=series,
            timeMin=rfc3339(datetime.now(UTC)),
            maxResults=instances,
            timeZone=time_zone,
            fields="items(id,start(dateTime,date),status)",
        )
        answer["occurrences"] = [
            compact({"id": each.get("id"), "start": each["start"].get("dateTime") or each["start"].get("date")})
            for each in page.get("items", [])
            if each.get("start")
        ]
    return from_outside(answer, "events")


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


@dataclass(frozen=True, slots=True)
class _Place:
    """The position in a list; Google's page tokens hold only for the same range, which may begin now.

    Attributes:
        time_min: RFC 3339.
        time_max: the same; empty for an open end.
        token: Google's, empty at the beginning.
    """

    time_min: str
    time_max: str
    token: str = ""

    def written(self) -> str:
        """The page token that a model is given."""
        return _SEPARATOR.join((self.time_min, self.time_max, self.token))

    @classmethod
    def read(cls, page_token: str) -> _Place:
        """Read it back.

        Raises:
            GoogleError: it is no such token.
        """
        parts = page_token.split(_SEPARATOR, 2)
        if len(parts) != 3:
            raise invalid("page_token must be the next_page_token of the last answer.")
        for each in parts[:2]:
            if each and needs_zone(read_when("page_token", each)):
                raise invalid("page_token must be the next_page_token of the last answer.")
        return cls(*parts)


async def _range(
    google: GoogleClient,
    calendar_id: str,
    time_min: str | None,
    time_max: str | None,
    time_zone: str | None,
    *,
    is_open: bool,
) -> _Place:
    """Find the range to list; a search without an end goes on for ever."""
    start = read_when("time_min", time_min) if time_min else datetime.now(UTC)
    end = read_when("time_max", time_max) if time_max else None if is_open else start + _DEFAULT_RANGE
    zone = find_zone("UTC")
    if needs_zone(start) or needs_zone(end):
        zone = await zone_for(google, calendar_id, time_zone)
    first = first_moment("time_min", start, zone)
    last = first_moment("time_max", end, zone) if end is not None else None
    if last is not None and last <= first:
        raise invalid("time_max must be later than time_min; for a single day, give the day after it as time_max.")
    return _Place(rfc3339(first), rfc3339(last) if last else "")
