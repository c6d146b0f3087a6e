"""Parts of what Google is told about an event; pure, without any I/O."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from oneclaw_google_workspace.problems import invalid
from oneclaw_google_workspace.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oneclaw_google_workspace.client import Harm

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
