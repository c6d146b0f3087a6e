"""The time zone that a call is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_google_workspace.calendar.times import find_zone

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from oneclaw_google_workspace.client import GoogleClient


async def zone_for(google: GoogleClient, calendar_id: str, time_zone: str | None) -> ZoneInfo:
    """Find the zone that is named, or that of a calendar.

    Args:
        google: the client.
        calendar_id: the calendar.
        time_zone: an IANA name.

    Raises:
        GoogleError: there is no such zone or calendar.
    """
    if time_zone:
        return find_zone(time_zone)
    found = await google.call("calendar.events.list", calendarId=calendar_id, maxResults=1, fields="timeZone")
    return find_zone(str(found.get("timeZone") or "UTC"))
