"""Creating, changing and deleting events."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from oneclaw_google_workspace.answers import compact, google_tool, listing, passage, quoted
from oneclaw_google_workspace.calendar.events import (
    addresses_of,
    attachment_bodies,
    changed_guests,
    described,
    event_row,
    inviting,
    looks,
    mail_text,
    named,
    new_meeting,
    own_answer,
    place_text,
    read_addresses,
    recurrence_lines,
    reminder_body,
    times,
)
from oneclaw_google_workspace.calendar.times import (
    EventTimes,
    from_google,
    is_day,
    new_event,
    part_series,
    read_times,
    shifted,
    span_text,
    zone_for,
)
from oneclaw_google_workspace.client import connect
from oneclaw_google_workspace.failures import GoogleError, invalid
from oneclaw_google_workspace.methods import api_request

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.calendar.times import PartedSeries
    from oneclaw_google_workspace.client import GoogleClient

_FIELDS = (
    "id,status,summary,htmlLink,hangoutLink,start(dateTime,date,timeZone),end(dateTime,date),recurrence,"
    "attendees(email,responseStatus),eventType,conferenceData(createRequest/status/statusCode,entryPoints(uri))"
)
_PROPERTIES = {"focusTime": "focusTimeProperties", "outOfOffice": "outOfOfficeProperties"}
_BEFORE_FIELDS = (
    "id,etag,summary,status,attendees,attendeesOmitted,start(date,dateTime,timeZone),end(date,dateTime,timeZone),"
    "organizer(self,email),recurringEventId,originalStartTime(date,dateTime),recurrence,eventType,guestsCanModify"
)
_FOLLOWING = "this and all following occurrences of "
_AFTER_FIELDS = (
    "id,summary,htmlLink,hangoutLink,start(dateTime,date),end(dateTime,date),attendees(email,responseStatus)"
)
_DELETED_FIELDS = (
    "id,status,summary,start(dateTime,date),end(dateTime,date),recurrence,recurringEventId,"
    "originalStartTime(date,dateTime),"
    "attendees(email,self),organizer(email,self)"
)


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


@dataclass(frozen=True, slots=True)
class _Change:
    """The wanted fields of an event, of any kind.

    Attributes:
        fields: what Google is told as it is.
        start: of the arguments, like the next three.
        end: the same.
        time_zone: the same.
        added: addresses of new guests.
        removed: addresses of guests.
        answer: ``responseStatus`` and ``comment`` of the user.
    """

    fields: dict[str, Any]
    start: str | None
    end: str | None
    time_zone: str | None
    added: list[str]
    removed: list[str]
    answer: dict[str, str]

    @property
    def names(self) -> list[str]:
        """The change, in words for people."""
        words = {"summary": "title", "conferenceData": "meet link", "colorId": "color", "transparency": "show_as"}
        found = [words.get(key, key) for key in self.fields]
        found += [name for name, value in (("start", self.start), ("end", self.end)) if value]
        found += ["guests"] if self.added or self.removed else []
        return found + (["my_response"] if self.answer else [])

    @property
    def is_answer_alone(self) -> bool:
        """True if nothing changes but the user's answer to an invitation."""
        return self.names == ["my_response"]


@google_tool
async def calendar_update_event(
    event_id: str,
    calendar_id: str = "primary",
    summary: str | None = None,
    start: str | None = None,
    end: str | None = None,
    time_zone: str | None = None,
    description: str | None = None,
    location: str | None = None,
    recurrence: Sequence[str] | None = None,
    reminders: Sequence[dict[str, Any]] | None = None,
    show_as: str | None = None,
    visibility: str | None = None,
    color_id: str | None = None,
    add_attendees: Sequence[str] = (),
    remove_attendees: Sequence[str] = (),
    my_response: str | None = None,
    response_comment: str | None = None,
    add_meet: bool = False,
    attachments: Sequence[str] | None = None,
    move_to_calendar_id: str | None = None,
    send_updates: str = "all",
    this_and_following: bool = False,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Change an event, answer an invitation, or move an event to another calendar."""
    google = connect(context)
    if response_comment is not None and my_response is None:
        raise invalid("response_comment goes with my_response.")
    if time_zone and not (start or end or recurrence):
        raise invalid("time_zone goes with start, end or recurrence.")
    texts = {"summary": summary, "description": description, "location": location}
    fields: dict[str, Any] = {key: value for key, value in texts.items() if value is not None}
    fields |= looks(show_as, visibility, color_id)
    if recurrence is not None:
        fields["recurrence"] = recurrence_lines(recurrence) or None
    if reminders is not None:
        fields["reminders"] = reminder_body(reminders)
    if attachments is not None:
        fields["attachments"] = attachment_bodies(attachments)
    if add_meet:
        fields["conferenceData"] = new_meeting()
    answer = {"responseStatus": my_response, "comment": response_comment}
    change = _Change(
        fields,
        start,
        end,
        time_zone,
        read_addresses("add_attendees", add_attendees),
        read_addresses("remove_attendees", remove_attendees),
        {key: value for key, value in answer.items() if value is not None},
    )
    if not change.names and not move_to_calendar_id:
        raise invalid("Give what to change about the event.")
    before = await _read(google, calendar_id, event_id)
    if this_and_following:
        if move_to_calendar_id or change.answer:
            raise invalid("this_and_following goes with neither my_response nor move_to_calendar_id.")
        parts = await part_series(google, calendar_id, before)
        if not parts.is_whole:
            return await _change_following(google, calendar_id, parts, change, send_updates)
        event_id = str(parts.series["id"])
        before = await _read(google, calendar_id, event_id)
    if move_to_calendar_id:
        _check_move(before)
    body, new_times = await _body(google, calendar_id, before, change)
    # Guests who are there already learn of a change only if they are mailed.
    told = [] if change.is_answer_alone or send_updates == "none" else addresses_of(before)
    question = _question(before, change, new_times, calendar_id, move_to_calendar_id, send_updates)
    await google.ask(question, *inviting([*told, *change.added]))
    event = before
    if body:
        event = await _patch(google, calendar_id, before, body, change, send_updates)
    if move_to_calendar_id:
        event = {**event, **await _move(google, calendar_id, event_id, move_to_calendar_id, send_updates, change.names)}
    return compact(
        {
            "id": event.get("id"),
            "title": event.get("summary"),
            "changed": [*change.names, *(["calendar"] if move_to_calendar_id else [])],
            **times(event),
            "attendees": [
                compact({"email": each.get("email"), "response": each.get("responseStatus")})
                for each in event.get("attendees", [])
            ],
            "meet_link": event.get("hangoutLink"),
            "link": event.get("htmlLink"),
            "calendar_id": move_to_calendar_id,
        }
    )


async def _change_following(
    google: GoogleClient, calendar_id: str, parts: PartedSeries, change: _Change, send_updates: str
) -> dict[str, Any]:
    """Begin a new series with an occurrence, and end the present one before it."""
    rest = parts.rest()
    body, new_times = await _body(google, calendar_id, rest, change)
    if new_times is not None and "recurrence" not in change.fields:
        body["recurrence"] = shifted(parts.after, parts.at, new_times.start, parts.zone)
    guests = [] if send_updates == "none" else addresses_of(rest)
    question = _question(rest, change, new_times, calendar_id, None, send_updates, _FOLLOWING)
    await google.ask(question, *inviting([*guests, *change.added]))
    # An id of our own: what is sent twice is made once.
    event = await insert_event(google, calendar_id, {"id": uuid4().hex, **new_event(rest, body)}, send_updates)
    try:
        await parts.end_before(google, calendar_id, send_updates)
    except GoogleError as error:
        raise await _taken_back(google, calendar_id, event, error) from None
    return compact(
        {
            "id": event.get("id"),
            "title": event.get("summary"),
            "changed": change.names,
            **times(event),
            "recurrence": event.get("recurrence"),
            "attendees": [
                compact({"email": each.get("email"), "response": each.get("responseStatus")})
                for each in event.get("attendees", [])
            ],
            "meet_link": event.get("hangoutLink"),
            "link": event.get("htmlLink"),
            "earlier_series_id": parts.series["id"],
        }
    )


async def _taken_back(
    google: GoogleClient, calendar_id: str, event: Mapping[str, Any], error: GoogleError
) -> GoogleError:
    """Delete the new series again if the present one could not be ended; gives the error to raise."""
    doubled = (
        f"The new series {event.get('id')} is there, but it is not known that the old one ends before it, so its "
        f"occurrences may be there twice. {error}"
    )
    if error.error_type == "unknown_outcome":
        return GoogleError(error.error_type, doubled)
    try:
        await google.delete("calendar.events.delete", calendarId=calendar_id, eventId=event["id"], sendUpdates="none")
    except GoogleError:
        return GoogleError("unknown_outcome", doubled)
    return GoogleError(error.error_type, f"The series could not be parted, so nothing is changed. {error}")


async def _read(google: GoogleClient, calendar_id: str, event_id: str) -> dict[str, Any]:
    return await google.call("calendar.events.get", calendarId=calendar_id, eventId=event_id, fields=_BEFORE_FIELDS)


async def _body(
    google: GoogleClient, calendar_id: str, before: Mapping[str, Any], change: _Change
) -> tuple[dict[str, Any], EventTimes | None]:
    """Make what Google is told, from what is to change and what there is."""
    body = dict(change.fields)
    if body.get("recurrence") and before.get("recurringEventId"):
        raise invalid(f"This is one occurrence. Change the recurrence of the series {before['recurringEventId']}.")
    new_times = None
    if change.start or change.end or body.get("recurrence"):
        new_times = await _times(google, calendar_id, before, change)
        start = from_google(before.get("start"))
        body |= new_times.body(was_all_day=start is not None and is_day(start))
    if change.added or change.removed:
        if change.answer:
            own_answer(before, change.answer)
        body["attendees"] = changed_guests(before, change.added, change.removed, change.answer)
    elif change.answer:
        # Of all guests, Google wants to hear of this one only.
        body |= {"attendees": [own_answer(before, change.answer)], "attendeesOmitted": True}
    return body, new_times


async def _times(google: GoogleClient, calendar_id: str, before: Mapping[str, Any], change: _Change) -> EventTimes:
    """Find the new times: an event that is moved keeps its length, unless it becomes one of whole days or no more."""
    start, end = from_google(before.get("start")), from_google(before.get("end"))
    zone_name = change.time_zone or before.get("start", {}).get("timeZone")
    is_series = bool(change.fields.get("recurrence") or before.get("recurrence"))
    if change.start is None:
        if start is None or end is None:
            raise invalid("The event has no times to go by. Give start and end.")
        if isinstance(start, datetime) and zone_name is None and is_series:
            zone_name = (await zone_for(google, calendar_id, None)).key
        if change.end is None:
            return EventTimes(start, end, zone_name if isinstance(start, datetime) else None)
        return await read_times(google, calendar_id, start.isoformat(), change.end, zone_name, is_series=is_series)
    length = None
    if isinstance(start, datetime) and isinstance(end, datetime):
        length = end.astimezone(UTC) - start.astimezone(UTC)
    elif start is not None and end is not None:
        length = end - start
    is_same_kind = start is not None and is_day(start) is (len(change.start.strip()) == len("2026-03-31"))
    return await read_times(
        google,
        calendar_id,
        change.start,
        change.end,
        zone_name,
        length=length if is_same_kind else None,
        is_series=is_series,
    )


async def _patch(
    google: GoogleClient,
    calendar_id: str,
    before: Mapping[str, Any],
    body: dict[str, Any],
    change: _Change,
    send_updates: str,
) -> dict[str, Any]:
    """Change an event unless somebody else has meanwhile; then look again, once."""
    try:
        return await _send(google, calendar_id, before, body, send_updates)
    except GoogleError as error:
        if error.status != 412:
            raise
    now = await _read(google, calendar_id, str(before["id"]))
    body, _ = await _body(google, calendar_id, now, change)
    return await _send(google, calendar_id, now, body, send_updates)


async def _send(
    google: GoogleClient, calendar_id: str, before: Mapping[str, Any], body: dict[str, Any], send_updates: str
) -> dict[str, Any]:
    request = api_request(
        "calendar.events.patch",
        calendarId=calendar_id,
        eventId=before["id"],
        body=body,
        sendUpdates=send_updates,
        conferenceDataVersion=1 if "conferenceData" in body else None,
        supportsAttachments=True if "attachments" in body else None,
        fields=_AFTER_FIELDS,
    )
    return await google.send(request, headers=compact({"If-Match": before.get("etag")}))


async def _move(
    google: GoogleClient, calendar_id: str, event_id: str, target: str, send_updates: str, changed: list[str]
) -> dict[str, Any]:
    try:
        return await google.call(
            "calendar.events.move",
            calendarId=calendar_id,
            eventId=event_id,
            destination=target,
            sendUpdates=send_updates,
            fields="id,htmlLink",
        )
    except GoogleError as error:
        if not changed:
            raise
        raise GoogleError(
            error.error_type, f"{', '.join(changed)} of the event are changed, but it could not be moved. {error}"
        ) from None


def _check_move(event: Mapping[str, Any]) -> None:
    if event.get("recurringEventId"):
        raise invalid(f"One occurrence cannot be moved, only the whole series {event['recurringEventId']}.")
    if event.get("eventType", "default") != "default":
        raise invalid(f"An event of the kind {event['eventType']} cannot be moved to another calendar.")


def _question(
    before: Mapping[str, Any],
    change: _Change,
    new_times: EventTimes | None,
    calendar_id: str,
    move_to: str | None,
    send_updates: str,
    which: str = "",
) -> str:
    title = listing([before.get("summary") or "(no title)"])
    when = span_text(from_google(before.get("start")), from_google(before.get("end")))
    kind = f"{which}the series" if before.get("recurrence") else "the event"
    event = f"{kind} {title} ({when}){place_text(calendar_id)}"
    if change.is_answer_alone and not move_to and "responseStatus" in change.answer:
        organizer = before.get("organizer", {}).get("email")
        told = f" to {organizer}" if organizer and send_updates != "none" else ""
        return f"answer {_answered(change)}{told} to the invitation {title} ({when})"
    parts = [f"change {', '.join(change.names)} of {event}"] if change.names else []
    if "summary" in change.fields:
        parts.append(f"title {passage(change.fields['summary'])}")
    if new_times is not None:
        parts.append(f"new time {new_times}")
    if change.added:
        parts.append(f"invite {named(change.added)}")
    if change.removed:
        parts.append(f"disinvite {named(change.removed)}")
    if change.answer:
        parts.append(f"your answer {_answered(change)}")
    if move_to:
        parts.append(f"move {'it' if parts else event} to the calendar {quoted(move_to)}")
    guests = [*addresses_of(before), *change.added]
    told = f" (guests: {named(guests)}){mail_text(send_updates, guests)}" if guests else ""
    # Long texts come last: who is told stands before them.
    more = "".join(f"; {words}" for words in described(change.fields))
    return f"{'; '.join(parts)}{told}{more}"


def _answered(change: _Change) -> str:
    note = f" with the note {passage(change.answer['comment'])}" if change.answer.get("comment") else ""
    return f"{change.answer.get('responseStatus', '')}{note}".strip()


@google_tool
async def calendar_delete_event(
    event_id: str,
    calendar_id: str = "primary",
    send_updates: str = "all",
    this_and_following: bool = False,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Delete an event, an occurrence, an occurrence and all that follow, or a series."""
    google = connect(context)
    event = await google.call("calendar.events.get", calendarId=calendar_id, eventId=event_id, fields=_DELETED_FIELDS)
    scope = "series" if event.get("recurrence") else "occurrence" if event.get("recurringEventId") else "event"
    answer = {"id": event.get("id", event_id), "title": event.get("summary"), "start": times(event)["start"]}
    if event.get("status") == "cancelled":
        return compact({**answer, "scope": scope, "status": "was deleted before"})
    if this_and_following:
        parts = await part_series(google, calendar_id, event)
        if not parts.is_whole:
            guests = addresses_of(parts.series)
            await google.ask(_deletion_question(event, "rest", guests, calendar_id, send_updates), "delete")
            await parts.end_before(google, calendar_id, send_updates)
            notified = send_updates if guests else None
            ended = {"scope": "this and following", "notified": notified, "series_id": parts.series["id"]}
            return compact({**answer, **ended, "status": "deleted"})
        event, scope = dict(parts.series), "series"
        event_id = str(event["id"])
    guests = [] if _is_invitation(event) else addresses_of(event)
    await google.ask(_deletion_question(event, scope, guests, calendar_id, send_updates), "delete")
    await google.delete("calendar.events.delete", calendarId=calendar_id, eventId=event_id, sendUpdates=send_updates)
    notified = send_updates if guests else None
    return compact({**answer, "scope": scope, "notified": notified, "status": "deleted"})


def _deletion_question(
    event: Mapping[str, Any], scope: str, guests: list[str], calendar_id: str, send_updates: str
) -> str:
    what = {
        "series": "the WHOLE SERIES",
        "occurrence": "one occurrence of the series",
        "rest": "this and ALL FOLLOWING occurrences of the series",
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
