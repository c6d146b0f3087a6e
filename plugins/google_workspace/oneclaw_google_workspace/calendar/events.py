"""Events: listing and reading them, their parts as Google takes them, and what a question says of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from oneclaw_core import untrusted
from oneclaw_google_workspace.answers import compact, counted, from_outside, google_tool, listing, passage, quoted
from oneclaw_google_workspace.calendar.times import find_zone, first_moment, needs_zone, read_when, rfc3339, zone_for
from oneclaw_google_workspace.client import connect
from oneclaw_google_workspace.failures import invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient, Harm

# What is sent back, as Google takes lists as a whole.
_KEPT = ("email", "displayName", "optional", "resource", "additionalGuests", "responseStatus", "comment")
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


def addresses_of(event: Mapping[str, Any]) -> list[str]:
    """List the guests of an event but the user."""
    return [str(each.get("email", "")) for each in event.get("attendees", []) if not each.get("self")]


def changed_guests(
    event: Mapping[str, Any], added: Sequence[str], removed: Sequence[str], answer: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Make the list of guests anew.

    Args:
        event: as it is, with all that Google knows of its guests.
        added: addresses; of those who are invited already, nothing changes.
        removed: addresses.
        answer: ``responseStatus`` and ``comment`` of the user's own entry; empty for as it is.

    Raises:
        GoogleError: somebody to be removed is not invited.
    """
    if event.get("attendeesOmitted"):
        raise invalid("This event has so many guests that Google does not name them all: change them in the calendar.")
    present = {str(each.get("email", "")).casefold(): each for each in event.get("attendees", [])}
    gone = {each.casefold() for each in removed}
    if missing := [each for each in removed if each.casefold() not in present]:
        raise invalid(f"{missing[0]} is not among the guests: {', '.join(present) or 'there are none'}.")
    kept = [{**entry, **(answer if entry.get("self") else {})} for key, entry in present.items() if key not in gone]
    new = [{"email": each} for each in added if each.casefold() not in present]
    return [{key: entry[key] for key in _KEPT if key in entry} for entry in [*kept, *new]]


def own_answer(event: Mapping[str, Any], answer: Mapping[str, str]) -> dict[str, Any]:
    """Make the user's answer to an invitation, to be sent alone.

    Raises:
        GoogleError: the user is not invited.
    """
    own = next((each for each in event.get("attendees", []) if each.get("self")), None)
    if own is None:
        raise invalid("You are not among the guests of this event, so there is nothing to answer.")
    return {"email": own["email"], **answer}


_LINE_ENDS = frozenset({"br", "p", "div", "ul", "ol", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote"})
_SILENT = frozenset({"script", "style", "head", "title"})
_TAG = re.compile(r"<(?:/?[a-zA-Z][^<>]*|!--)")
_ENTITY = re.compile(r"&(?:#\d+|#x[0-9a-fA-F]+|[a-zA-Z]\w*);")


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self.silent = 0
        self.links: list[tuple[str, int]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SILENT:
            self.silent += 1
        elif tag == "li":
            self.pieces.append("\n- ")
        elif tag in _LINE_ENDS:
            self.pieces.append("\n")
        elif tag == "a":
            self.links.append((dict(attrs).get("href") or "", len(self.pieces)))

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT:
            self.silent = max(0, self.silent - 1)
        elif tag in _LINE_ENDS and tag != "br":
            self.pieces.append("\n")
        elif tag == "a" and self.links:
            href, start = self.links.pop()
            if href and href not in "".join(self.pieces[start:]):
                self.pieces.append(f" ({href})")

    def handle_data(self, data: str) -> None:
        if not self.silent:
            self.pieces.append(data)


def description_text(description: str) -> str:
    """Turn a description into text; one without any HTML stays as it is.

    Args:
        description: as Google answers it.
    """
    if not _TAG.search(description) and not _ENTITY.search(description):
        return description
    reader = _Reader()
    reader.feed(description)
    reader.close()
    lines = [" ".join(line.split()) for line in "".join(reader.pieces).split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


_SHOWN = 5
_LINK_CHARACTERS = 150


def described(fields: Mapping[str, Any]) -> list[str]:
    """Say what fields become, without title, times and guests.

    Args:
        fields: of an event as Google is told; ``None`` or an empty value clears one.
    """
    found = [words(fields[name]) for name, words in _WORDS.items() if name in fields]
    return [words for words in found if words]


def _text(name: str, value: str) -> str:
    return f"{name} {passage(value)}" if value else f"no {name}"


def _description(value: str) -> str:
    text = description_text(value)
    if text == value:
        return _text("description", value)
    return f"description {passage(text)} (HTML of {counted(len(value), 'character')})"


def _recurrence(lines: list[str] | None) -> str:
    return f"again and again ({passage('; '.join(lines))})" if lines else "no recurrence"


def _reminders(value: Mapping[str, Any]) -> str:
    shown = [f"{each['method']} {each['minutes']:,} minutes before" for each in value["overrides"]]
    return f"reminders {', '.join(shown)}" if shown else "no reminders"


def _attachments(value: list[dict[str, str]]) -> str:
    links = [quoted(each["fileUrl"], _LINK_CHARACTERS) for each in value]
    more = f" and {len(links) - _SHOWN} more" if len(links) > _SHOWN else ""
    return f"attachments {', '.join(links[:_SHOWN])}{more}" if links else "no attachments"


def _declining(value: Mapping[str, Any]) -> str:
    how = value.get("autoDeclineMode")
    words = [f"which declines invitations ({how})"] if how else []
    words += [f"telling {passage(value['declineMessage'])}"] if value.get("declineMessage") else []
    return ", ".join(words)


_WORDS: dict[str, Callable[[Any], str]] = {
    "recurrence": _recurrence,
    "location": lambda value: _text("location", value),
    "description": _description,
    "conferenceData": lambda _: "a new Meet link",
    "attachments": _attachments,
    "reminders": _reminders,
    "transparency": lambda value: f"shown as {'busy' if value == 'opaque' else 'free'}",
    "visibility": lambda value: f"visibility {value}",
    "colorId": lambda value: f"color {value}",
    "focusTimeProperties": _declining,
    "outOfOfficeProperties": _declining,
    "guestsCanModify": lambda value: f"guests {'can' if value else 'cannot'} change it",
    "guestsCanInviteOthers": lambda value: f"guests {'can' if value else 'cannot'} invite others",
}
_ADDRESS = re.compile(r"[^\s@<>,;\"]+@[^\s@<>,;\"]+")
_RULE = re.compile(r"(?:RRULE:FREQ=|EXRULE:FREQ=|RDATE[;:]|EXDATE[;:]).+", re.IGNORECASE)
_COLORS = tuple(str(number) for number in range(1, 12))


def read_addresses(what: str, given: Sequence[str]) -> list[str]:
    """Read mail addresses, each once.

    Args:
        what: the argument, for messages.
        given: addresses.

    Raises:
        GoogleError: one is none.
    """
    found: dict[str, str] = {}
    for text in given:
        address = text.strip()
        if not _ADDRESS.fullmatch(address):
            raise invalid(f"{what} must be addresses such as bo@example.com, not {text[:80]!r}.")
        found.setdefault(address.casefold(), address)
    return list(found.values())


def recurrence_lines(lines: Sequence[str]) -> list[str]:
    """Read how an event happens again.

    Args:
        lines: of RFC 5545; a rule may go without its name.

    Raises:
        GoogleError: one is none.
    """
    found = [f"RRULE:{line}" if line.upper().startswith("FREQ=") else line for line in map(str.strip, lines)]
    for line in found:
        if not _RULE.fullmatch(line):
            raise invalid(
                "recurrence must be lines such as RRULE:FREQ=WEEKLY;BYDAY=MO;COUNT=8 or EXDATE:20260401T080000Z, "
                f"without DTSTART and DTEND, not {line[:80]!r}."
            )
    return found


def reminder_body(given: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Write reminders of one's own, in place of the calendar's; none for an empty list."""
    overrides = [{"method": each.get("method", "popup"), "minutes": each["minutes"]} for each in given]
    return {"useDefault": False, "overrides": overrides}


def attachment_bodies(links: Iterable[str]) -> list[dict[str, str]]:
    """Write attachments.

    Raises:
        GoogleError: one is no link.
    """
    found = []
    for link in links:
        if not link.startswith("https://"):
            raise invalid(f"attachments must be links to files in Drive, not {link[:80]!r}.")
        found.append({"fileUrl": link})
    return found


def looks(show_as: str | None, visibility: str | None, color_id: str | None) -> dict[str, str]:
    """Write how an event looks to others and to the user.

    Raises:
        GoogleError: there is no such colour.
    """
    if color_id is not None and color_id not in _COLORS:
        raise invalid(f"color_id must be 1 to 11, not {color_id[:20]!r}.")
    found = {"colorId": color_id, "visibility": visibility}
    if show_as is not None:
        found["transparency"] = "opaque" if show_as == "busy" else "transparent"
    return {key: value for key, value in found.items() if value is not None}


def new_meeting() -> dict[str, Any]:
    """Ask for a video call; Google makes one for each request id."""
    return {"createRequest": {"requestId": uuid4().hex, "conferenceSolutionKey": {"type": "hangoutsMeet"}}}


def mail_text(send_updates: str, guests: Sequence[str]) -> str:
    """Say in a question who is mailed; empty without guests."""
    if not guests:
        return ""
    return {
        "all": " and mail them all about it",
        "externalOnly": " and mail those of other organisations about it",
    }.get(send_updates, " without mailing anybody about it")


def inviting(guests: Iterable[str]) -> tuple[Harm, str | None]:
    """Return the kind of a change that shows an event to guests, and who they are; without any it is a mere change."""
    whom = ", ".join(sorted({each.lower() for each in guests}))
    return ("send", whom) if whom else ("write", None)


def named(guests: Sequence[str], limit: int = 15) -> str:
    """Name guests in a question."""
    if len(guests) <= limit:
        return ", ".join(guests)
    return f"{', '.join(guests[:limit])} and {len(guests) - limit} more"


def place_text(calendar_id: str) -> str:
    """Name a calendar in a question; empty for the user's own."""
    return "" if calendar_id == "primary" else f" in the calendar {quoted(calendar_id)}"


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


def _is_video(entry_point: Mapping[str, Any]) -> bool:
    return str(entry_point.get("entryPointType", "video")) == "video"


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
            raise invalid("The event is not a series. Leave instances out.")
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
