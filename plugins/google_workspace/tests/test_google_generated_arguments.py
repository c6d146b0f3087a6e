"""Every tool with generated arguments: whatever it is called with, each request fits Google's description.

With ``ONECLAW_TESTS_LONG=1`` it is a hundred sets of arguments for each tool, otherwise a few.
"""

import asyncio
import os
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from google_arguments import Generated
from google_desk import give_database, make_home, open_home, sign_in, stand_in
from google_slides_pages import Element, Text
from oneclaw_google_workspace import GROUPS
from oneclaw_google_workspace.drive import exporting
from test_google_manifests import manifest_of

from oneclaw_core import PermissionAnswer

pytestmark = pytest.mark.one_python

IS_LONG = os.environ.get("ONECLAW_TESTS_LONG", "") not in ("", "0")
SETS = 100 if IS_LONG else 6
# What a tool may say of arguments that fit its schema and mean nothing; the first is a success, the last two are what
# the stand-in's own mistakes look like.
ANSWERS = {
    *(None, "validation_error", "not_found", "not_available", "permission_denied", "conflict", "execution_error"),
    *("service_unavailable", "unknown_outcome"),
}
ZONES = ("Europe/Berlin", "Asia/Tokyo")
TIMES = ("2026-03-30T10:00", "2026-03-31T10:00:00+02:00", "2026-04-01", "2026-04-02")


def furnish(google):
    """Have something of everything."""
    services = google.services
    gmail, drive, calendar, people = (services[name] for name in ("gmail", "drive", "calendar", "people"))
    gmail.forwarding_addresses = {"cy@example.org": "accepted"}
    gmail.send_as["ana@example.com"]["signature"] = "<b>Ana</b>"
    for number in range(4):
        gmail.deliver("Bo <bo@example.net>", f"Roof {number}", "It leaks.", html="<p>It leaks.</p>",
                      files=(("plan.pdf", b"%PDF", "application/pdf"),))  # fmt: skip
    gmail.add_label("Shop")
    gmail.add_filter({"from": "bo@example.net"}, {"addLabelIds": ["STARRED"]})
    drive.add("notes.txt", b"Hello", mime_type="text/plain")
    drive.add_folder("Folder")
    soon = datetime.now(UTC) + timedelta(days=1)
    calendar.add("Lunch", "2026-03-31T12:00", guests={"ana@example.com": "accepted", "bo@example.net": "accepted"})
    calendar.add("Standup", "2026-03-30T09:00", recurrence=["RRULE:FREQ=DAILY;COUNT=9"])
    calendar.add("Talk", soon.isoformat())
    calendar.add_calendar("team#1@group.calendar.google.com", "Team", {"ana@example.com": "owner"})
    people.add_group("Roofers")
    people.add("Bo Berg")
    services["docs"].add("Text", "Hello world", "Second")
    services["sheets"].add("Book", Sheet1=[["a", 1], ["b", 2]], Other=[])
    services["slides"].add("Deck", {"title": "Hi", "elements": [Element("shape-1", text=Text("old"))]})
    services["forms"].add("Survey", {"title": "Who", "questionItem": {"question": {"textQuestion": {}}}})
    services["tasks"].add("Milk")


def known_texts(google, name):
    """Texts that mean something for a parameter, as things are now."""
    services = google.services
    gmail, calendar, people = (services[each] for each in ("gmail", "calendar", "people"))
    events = list(calendar.calendars["ana@example.com"].events)
    ids = {
        "message_ids": list(gmail.mails),
        "draft_id": list(gmail.drafts),
        "labels": [each["name"] for each in gmail.labels.values()],
        "filter_id": list(gmail.filters),
        "file_id": list(services["drive"].files),
        "event_id": [*events, *(f"{each}_20260401T070000Z" for each in events)],
        "calendar_id": ["primary", *calendar.calendars],
        "resource_names": list(people.contacts),
        "groups": list(people.groups.values()),
        "document_id": list(services["docs"].documents),
        "spreadsheet_id": list(services["sheets"].books),
        "presentation_id": list(services["slides"].presentations),
        "form_id": list(services["forms"].forms),
        "item_id": [item["itemId"] for form in services["forms"].forms.values() for item in form.get("items", [])],
        "task_ids": [task["id"] for tasks in services["tasks"].tasks.values() for task in tasks],
        "tasklist_id": ["@default", *services["tasks"].lists],
        "addresses": ["bo@example.net", "Cy <cy@example.org>", "ana@example.com"],
        "times": TIMES,
        "zones": ZONES,
    }
    names = {
        **dict.fromkeys(("thread_id", "thread_ids", "reply_to_message_id", "forward_message_id"), "message_ids"),
        **dict.fromkeys(("label", "label_ids", "add_labels", "remove_labels"), "labels"),
        **dict.fromkeys(("file_ids", "folder_id", "target_folder_id", "destination_folder_id"), "file_id"),
        **dict.fromkeys(("calendar_ids", "move_to_calendar_id"), "calendar_id"),
        **dict.fromkeys(("resource_name",), "resource_names"),
        **dict.fromkeys(("group", "add_groups", "remove_groups"), "groups"),
        **dict.fromkeys(("delete_item_ids", "move_item_id"), "item_id"),
        **dict.fromkeys(("task_id", "parent_id", "previous_id"), "task_ids"),
        **dict.fromkeys(("destination_tasklist_id",), "tasklist_id"),
        **dict.fromkeys(
            ("to", "cc", "bcc", "reply_to", "from_address", "attendees", "optional_attendees", "add_attendees",
             "remove_attendees", "forward_to", "send_as_email", "emails", "email"), "addresses"
        ),
        **dict.fromkeys(("start", "end", "time_min", "time_max", "due", "since", "birthday"), "times"),
        "time_zone": "zones",
    }  # fmt: skip
    texts = {
        "recurrence": ["RRULE:FREQ=WEEKLY;COUNT=3", "FREQ=DAILY"],
        "range": ["A1", "Sheet1!A1:B2", "Other!A:C"],
        "ranges": ["A1", "Sheet1!A1:B2"],
        "object_id": ["shape-1"],
        "signature_html": ["<b>Ana</b>"],
        "media_url": ["https://example.com/a.png", "https://youtu.be/x"],
    }
    return texts.get(name) or ids.get(names.get(name, name), ())


@pytest.mark.parametrize("group", GROUPS)
def test_every_request_of_generated_arguments_fits_googles_description(group, tmp_path, monkeypatch):
    monkeypatch.setattr(exporting, "_FIRST_PAUSE_SECONDS", 0.001)
    tools = [entry for entry in manifest_of(group) if "_meta" not in entry]
    outcomes = {}

    async def agree(_):
        return PermissionAnswer.ONCE

    async def run(google, home):
        async with open_home(home, ask=agree, start_directory=tmp_path) as claw:
            for number in range(SETS):
                for entry in tools:
                    if number % 5 == 0:
                        furnish(google)
                    name = entry["name"]
                    generated = Generated(f"{name} {number}", partial(known_texts, google))
                    arguments = generated.arguments(entry["parameters"])
                    result = (await claw.call_tool(name, arguments)).result
                    outcomes.setdefault(name, []).append(result.error_type)
                    assert result.error_type in ANSWERS, f"{name} {arguments}: {result.error_message}"
                    assert "does not have the form" not in str(result.error_message), f"{name} {arguments}"

    with stand_in(monkeypatch) as google:
        home = make_home(tmp_path / "home", monkeypatch)
        give_database(home)
        sign_in(google, home, extra=("contacts.other.readonly", "directory.readonly"))
        asyncio.run(run(google, home))
        sent = [each.method_id for each in google.requests if each.method_id]
        # What only the stand-in does not know to do is no fault of a request.
        google.misfits = [each for each in google.misfits if not each.startswith("the stand-in")]

    assert all(len(found) == SETS for found in outcomes.values())
    assert sent
    if IS_LONG:
        assert {name for name, found in outcomes.items() if None not in found} == set()
