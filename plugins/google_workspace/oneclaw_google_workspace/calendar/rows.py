"""Events and calendars as a model reads them; pure, without any I/O."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# What a row is made of.
EVENT_FIELDS = (
    "id,status,summary,location,start(date,dateTime,timeZone),end(date,dateTime),attendees(email,responseStatus,self),"
    "organizer/email,htmlLink,hangoutLink,recurringEventId,eventType,transparency,visibility"
)
DETAIL_FIELDS = (
    "id,status,summary,description,location,start(date,dateTime,timeZone),end(date,dateTime),"
    "attendees(email,responseStatus,self,optional,displayName,comment),attendeesOmitted,organizer/email,creator/email,"
    "htmlLink,hangoutLink,recurringEventId,recurrence,eventType,transparency,visibility,created,updated,"
    "attachments(fileUrl,title),conferenceData/entryPoints(uri,entryPointType),reminders,guestsCanModify"
)
_MAX_ATTENDEES = 20


def event_row(event: Mapping[str, Any]) -> dict[str, Any]:
    """Make the row of an event in a list.

    Args:
        event: as Google answers it.
    """
    guests = event.get("attendees", [])
    row = {
        "id": event.get("id"),
        "title": event.get("summary"),
        **times(event),
        "location": event.get("location"),
        "attendees": [
            compact({"email": each.get("email"), "response": each.get("responseStatus")})
            for each in guests[:_MAX_ATTENDEES]
        ],
        "attendee_count": len(guests) if len(guests) > _MAX_ATTENDEES else None,
        "my_response": my_response(event),
        "organizer": event.get("organizer", {}).get("email"),
        "meet_link": meet_link(event),
        "link": event.get("htmlLink"),
        "series_id": event.get("recurringEventId"),
        "type": event.get("eventType") if event.get("eventType") != "default" else None,
        "status": event.get("status") if event.get("status") != "confirmed" else None,
        "show_as": "free" if event.get("transparency") == "transparent" else None,
        "visibility": event.get("visibility"),
    }
    return compact(row)


def event_details(event: Mapping[str, Any]) -> dict[str, Any]:
    """Say all about an event but for its description; the argument is that of :func:`event_row`."""
    reminders = event.get("reminders", {})
    return compact(
        {
            **event_row(event),
            "time_zone": event.get("start", {}).get("timeZone"),
            "attendees": [
                compact(
                    {
                        "email": each.get("email"),
                        "name": each.get("displayName"),
                        "response": each.get("responseStatus"),
                        "optional": each.get("optional") or None,
                        "comment": each.get("comment"),
                    }
                )
                for each in event.get("attendees", [])
            ],
            "attendee_count": None,
            "attendees_omitted": event.get("attendeesOmitted") or None,
            "recurrence": event.get("recurrence"),
            "reminders": "as in the calendar" if reminders.get("useDefault") else reminders.get("overrides"),
            "attachments": [
                compact({"title": each.get("title"), "link": each.get("fileUrl")})
                for each in event.get("attachments", [])
            ],
            "guests_can_modify": event.get("guestsCanModify") or None,
            "creator": event.get("creator", {}).get("email"),
            "created": event.get("created"),
            "updated": event.get("updated"),
        }
    )


def times(event: Mapping[str, Any]) -> dict[str, Any]:
    """Say when an event is: moments with offsets, or whole days, of which the last is included."""
    start, end = event.get("start", {}), event.get("end", {})
    if not start.get("date"):
        return {"start": start.get("dateTime"), "end": end.get("dateTime"), "all_day": False}
    last = end.get("date")
    if last:
        # Google names the day after.
        last = max(date.fromisoformat(last) - timedelta(days=1), date.fromisoformat(start["date"])).isoformat()
    return {"start": start["date"], "end": last or start["date"], "all_day": True}


def my_response(event: Mapping[str, Any]) -> str | None:
    """Return the user's answer to an invitation."""
    return next((each.get("responseStatus") for each in event.get("attendees", []) if each.get("self")), None)


def meet_link(event: Mapping[str, Any]) -> str | None:
    """Return the address of an event's video call."""
    if event.get("hangoutLink"):
        return str(event["hangoutLink"])
    points: Iterable[Mapping[str, Any]] = event.get("conferenceData", {}).get("entryPoints", [])
    return next((str(each["uri"]) for each in points if each.get("uri") and _is_video(each)), None)


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


def _is_video(entry_point: Mapping[str, Any]) -> bool:
    return str(entry_point.get("entryPointType", "video")) == "video"
