"""Parts of an event: what Google is told, guests, descriptions, and what a question says; pure, without any I/O."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from oneclaw_google_workspace.problems import invalid
from oneclaw_google_workspace.wording import counted, passage, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from oneclaw_google_workspace.client import Harm

# What is sent back, as Google takes lists as a whole.
_KEPT = ("email", "displayName", "optional", "resource", "additionalGuests", "responseStatus", "comment")


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
