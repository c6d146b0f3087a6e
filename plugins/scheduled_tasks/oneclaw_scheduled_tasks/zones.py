"""Time zones: finding one by its IANA name, and the user's own."""

from __future__ import annotations

import warnings
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from oneclaw_core import UsageError

# Another one on each machine.
_OF_THE_MACHINE = "localtime"


def find_zone(name: str) -> ZoneInfo:
    """Find a time zone by its IANA name."""
    wanted = name.strip()
    try:
        zone = ZoneInfo(wanted)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        zone = None
    if zone is not None and wanted != _OF_THE_MACHINE:
        return zone
    folded = wanted[:100].replace(" ", "_").casefold()
    known = {each.casefold(): each for each in available_timezones() - {_OF_THE_MACHINE}}
    if folded in known:
        return ZoneInfo(known[folded])
    from difflib import get_close_matches

    cities = {each.rpartition("/")[2]: full for each, full in known.items()} | known
    close = list(dict.fromkeys(cities[each] for each in get_close_matches(folded, cities, n=3, cutoff=0.7)))
    hint = f"did you mean {' or '.join(close)}?" if close else "use an IANA name such as Europe/Berlin"
    raise UsageError(f"there is no time zone {name[:100]!r}: {hint}")


def user_zone_name() -> str:
    """The IANA name of the machine's time zone, ``UTC`` where it has none."""
    from tzlocal import get_localzone_name

    with warnings.catch_warnings():
        # That two settings of the machine disagree is nothing that a task could fix.
        warnings.simplefilter("ignore")
        try:
            found = get_localzone_name()
        except (ZoneInfoNotFoundError, ValueError, OSError):
            return "UTC"
    try:
        return find_zone(found or "UTC").key
    except UsageError:
        return "UTC"
