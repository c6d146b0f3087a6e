"""The core tool ``get_current_time`` (FEAT-004, "Built-in Tools")."""

from __future__ import annotations

import difflib
import re
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from oneclaw_core.types.tools import ToolResult

if TYPE_CHECKING:
    from oneclaw_core.tools.context import ToolContext

# Not strftime: its names change with the locale.
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip

_NUMERIC_ABBREVIATION = re.compile(r"([+-])(\d\d)(\d\d)?")


def get_current_time(
    timezone: str | None = None,
    format: str = "iso8601",  # noqa: A002  # FEAT-004 names the parameter so
    *,
    context: ToolContext,  # every core tool is called with it
) -> ToolResult:
    """Tell the date and the time.

    Args:
        timezone: an IANA name such as ``Europe/Berlin``; the machine's own if absent or blank.
        format: ``iso8601`` or ``human_readable``, in any case.
        context: of the call.
    """
    write = {"iso8601": iso8601, "human_readable": human_readable}.get(format.strip().lower())
    if write is None:
        return ToolResult.error(
            "validation_error", f'format must be "iso8601" or "human_readable", not {format[:50]!r}.'
        )
    name = (timezone or "").strip()
    try:
        zone = find_zone(name) if name else None
    except LookupError as error:
        return ToolResult.error("validation_error", str(error.args[0]))
    return ToolResult.success(write(datetime.now(zone).astimezone(zone)))


def iso8601(moment: datetime) -> str:
    """Write a moment as ISO 8601 with its offset, to the second: ``2026-11-21T15:05:00+01:00``."""
    return moment.isoformat(timespec="seconds")


def human_readable(moment: datetime) -> str:
    """Write a moment for people, the same in every locale: ``Saturday, November 21, 2026 at 3:05 PM CET``."""
    day = f"{_WEEKDAYS[moment.weekday()]}, {_MONTHS[moment.month - 1]} {moment.day}, {moment.year}"
    time = f"{moment.hour % 12 or 12}:{moment.minute:02d} {'AM' if moment.hour < 12 else 'PM'}"
    abbreviation = moment.tzname() or ""
    # Many zones have no letters, but numbers such as "-03" for an abbreviation.
    numeric = _NUMERIC_ABBREVIATION.fullmatch(abbreviation)
    if numeric:
        sign, hours, minutes = numeric.groups(default="00")
        abbreviation = f"UTC{sign}{hours}:{minutes}"
    return f"{day} at {time} {abbreviation}".rstrip()


def find_zone(name: str) -> tzinfo:
    """Find a time zone by its IANA name, in any case.

    Raises:
        LookupError: there is none; its argument is a sentence that suggests similar ones.
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        pass
    known = available_timezones()
    wanted = name[:100].replace(" ", "_").casefold()
    by_folded_name = {each.casefold(): each for each in known}
    if wanted in by_folded_name:
        return ZoneInfo(by_folded_name[wanted])
    if not known:
        raise LookupError(
            "This machine has no time zone database: leave timezone out, or install the Python package tzdata."
        )
    close = _similar(wanted, sorted(known))
    hint = f"did you mean {' or '.join(close)}?" if close else "use an IANA name such as Europe/Berlin."
    raise LookupError(f"There is no time zone {name[:100]!r}: {hint}")


def _similar(wanted: str, known: list[str]) -> list[str]:
    same_city = [each for each in known if each.casefold().rpartition("/")[2] == wanted.rpartition("/")[2]]
    if same_city:
        return same_city[:3]
    folded = {each.casefold(): each for each in known} | {each.casefold().rpartition("/")[2]: each for each in known}
    matches = difflib.get_close_matches(wanted, folded, n=3, cutoff=0.7)
    return list(dict.fromkeys(folded[match] for match in matches))
