"""Requests to do something at a time to come, whose words are the task's own and say nothing of the tool."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEDULE_TASK = "schedule_task"
SCHEDULED_TASKS = "scheduled_tasks"
GET_CURRENT_TIME = "get_current_time"

_LONGEST_MESSAGE = 2_000
_NAME_CHARACTERS = 60
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_ASKS = re.compile(
    r"""
    \b(?: remind \s+ me
        | schedule \s+ (?:an?\s+)? (?:new\s+)? (?:scheduled\s+)? task (?:\s+for)?
        | set \s+ (?:up\s+)? a \s+ reminder ) \b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_WHEN = re.compile(
    rf"""
    \b(?: every \s+ (?: (?:day|morning|evening) | (?P<day>{"|".join(_WEEKDAYS)})s? )
        | daily
        | on \s+ (?P<date>\d{{4}}-\d\d-\d\d)
        | (?P<relative>tomorrow|today) )\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_AT = re.compile(
    r"\bat\s+(?P<hour>\d{1,2})(?:[:.](?P<minute>\d\d))?\b(?:\s*(?P<half>[ap])\.?m\b\.?|\s+o'clock)?", re.IGNORECASE
)
_TO = re.compile(r"(?:[\s,]*\b(?:to|that|about)\b)?[\s,:]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reminder:
    """What is to be scheduled.

    Attributes:
        what: the task in the user's words.
        arguments: of the tool, but for the date.
        days_ahead: how many days from today it is due, ``None`` where that is not what was said.
    """

    what: str
    arguments: Mapping[str, Any]
    days_ahead: int | None = None

    def call(self, today: date | None) -> dict[str, Any]:
        """The arguments of the tool.

        Args:
            today: the date, needed where :attr:`days_ahead` is given.
        """
        found = {"name": self.what[:_NAME_CHARACTERS].strip(), "prompt": self.what, **self.arguments}
        if self.days_ahead is not None and today is not None:
            found["date"] = (today + timedelta(days=self.days_ahead)).isoformat()
        return found


def asked_reminder(message: str) -> Reminder | None:
    """Find what "Remind me every day at 9 to drink water" asks to schedule; ``None`` if it asks nothing of the kind.

    Args:
        message: what the user wrote.
    """
    asks = _ASKS.search(message) if len(message) <= _LONGEST_MESSAGE else None
    when = _WHEN.search(message) if asks is not None else None
    at = _AT.search(message) if when is not None else None
    if asks is None or when is None or at is None:
        return None
    rest = message
    for match in sorted((when, at), key=lambda each: each.start(), reverse=True):
        if match.start() >= asks.end():
            rest = f"{rest[: match.start()]} {rest[match.end() :]}"
    rest = " ".join(rest[asks.end() :].split())
    lead = _TO.match(rest)
    what = rest[lead.end() if lead is not None else 0 :].strip(" .!?,")
    if not what:
        return None
    hour = int(at["hour"])
    if at["half"]:
        hour = hour % 12 + (12 if at["half"].lower() == "p" else 0)
    arguments: dict[str, Any] = {"schedule_type": "daily", "hour": hour, "minute": int(at["minute"] or 0)}
    days_ahead = None
    if when["day"]:
        arguments |= {"schedule_type": "weekly", "day_of_week": when["day"].capitalize()}
    elif when["date"]:
        arguments |= {"schedule_type": "one_time", "date": when["date"]}
    elif when["relative"]:
        arguments |= {"schedule_type": "one_time"}
        days_ahead = 1 if when["relative"].lower() == "tomorrow" else 0
    return Reminder(what[:1].upper() + what[1:], arguments, days_ahead)


def date_in(text: str) -> date | None:
    """The date at the beginning of what the clock has answered; ``None`` if there is none."""
    try:
        return date.fromisoformat(text.strip()[:10])
    except ValueError:
        return None
