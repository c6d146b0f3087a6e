"""The tool ``calendar_create_event``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

from oneclaw_google_workspace.answers import compact, google_tool
from oneclaw_google_workspace.calendar.event_bodies import (
    attachment_bodies,
    described,
    inviting,
    looks,
    mail_text,
    named,
    new_meeting,
    place_text,
    read_addresses,
    recurrence_lines,
    reminder_body,
)
from oneclaw_google_workspace.calendar.reading import event_row
from oneclaw_google_workspace.calendar.times import is_day, read_times
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.problems import GoogleError, invalid
from oneclaw_google_workspace.wording import passage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient

_FIELDS = (
    "id,status,summary,htmlLink,hangoutLink,start(dateTime,date,timeZone),end(dateTime,date),recurrence,"
    "attendees(email,responseStatus),eventType,conferenceData(createRequest/status/statusCode,entryPoints(uri))"
)
_PROPERTIES = {"focusTime": "focusTimeProperties", "outOfOffice": "outOfOfficeProperties"}


@google_tool
async def calendar_create_event(
    summary: str,
    start: str,
    end: str | None = None,
    time_zone: str | None = None,
    calendar_id: str = "primary",
    attendees: Sequence[str] = (),
    optional_attendees: Sequence[str] = (),
    description: str | None = None,
    location: str | None = None,
    recurrence: Sequence[str] = (),
    reminders: Sequence[dict[str, Any]] | None = None,
    show_as: str | None = None,
    visibility: str | None = None,
    color_id: str | None = None,
    add_meet: bool = False,
    attachments: Sequence[str] = (),
    guests_can_modify: bool | None = None,
    guests_can_invite: bool | None = None,
    event_type: str = "default",
    auto_decline: str | None = None,
    decline_message: str | None = None,
    send_updates: str = "all",
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Create an event."""
    google = connect(context)
    required, optional = (
        read_addresses("attendees", attendees),
        read_addresses("optional_attendees", optional_attendees),
    )
    known = {each.casefold() for each in required}
    guests = [*required, *(each for each in optional if each.casefold() not in known)]
    rules = recurrence_lines(recurrence)
    _check_type(event_type, auto_decline, decline_message, calendar_id, has_extras=bool(guests or add_meet))
    body: dict[str, Any] = {
        # An id of our own: what is sent twice is made once.
        "id": uuid4().hex,
        **compact({"summary": summary, "description": description, "location": location, "recurrence": rules}),
        **looks(show_as, visibility, color_id),
        **compact({"attachments": attachment_bodies(attachments)}),
    }
    if reminders is not None:
        body["reminders"] = reminder_body(reminders)
    if add_meet:
        body["conferenceData"] = new_meeting()
    rights = {"guestsCanModify": guests_can_modify, "guestsCanInviteOthers": guests_can_invite}
    body |= {key: value for key, value in rights.items() if value is not None}
    if event_type != "default":
        body["eventType"] = event_type
        body[_PROPERTIES[event_type]] = compact({"autoDeclineMode": auto_decline, "declineMessage": decline_message})
    times = await read_times(google, calendar_id, start, end, time_zone, is_series=bool(rules))
    if event_type != "default" and is_day(times.start):
        raise invalid(f"A {event_type} event needs times, not days.")
    body |= times.body()
    if guests:
        body["attendees"] = [compact({"email": each, "optional": each not in required or None}) for each in guests]
    kind = "event" if event_type == "default" else f"{event_type} event"
    invited = f", invite {named(guests)}{mail_text(send_updates, guests)}" if guests else ""
    more = "".join(f", {words}" for words in described(body))
    question = f"create the {kind} {passage(summary)} ({times}){place_text(calendar_id)}{invited}{more}"
    await google.ask(question, *inviting(guests))
    event = await insert_event(google, calendar_id, body, send_updates)
    answer = event_row(event)
    if guests:
        answer["invited"] = send_updates
    return answer


async def insert_event(
    google: GoogleClient, calendar_id: str, body: dict[str, Any], send_updates: str
) -> dict[str, Any]:
    """Create an event once, however often it is sent.

    Args:
        google: the client; the user has agreed.
        calendar_id: where.
        body: the event, with an ``id`` of our own.
        send_updates: who is mailed about it.

    Raises:
        GoogleError: it did not work out.
    """
    try:
        event = await google.call(
            "calendar.events.insert",
            calendarId=calendar_id,
            body=body,
            sendUpdates=send_updates,
            conferenceDataVersion=1 if "conferenceData" in body else None,
            supportsAttachments=True if "attachments" in body else None,
            fields=_FIELDS,
            is_repeatable=True,
            unclear_hint="Look for it with calendar_list_events",
        )
    except GoogleError as error:
        # One of several tries may have been carried out, and its answer lost.
        if error.status != 409 and not error.was_unclear:
            raise
        try:
            event = await google.call("calendar.events.get", calendarId=calendar_id, eventId=body["id"], fields=_FIELDS)
        except GoogleError as fault:
            if fault.status == 404 and error.was_unclear:
                raise GoogleError(
                    "service_unavailable", "Google failed, and no event was created. Try again later."
                ) from None
            raise error from None
    status = event.get("conferenceData", {}).get("createRequest", {}).get("status", {}).get("statusCode")
    if status == "pending" and await google.patience.wait(1, None):
        found = await google.call(
            "calendar.events.get", calendarId=calendar_id, eventId=event["id"], fields="hangoutLink"
        )
        event = {**event, **found}
    return event


def _check_type(
    event_type: str, auto_decline: str | None, decline_message: str | None, calendar_id: str, *, has_extras: bool
) -> None:
    if event_type == "default":
        if auto_decline or decline_message:
            raise invalid("auto_decline and decline_message go with event_type focusTime and outOfOffice.")
        return
    if calendar_id != "primary":
        raise invalid(f"A {event_type} event can only be in the primary calendar.")
    if has_extras:
        raise invalid(f"A {event_type} event has neither guests nor a Meet link.")
