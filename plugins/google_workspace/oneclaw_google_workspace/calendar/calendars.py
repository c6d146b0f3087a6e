"""The tool ``calendar_manage_calendar``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, google_tool
from oneclaw_google_workspace.calendar.times import find_zone
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.problems import invalid
from oneclaw_google_workspace.wording import passage, quoted

if TYPE_CHECKING:
    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient

_FIELDS = "id,summary,description,location,timeZone"
_ENTRY_FIELDS = "items(id,summary,summaryOverride,primary,accessRole)"
_MOST_CALENDARS = 5_000
# What each argument is called in a question, and by Google.
_NAMES = {"name": "summary", "description": "description", "time_zone": "timeZone"}


@google_tool
async def calendar_manage_calendar(
    action: str,
    calendar_id: str | None = None,
    name: str | None = None,
    description: str | None = None,
    time_zone: str | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Create, change or delete a calendar."""
    google = connect(context)
    given = {"name": name, "description": description, "time_zone": time_zone}
    body = {_NAMES[key]: value.strip() for key, value in given.items() if value is not None}
    if name is not None and not body["summary"]:
        raise invalid("A calendar cannot be without a name.")
    if time_zone is not None:
        find_zone(body["timeZone"])
    words = [f"{key} {passage(value)}" if value else f"no {key}" for key, value in given.items() if value is not None]
    if action == "create":
        if calendar_id or name is None:
            raise invalid("To create a calendar, give its name, and no calendar_id.")
        await google.ask(f"create a calendar: {', '.join(words)}")
        made = await google.call(
            "calendar.calendars.insert",
            body=body,
            fields=_FIELDS,
            unclear_hint="Look for it with calendar_list_calendars",
        )
        return {"status": "created", **_row(made)}
    if not calendar_id:
        raise invalid("Give calendar_id, from calendar_list_calendars.")
    entry = await _entry(google, calendar_id)
    if entry.get("accessRole") != "owner":
        raise invalid(f"Only its owner can change or delete the calendar {entry.get('summary', calendar_id)!r}.")
    shown = quoted(entry.get("summaryOverride") or entry.get("summary") or entry["id"])
    if action == "delete":
        if body:
            raise invalid("To delete a calendar, give nothing but calendar_id.")
        if entry.get("primary"):
            raise invalid("The primary calendar cannot be deleted.")
        await google.ask(f"delete the calendar {shown} permanently, WITH ALL ITS EVENTS, for everybody", "delete")
        await google.delete("calendar.calendars.delete", calendarId=entry["id"])
        return {"status": "deleted", "id": entry["id"], "name": entry.get("summary")}
    if not body:
        raise invalid("Give what to change about the calendar: name, description, time_zone.")
    await google.ask(f"change the calendar {shown}: {', '.join(words)}")
    after = await google.call("calendar.calendars.patch", calendarId=entry["id"], body=body, fields=_FIELDS)
    return {"status": "updated", **_row(after)}


async def _entry(google: GoogleClient, calendar_id: str) -> dict[str, Any]:
    """Find a calendar in the user's list."""
    entries, _ = await google.all_items(
        "calendar.calendarList.list",
        "items",
        fields=_ENTRY_FIELDS,
        limit=_MOST_CALENDARS,
        maxResults=250,
        showHidden=True,
    )
    for each in entries:
        if each["id"] == calendar_id or (calendar_id == "primary" and each.get("primary")):
            return each
    raise invalid(f"The user has no calendar {calendar_id[:100]!r}. calendar_list_calendars lists them.")


def _row(calendar: dict[str, Any]) -> dict[str, Any]:
    return compact(
        {
            "id": calendar.get("id"),
            "name": calendar.get("summary"),
            "description": calendar.get("description"),
            "time_zone": calendar.get("timeZone"),
        }
    )
