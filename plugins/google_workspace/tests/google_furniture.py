"""A stand-in in which there is something of everything, and the ids by which tools are called with it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from google_slides_pages import Element, Text

if TYPE_CHECKING:
    from google_server import GoogleServer

BO, CY = "bo@example.net", "cy+news@example.com"
LINK = "https://example.com/tea.png?a=1&b=2"
COLORS = ["#1a73e8", "#fff", "#16a766"]


def furnish(google: GoogleServer) -> dict[str, list[Any]]:
    """Have something of everything; gives what tools can be called with, by the names of parameters."""
    return {
        **_words(),
        **_drive(google),
        **_documents(google),
        **_spreadsheets(google),
        **_presentations(google),
        **_mail(google),
        **_calendar(google),
        **_people(google),
        **_forms(google),
        **_tasks(google),
    }


def _words() -> dict[str, list[Any]]:
    colors = ("text_color", "background_color", "fill_color", "highlight_color", "border_color", "color")
    people = ("to", "cc", "bcc", "email", "owner", "attendees", "optional_attendees", "add_attendees", "reply_to")
    moments = ("start", "end", "time_min", "time_max", "modified_after", "modified_before", "since", "expires")
    days = ("due", "due_after", "due_before")
    return {
        **dict.fromkeys(colors, COLORS),
        **{key: [BO, CY] for key in people},
        **{key: ["2026-03-31", "2027-01-31T10:00:00+01:00"] for key in (*moments, *days)},
        **{key: [LINK] for key in ("image_url", "link_url")},
        "domain": ["example.com"],
        "time_zone": ["Europe/Berlin", "Asia/Tokyo"],
        "recurrence": ["RRULE:FREQ=WEEKLY;COUNT=4"],
        "birthday": ["1990-03-31", "--03-31"],
        "source_path": ["note.txt"],
        "mime_type": ["text/plain"],
        "save_path": ["out/"],
        "find": ["tea", "[a-z]+"],
        "match_text": ["tea", "Bring"],
        "anchor_text": ["tea", "milk"],
    }


def _drive(google: GoogleServer) -> dict[str, list[Any]]:
    drive = google.services["drive"]
    folder = drive.add_folder("Ä & Ö")
    files = [drive.add(f"File {number}", b"tea", shared_with={BO: "reader"}) for number in range(3)]
    shared = drive.add_shared_drive("Team")
    return {
        "file_id": [*files, folder],
        "file_ids": files,
        "folder_id": [folder, "root"],
        "shared_drive_id": [shared],
        "permission_id": [next(iter(drive.files[files[0]].permissions))],
    }


def _documents(google: GoogleServer) -> dict[str, list[Any]]:
    docs, drive = google.services["docs"], google.services["drive"]
    document = docs.add("Plan", "Bring tea and milk", {"table": [["a", "tea"], ["b", "2"]]}, "More tea 😀")
    drive.add_google_file("Plan", "document", document)
    tab = docs.add_tab(document, "Costs", "tea and milk")
    google.services["docs"].add_tab(document, "Below", "tea", parent=tab)
    thread = drive.comment(document, "Green?", author="ana@example.com", quote="tea")
    reply = drive.answer(thread, "Yes", author="ana@example.com")
    return {
        "document_id": [document],
        "tab_id": ["t.0", tab],
        "tab_ids": ["t.0", tab],
        "parent_tab_id": [tab],
        "index": [0, 1, 3, 5],
        "start_index": [1, 3],
        "end_index": [5, 8],
        "comment_id": [thread.head.id],
        "reply_id": [reply.id],
    }


def _spreadsheets(google: GoogleServer) -> dict[str, list[Any]]:
    rows = [["What", "Price", "Sold"], ["Milk", 2, 9], ["Tea", 7, 4], ["Bread", 3, 6]]
    sheets = google.services["sheets"]
    books = [sheets.add("Budget", Sales=rows, Lists=[["open"], ["done"]]), sheets.add("Other")]
    data = [{"sheetId": 0, "startRowIndex": 0, "endRowIndex": 4} | column for column in (_column(0), _column(1))]
    domain, series = ({"sourceRange": {"sources": [each]}} for each in data)
    basic = {
        "chartType": "LINE",
        "domains": [{"domain": domain}],
        "series": [{"series": series, "targetAxis": "LEFT_AXIS"}],
    }
    for chart_id in range(7, 40):
        chart = {"chartId": chart_id, "spec": {"title": "Sold", "basicChart": basic}, "position": {}}
        sheets.books[books[0]].sheet("Sales").charts.append(chart)
    sheets.books[books[0]].names["Prices"] = {"sheetId": 0, **_column(1)}
    ranges = ["Sales!A1:B4", "Lists!A1:A2", "B2", "Sales", "Prices", "Sales!B:C"]
    return {
        "spreadsheet_id": books[:1],
        "destination_spreadsheet_id": books[1:],
        **dict.fromkeys(("range", "ranges"), ranges),
        "tab": ["Sales", "Lists", "0"],
        "cell": ["Sales!B2", "Lists!C3"],
        "column": ["A", "B", 0, 1],
        "chart_id": list(range(7, 40)),
    }


def _column(number: int) -> dict[str, int]:
    return {"startColumnIndex": number, "endColumnIndex": number + 1}


def _presentations(google: GoogleServer) -> dict[str, list[Any]]:
    slides = google.services["slides"]
    size = {"width": {"magnitude": 200, "unit": "PT"}, "height": {"magnitude": 100, "unit": "PT"}}
    place = {"size": size, "transform": {"scaleX": 1, "scaleY": 1, "unit": "EMU"}}
    table = Element("table-1", kind="table", cells=[[Text("What"), Text("tea")], [Text("Tea"), Text("")]])
    boxes = [Element(f"box-{number}x", text=Text("tea"), properties=dict(place)) for number in range(9)]
    pages = [{"title": f"Goals {number}", "body": "tea"} for number in range(30)]
    deck = slides.add("Talk", {"title": "Goals", "body": "tea", "elements": [table, *boxes]}, *pages)
    google.services["drive"].add_google_file("Talk", "presentation", deck)
    ids = [slide.id for slide in slides.presentations[deck].slides]
    return {
        "presentation_id": [deck],
        **dict.fromkeys(("slide_id", "slide_ids", "thumbnail_slide_id"), ids[:3]),
        "object_id": [*ids[:2], "table-1", *(each.id for each in boxes)],
        "object_ids": [*ids[5:], boxes[-1].id],
        "layout_id": ["layout-TITLE"],
        "row": [0, 1],
    }


def _mail(google: GoogleServer) -> dict[str, list[Any]]:
    gmail = google.services["gmail"]
    mails = [gmail.deliver(f"{BO}", f"Roof {number}", "tea") for number in range(4)]
    gmail.add_alias("ana+shop@example.com", "Ana")
    label = gmail.add_label("Shops/Ä & Ö")
    raw = b"From: Ana <ana@example.com>\r\nTo: bo@example.net\r\nSubject: Soon\r\n\r\ntea\r\n"
    drafts = [f"r-{number}" for number in range(40)]
    gmail.drafts |= {each: gmail.deliver("", "", raw=raw, labels=("DRAFT",)) for each in drafts}
    made = [gmail.add_filter({"from": BO}, {"removeLabelIds": ["INBOX"]}) for _ in range(3)]
    return {
        **dict.fromkeys(("message_ids", "thread_ids", "thread_id", "reply_to_message_id"), mails),
        **{
            key: [label, "Shops/Ä & Ö", "INBOX"]
            for key in ("labels", "label", "label_ids", "add_labels", "remove_labels")
        },
        **{key: ["ana+shop@example.com"] for key in ("from_address", "send_as_email")},
        "filter_id": made,
        "draft_id": drafts,
    }


def _calendar(google: GoogleServer) -> dict[str, list[Any]]:
    calendar = google.services["calendar"]
    calendar.add_calendar("team#1@group.calendar.google.com", "Team", {"ana@example.com": "writer"})
    soon = datetime.now(UTC) + timedelta(days=1)
    events = [calendar.add(f"Talk {number}", (soon + timedelta(hours=number)).isoformat()) for number in range(20)]
    ids = ["primary", "team#1@group.calendar.google.com"]
    return {"event_id": events, "calendar_id": ids, "calendar_ids": ids, "move_to_calendar_id": ids[1:]}


def _people(google: GoogleServer) -> dict[str, list[Any]]:
    people = google.services["people"]
    groups = [people.add_group("Roof & co.")]
    names = [people.add(f"Bo {number}") for number in range(20)]
    return {
        **dict.fromkeys(("resource_name", "resource_names"), names),
        **{key: [*groups, "Roof & co."] for key in ("group", "groups", "add_groups", "remove_groups")},
    }


def _forms(google: GoogleServer) -> dict[str, list[Any]]:
    return {"form_id": [google.services["forms"].add("Party")]}


def _tasks(google: GoogleServer) -> dict[str, list[Any]]:
    tasks = google.services["tasks"]
    made = [tasks.add(f"Task {number}") for number in range(30)]
    lists = [tasks.add_list(f"List {number}") for number in range(20)]
    return {
        **{
            key: [each if isinstance(each, str) else each["id"] for each in made]
            for key in ("task_id", "task_ids", "parent_id", "previous_id")
        },
        **{key: [*lists, "@default"] for key in ("tasklist_id", "destination_tasklist_id")},
    }
