"""The description of event fields in a question; without I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.calendar.description import description_text
from oneclaw_google_workspace.wording import counted, passage, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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
