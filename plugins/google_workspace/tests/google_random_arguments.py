"""Arguments made at random from the schemas of tools: half of them of things that there are, half of anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random import Random

    from google_server import GoogleServer

Schema = dict[str, Any]
Known = dict[str, list[str]]

TEXTS = ("x", "Ä & Ö + 50 %", "a/b", "😀", "root", "2026-03-31", "2026-03-31T10:00:00Z", "bo@example.net")
_DAYS = ["2026-03-30", "2026-04-02", "2026-03-31T10:00:00Z", "2026-03-31T12:00:00+02:00"]
_PEOPLE = ["bo@example.net", "Cy Berg <cy@example.org>"]
_COLORS = ["#16a766", "#ffffff"]


def known_things(google: GoogleServer) -> Known:
    """Make one thing of each kind, and give the values of the parameters that name them."""
    services = google.services
    mails = [services["gmail"].deliver("Bo <bo@example.net>", f"Roof {number}", "Hello") for number in range(3)]
    document = services["docs"].add("Plan", "Tea\nand milk\n")
    book = services["sheets"].add("Budget", Sales=[["Milk", 2], ["Tea", 3]])
    deck = services["slides"].add("Plan", {"title": "Goals"})
    form = services["forms"].add("Survey")
    task = services["tasks"].add("Milk")
    file = services["drive"].add("note.txt", content=b"Hello", shared_with={"dee@example.com": "reader"})
    folder = services["drive"].add_folder("Folder")
    event = services["calendar"].add("Talk", "2026-03-31T10:00:00+00:00")
    person = services["people"].add("Bo")
    slide = services["slides"].presentations[deck].slides[0].id
    return {
        "message_ids": mails,
        "thread_ids": mails,
        "thread_id": mails,
        "reply_to_message_id": mails,
        "labels": ["INBOX", "UNREAD", "Shops"],
        "document_id": [document],
        "spreadsheet_id": [book],
        "destination_spreadsheet_id": [book],
        "presentation_id": [deck],
        "slide_id": [slide],
        "form_id": [form],
        "file_id": [file, document],
        "file_ids": [file, folder],
        "folder_id": [folder],
        "parent_id": [folder],
        "task_id": [task],
        "task_ids": [task],
        "tasklist_id": ["@default"],
        "event_id": [event],
        "calendar_id": ["primary"],
        "calendar_ids": ["primary"],
        "resource_name": [person],
        "resource_names": [person],
        "range": ["Sales!A1:B2", "B2", "Sales"],
        "ranges": ["Sales!A1:B2", "B2"],
        "tab": ["Sales"],
        "color": _COLORS,
        **dict.fromkeys(("start", "end", "time_min", "time_max", "due", "since", "due_after", "due_before"), _DAYS),
        **dict.fromkeys(("to", "cc", "bcc", "attendees", "add_attendees", "email"), _PEOPLE),
    }


def random_arguments(schema: Schema, known: Known, random: Random) -> dict[str, Any]:
    """Make arguments that fit the schema; what is not required is there now and then."""
    required = schema.get("required", ())
    return {
        name: _value(name, each, known, random)
        for name, each in schema.get("properties", {}).items()
        if name != "account" and (name in required or random.random() < 0.3)
    }


def _value(name: str, schema: Schema, known: Known, random: Random) -> Any:
    if "enum" in schema:
        return random.choice(schema["enum"])
    kind = schema.get("type")
    if kind == "array":
        least = schema.get("minItems", 0)
        count = random.randint(least, max(least, min(schema.get("maxItems", 3), 3)))
        return [_value(name, schema.get("items", {}), known, random) for _ in range(count)]
    if kind == "object":
        return random_arguments(schema, known, random)
    if kind in ("integer", "number"):
        low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
        high = schema.get("maximum", low + 50)
        number = random.choice([low, high, random.randint(int(low), int(high))])
        return number if kind == "integer" else max(number, low + 0.5)
    if kind == "boolean":
        return random.random() < 0.5
    if "color" in name and random.random() < 0.8:
        return random.choice(_COLORS)
    chosen = known[name] if name in known and random.random() < 0.8 else TEXTS
    return random.choice(chosen)[: schema.get("maxLength", 1000)]
