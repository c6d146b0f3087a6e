"""The tool ``calendar_delete_event``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, google_tool
from oneclaw_google_workspace.calendar.event_bodies import mail_text, named, place_text
from oneclaw_google_workspace.calendar.guests import addresses_of
from oneclaw_google_workspace.calendar.rows import times
from oneclaw_google_workspace.calendar.times import from_google, span_text
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.wording import listing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core import ToolContext

_FIELDS = (
    "id,status,summary,start(dateTime,date),end(dateTime,date),recurrence,recurringEventId,"
    "attendees(email,self),organizer(email,self)"
)


@google_tool
async def calendar_delete_event(
    event_id: str, calendar_id: str = "primary", send_updates: str = "all", *, context: ToolContext
) -> dict[str, Any]:
    """Delete an event, an occurrence or a series."""
    google = connect(context)
    event = await google.call("calendar.events.get", calendarId=calendar_id, eventId=event_id, fields=_FIELDS)
    scope = "series" if event.get("recurrence") else "occurrence" if event.get("recurringEventId") else "event"
    answer = {"id": event.get("id", event_id), "title": event.get("summary"), "start": times(event)["start"]}
    if event.get("status") == "cancelled":
        return compact({**answer, "scope": scope, "status": "was deleted before"})
    guests = [] if _is_invitation(event) else addresses_of(event)
    await google.ask(_question(event, scope, guests, calendar_id, send_updates))
    await google.delete("calendar.events.delete", calendarId=calendar_id, eventId=event_id, sendUpdates=send_updates)
    notified = send_updates if guests else None
    return compact({**answer, "scope": scope, "notified": notified, "status": "deleted"})


def _question(event: Mapping[str, Any], scope: str, guests: list[str], calendar_id: str, send_updates: str) -> str:
    what = {
        "series": "the WHOLE SERIES",
        "occurrence": "one occurrence of the series",
        "event": "the event",
    }[scope]
    when = span_text(from_google(event.get("start")), from_google(event.get("end")))
    title = listing([event.get("summary") or "(no title)"])
    told = f" with {named(guests)}{mail_text(send_updates, guests)}" if guests else ""
    if _is_invitation(event):
        told = f", an invitation from {event['organizer'].get('email', 'somebody')}, from your calendar only"
    return f"delete {what} {title} ({when}){place_text(calendar_id)}{told}"


def _is_invitation(event: Mapping[str, Any]) -> bool:
    """Return True if another person organises the event, so that only the user's copy is deleted."""
    return bool(event.get("organizer")) and not event["organizer"].get("self")
