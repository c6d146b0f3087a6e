"""A tour through all tools, with arguments that make them call every method of Google's that they use.

Ids, names and searches have characters in them that paths and queries must not be broken by.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from google_desk import open_home, sign_in, sign_in_service_account
from google_slides_pages import Element, Text
from oneclaw_google_workspace.drive import transfers
from oneclaw_google_workspace.gmail import sending

from oneclaw_core import PermissionAnswer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import pytest
    from google_server import GoogleServer

    from oneclaw_core import Home

    Call = Callable[..., Awaitable[Any]]

CY = "cy+news@example.net"
TEAM = "team#1@group.calendar.google.com"
ODD = "Milk & bread + 50 % for Ä/Ö?"


def take_the_tour(
    google: GoogleServer, home: Home, service_key: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """Call all tools, all of which must succeed; gives their names in order."""
    sign_in(google, home, extra=("contacts.other.readonly", "directory.readonly"))
    sign_in_service_account(
        google, home, service_key, "gmail.settings.basic", "gmail.settings.sharing", "gmail.labels", name="robot"
    )
    monkeypatch.setattr(transfers, "_FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(sending, "LARGEST_IN_JSON_BYTES", 400_000)
    called: list[str] = []

    async def agree(_: Any) -> PermissionAnswer:
        return PermissionAnswer.ONCE

    async def run() -> None:
        project = home.path.parent
        async with open_home(home, ask=agree, start_directory=project) as claw:

            async def call(tool: str, **arguments: Any) -> Any:
                result = (await claw.call_tool(tool, arguments)).result
                assert result.is_success, f"{tool} {arguments}: {result.error_type}: {result.error_message}"
                assert "failed" not in result.result, f"{tool} {arguments}: {result.result['failed']}"
                called.append(tool)
                return result.result

            for visit in (_mail, _drafts, _mail_settings, _drive, _drive_rights, _calendar, _contacts):
                await visit(google, call)
            for visit in (_documents, _spreadsheets, _presentations, _comments, _forms, _tasks):
                await visit(google, call)
            monkeypatch.setenv("ONECLAW_GOOGLE_ACCOUNT", "robot")
            await _forwarding(google, call)

    (home.path.parent / "big file.bin").write_bytes(bytes(range(256)) * 2_000)
    asyncio.run(run())
    return called


async def _mail(google: GoogleServer, call: Call) -> None:
    gmail = google.services["gmail"]
    roof = gmail.deliver(
        "Bo <bo@example.net>", "Roof", "x" * 30_000, files=(("plan.pdf", b"%PDF" * 20_000, "application/pdf"),)
    )
    others = [gmail.deliver(f"shop{number}@example.org", ODD) for number in range(3)]
    await call("gmail_search", query='subject:"Milk & bread" after:2026/03/31 -in:chats', include_spam_trash=True)
    page = await call("gmail_search", label_ids=["INBOX", "UNREAD"], max_results=2)
    await call("gmail_search", label_ids=["INBOX", "UNREAD"], max_results=2, page_token=page["next_page_token"])
    await call("gmail_read", message_ids=[roof], save_attachments_to="mail")
    await call("gmail_read", thread_id=roof)
    await call("gmail_label_add", message_ids=others, thread_ids=[roof], labels=["Shops/Ä & Ö"], create_missing=True)
    await call("gmail_label_remove", message_ids=others, labels=["UNREAD"])
    await call("gmail_archive", message_ids=others, thread_ids=[roof], mark_read=True)
    await call("gmail_trash", message_ids=others, thread_ids=[roof])
    await call("gmail_trash", message_ids=others, thread_ids=[roof], restore=True)
    await call("gmail_send", to=[CY], subject=ODD, body="Grüße", attachments=["big file.bin"])
    gmail.send_as["ana@example.com"]["signature"] = "<b>Ana</b>"
    await call(
        "gmail_send", body="<p>Yes</p>", body_format="html", reply_to_message_id=roof, reply_all=True,
        quote_original=True, add_signature=True,
    )  # fmt: skip
    await call("gmail_send", to=[CY], body=ODD, forward_message_id=roof)


async def _drafts(google: GoogleServer, call: Call) -> None:
    draft = await call("gmail_draft_create", to=[CY], subject=ODD, body="Soon", attachments=["big file.bin"])
    await call("gmail_draft_create", draft_id=draft["draft_id"], body="Sooner")
    (row,) = (await call("gmail_search", query="in:drafts"))["messages"]
    await call("gmail_draft_send", draft_id=row["id"])


async def _mail_settings(google: GoogleServer, call: Call) -> None:
    google.services["gmail"].add_alias("ana+shop@example.com", "Ana")
    await call("gmail_settings_get")
    made = await call(
        "gmail_label_manage",
        action="create",
        name="Ämter/Steuer 50 %",
        background_color="#16a766",
        text_color="#ffffff",
    )
    await call("gmail_label_manage", action="update", label=made["id"], name="Steuer")
    filtered = await call("gmail_filter_manage", action="create", sender=CY, add_labels=["Steuer"], archive=True)
    await call("gmail_filter_manage", action="apply", filter_id=filtered["filter_id"])
    await call("gmail_filter_manage", action="delete", filter_id=filtered["filter_id"])
    await call("gmail_label_manage", action="delete", label="Steuer")
    for address in ("ana+shop@example.com", None):
        arguments = {"send_as_email": address} if address else {}
        await call("gmail_settings_update", setting="signature", signature_html="<b>Ana</b>", **arguments)
    await call("gmail_settings_update", setting="vacation", enabled=True, subject="Away", body="Back on Monday")


async def _forwarding(google: GoogleServer, call: Call) -> None:
    google.services["gmail"].forwarding_addresses = {CY: "accepted"}
    await call("gmail_settings_update", setting="forwarding", enabled=True, forward_to=CY, disposition="archive")


async def _drive(google: GoogleServer, call: Call) -> None:
    drive = google.services["drive"]
    shared = drive.add_shared_drive("Team")
    folder = (await call("drive_create_folder", name=ODD, color="#16a766"))["id"]
    made = await call("drive_upload_file", source_path="big file.bin", folder_id=folder, description=ODD)
    await call("drive_upload_file", content="Grüße", name="note.txt", convert_to="document", ocr_language="de")
    await call("drive_upload_file", file_id=made["id"], content="shorter", mime_type="text/plain")
    page = await call("drive_list_files", folder_id="root", max_results=1, order_by="modifiedTime desc")
    await call("drive_list_files", max_results=1, order_by="modifiedTime desc", page_token=page["next_page_token"])
    await call("drive_list_files", view="shared_drives")
    await call("drive_list_files", shared_drive_id=shared)
    await call("drive_search_files", query="Ana's \\ tea & 50 %", modified_after="2026-03-31", owner=CY)
    await call("drive_search_files", corpora="allDrives", file_type="image", include_trashed=True)
    await call("drive_download_file", file_id=made["id"])
    document = drive.add_google_file("Letter", "document", exports={"text/html": b"<p>", "text/markdown": b"#"})
    await call("drive_download_file", file_id=document, export_format="html", save_path="out/letter.html")
    long = drive.add_google_file("Long", "document", exports={"text/markdown": b"x" * (11 * 1024 * 1024)})
    await call("drive_download_file", file_id=long)
    await call("drive_manage_file", action="rename", file_ids=[made["id"]], name="Ä & Ö.bin")
    await call("drive_manage_file", action="copy", file_ids=[made["id"]], folder_id=folder)
    await call("drive_manage_file", action="create_shortcut", file_ids=[made["id"]], name="Here")
    await call("drive_manage_file", action="move", file_ids=[made["id"], document], folder_id=folder)
    await call("drive_manage_file", action="star", file_ids=[made["id"], document])


async def _drive_rights(google: GoogleServer, call: Call) -> None:
    file = google.services["drive"].add("Budget", shared_with={"dee@example.com": "reader"})
    await call("drive_share_file", file_id=file, email=CY, message=ODD, expires="2027-01-31")
    await call("drive_share_file", file_id=file, type="anyone")
    await call("drive_share_file", file_id=file, action="update", email="dee@example.com", role="writer")
    await call("drive_share_file", file_id=file, action="revoke", email="dee@example.com")
    await call("drive_get_file", file_id=file, include_permissions=True)


async def _calendar(google: GoogleServer, call: Call) -> None:
    calendar = google.services["calendar"]
    calendar.add_calendar(TEAM, "Team", {"ana@example.com": "writer"})
    soon = datetime.now(UTC) + timedelta(days=1)
    for number in range(2):
        calendar.add(f"Talk {number}", (soon + timedelta(hours=number)).isoformat(), calendar_id=TEAM)
    page = await call("calendar_list_events", calendar_id=TEAM, query="talk & more"[:4], max_results=1)
    await call(
        "calendar_list_events", calendar_id=TEAM, query="talk", max_results=1, page_token=page["next_page_token"]
    )
    await call("calendar_list_events", event_types=["default", "focusTime"], time_zone="Asia/Tokyo")
    await call("calendar_list_calendars", min_access_role="reader", show_hidden=True)
    series = await call(
        "calendar_create_event",
        summary=ODD,
        start="2026-03-30T10:00",
        attendees=[CY],
        recurrence=["RRULE:FREQ=WEEKLY;COUNT=4"],
        reminders=[{"minutes": 10}],
        add_meet=True,
        attachments=["https://drive.google.com/open?id=file000001"],
        send_updates="externalOnly",
    )
    await call("calendar_get_event", event_id=series["id"], instances=2, time_zone="America/New_York")
    single = await call("calendar_create_event", summary="Fair", start="2026-04-01", end="2026-04-03")
    await call("calendar_update_event", event_id=single["id"], summary="Fair 2", add_attendees=[CY], location="Halle 4")
    await call("calendar_update_event", event_id=single["id"], move_to_calendar_id=TEAM, send_updates="none")
    await call("calendar_find_free_time", calendar_ids=["primary", TEAM], time_min="2026-03-30", time_max="2026-04-02")
    following = f"{series['id']}_20260413T080000Z"
    await call("calendar_update_event", event_id=following, summary="Later", location=ODD, this_and_following=True)
    following = f"{series['id']}_20260406T080000Z"
    await call("calendar_delete_event", event_id=following, this_and_following=True)
    await call("calendar_delete_event", event_id=series["id"], send_updates="none")
    made = await call("calendar_manage_calendar", action="create", name=ODD, time_zone="Asia/Tokyo")
    await call("calendar_manage_calendar", action="update", calendar_id=made["id"], description=ODD)
    await call("calendar_manage_calendar", action="delete", calendar_id=made["id"])


async def _contacts(google: GoogleServer, call: Call) -> None:
    people = google.services["people"]
    people.others.append({"resourceName": "otherContacts/o1", "names": [{"displayName": "Cy Old"}]})
    people.directory += [
        {"resourceName": f"people/{number}", "names": [{"displayName": f"Dee {number}"}]} for number in range(12)
    ]
    people.add_group("Roof & co.")
    for number in range(3):
        people.add(f"Bo {number}")
    made = await call(
        "contacts_create", given_name="Zoë", emails=[{"value": CY}], birthday="--03-31", groups=["Roof & co."]
    )
    name = made["resource_name"]
    await call("contacts_update", resource_name=name, notes=ODD, remove_groups=["Roof & co."], add_groups=["friends"])
    await call("contacts_search", query="Zoë & co")
    await call("contacts_search", query="cy", source="other_contacts")
    page = await call("contacts_search", query="dee", source="directory")
    await call("contacts_search", query="dee", source="directory", page_token=page["next_page_token"])
    page = await call("contacts_list", max_results=2, sort="last_modified")
    await call("contacts_list", max_results=2, sort="last_modified", page_token=page["next_page_token"])
    await call("contacts_list", group="friends", include_groups=True)
    await call("contacts_list", resource_names=[name, *list(people.contacts)[:1]])
    label = await call("contacts_label_manage", action="create", name=ODD, resource_names=[name])
    await call("contacts_label_manage", action="rename", label=label["resource_name"], name="Ä & Ö")
    await call("contacts_label_manage", action="remove", label="Ä & Ö", resource_names=[name])
    await call("contacts_label_manage", action="delete", label="Ä & Ö")
    await call("contacts_delete", resource_names=[name])
    await call("contacts_delete", resource_names=list(people.contacts)[:2])


async def _documents(google: GoogleServer, call: Call) -> None:
    folder = google.services["drive"].add_folder("Docs")
    await call("docs_create", title="Empty")
    made = await call("docs_create", title=ODD, content="Tea 😀\nand milk", folder_id=folder)
    await call("docs_create", title="Page", content="# Head\n\n- one", content_format="markdown")
    document = made["document_id"]
    await call("docs_read", document_id=document, include_indexes=True, include_comments=False, suggestions="inline")
    await call("docs_insert_text", document_id=document, text="More", position="after_text", anchor_text="milk")
    await call("docs_insert_text", document_id=document, text="Maybe", suggest=True)
    await call("docs_replace_text", document_id=document, replacements=[{"find": "Tea", "replace": "Kaffee"}])
    await call("docs_insert_element", document_id=document, element="table", data=[["a", "Ä"], ["1", "2"]])
    await call("docs_format", document_id=document, match_text="milk", bold=True, text_color="#ff0000")
    tab = await call("docs_manage_tab", document_id=document, action="add", title="Ä & Ö", text="tea")
    await call("docs_set_header_footer", document_id=document, part="footer", text=ODD, tab_id=tab["tab_id"])


async def _spreadsheets(google: GoogleServer, call: Call) -> None:
    folder = google.services["drive"].add_folder("Books")
    made = await call("sheets_create", title=ODD, tabs=["My 'Tab'", "B"], values=[["a", 1.5]], folder_id=folder)
    book = {"spreadsheet_id": made["spreadsheet_id"]}
    await call("sheets_get_info", **book, include=["merges", "charts"])
    await call("sheets_update_values", **book, range="'My ''Tab'''!B2", values=[["=SUM(1+1)", None, True]])
    await call(
        "sheets_update_values", **book, range="B!A1", values=[["1"]], more=[{"range": "B!C3", "values": [["2"]]}]
    )
    await call("sheets_append_rows", **book, range="B", values=[["x & y", 3]], value_input_option="RAW")
    await call("sheets_read_values", **book, ranges=["B!A1:C9", "'My ''Tab'''!A1:B2"], value_render="FORMULA")
    await call("sheets_clear_values", **book, ranges=["B!C3", "'My ''Tab'''!B2:C2"])
    await call("sheets_manage_structure", **book, action="add_tab", title="Ä & Ö", rows=10, columns=4)
    other = google.services["sheets"].add("Other")
    await call("sheets_manage_structure", **book, action="copy_tab_to", tab="Ä & Ö", destination_spreadsheet_id=other)
    await call("sheets_format_cells", **book, range="B!A1:C1", bold=True, background_color="#ffeeaa", borders="all")
    await call("sheets_manage_structure", **book, action="name_range", title="Preis", range="B!A1:B2")
    await call("sheets_manage_structure", **book, action="add_chart", range="B!A1:B2", title=ODD)
    await call("sheets_format_cells", **book, range="B!D1", validation={"condition": "LIST", "values": ["Ä", "Ö"]})


async def _presentations(google: GoogleServer, call: Call) -> None:
    slides = google.services["slides"]
    made = await call("slides_create", title=ODD, slides=[{"title": "Goals", "body": "one\n\ttwo", "notes": "smile"}])
    deck = {"presentation_id": made["presentation_id"]}
    await call("slides_add_slide", **deck, title="Means", body="tea", index=1)
    first = made["slides"][0]["slide_id"]
    await call("slides_read", **deck, include_elements=True, thumbnail_slide_id=first, save_thumbnail_to="slide.png")
    await call("slides_update_text", **deck, replacements=[{"find": "tea", "replace": "Kaffee & Tee"}])
    await call("slides_add_element", **deck, slide_id=first, element="text_box", text="Ä 😀", fill_color="#00ff00")
    await call("slides_format", **deck, object_id=first, fill_color="#ffeeaa")
    await call("slides_manage_slides", **deck, action="move", object_ids=[first], to_index=2)
    other = slides.add("Old", {"elements": [Element("shape-1", text=Text("old"))]})
    await call("slides_update_text", presentation_id=other, object_id="shape-1", text="new")


async def _comments(google: GoogleServer, call: Call) -> None:
    document = {"document_id": (await call("docs_create", title="Talked about", content="tea and milk"))["document_id"]}
    deck = {"presentation_id": (await call("slides_create", title="Shown"))["presentation_id"]}
    book = {"spreadsheet_id": google.services["sheets"].add("Counted", Sales=[["Milk", 2]])}
    await call("docs_comment", **document, action="add", text="Green?", anchor_text="tea")
    made = await call("docs_comment", **document, action="add", text=ODD)
    await call("slides_comment", **deck, action="add", text="Nice")
    await call("sheets_comment", **book, action="add", text="Sure?", cell="B1")
    wanted = {**document, "comment_id": made["comment_id"]}
    reply = await call("docs_comment", **wanted, action="reply", text="Ä")
    await call("docs_comment", **wanted, action="edit", text="Ö", reply_id=reply["reply_id"])
    await call("docs_comment", **wanted, action="delete", reply_id=reply["reply_id"])
    await call("docs_comment", **wanted, action="edit", text="Ü")
    await call("docs_comment", **wanted, action="resolve")
    await call("docs_comment", **wanted, action="reopen", text="Not yet")
    google.services["docs"].knows_comments = False
    await call("docs_read", **document, include_comments=True)
    google.services["docs"].knows_comments = True
    await call("docs_comment", **wanted, action="delete")


async def _forms(google: GoogleServer, call: Call) -> None:
    forms = google.services["forms"]
    made = await call(
        "forms_create", title=ODD, description="Come!", questions=[{"title": "Who", "type": "short_text"}]
    )
    form = {"form_id": made["form_id"]}
    await call("forms_add_questions", **form, questions=[{"title": "Ä?", "type": "scale"}], index=0)
    shown = await call("forms_get", **form)
    await call("forms_update", **form, title="Party & more", accepting_responses=False)
    await call("forms_update", **form, move_item_id=shown["items"][0]["item_id"], move_to_index=1)
    responses = [forms.answer(made["form_id"], f"2026-03-31T0{number}:00:00Z", Who="Bo") for number in range(3)]
    page = await call("forms_get_responses", **form, since="2026-03-30T00:00:00+02:00", max_results=2)
    await call(
        "forms_get_responses",
        **form,
        since="2026-03-30T00:00:00+02:00",
        max_results=2,
        page_token=page["next_page_token"],
    )
    await call("forms_get_responses", **form, response_id=responses[0])
    await call("forms_get_responses", **form, summarize=True)


async def _tasks(google: GoogleServer, call: Call) -> None:
    made = await call("tasks_create", title=ODD, new_tasklist_title="Shopping", due="2026-03-31", notes="Ä")
    home = {"tasklist_id": made["tasklist_id"]}
    child = await call("tasks_create", title="Child", parent_id=made["id"], **home)
    second = await call("tasks_create", title="Second", previous_id=made["id"], **home)
    await call("tasks_update", task_id=child["id"], title="Kid", parent_id="", previous_id=second["id"], **home)
    await call("tasks_update", new_tasklist_title="Shops", **home)
    await call("tasks_list", list_tasklists=True)
    page = await call(
        "tasks_list", status="all", due_after="2026-03-01", due_before="2026-04-01", max_results=1, **home
    )
    assert page["tasks"]
    await call("tasks_complete", task_ids=[second["id"], child["id"]], **home)
    await call("tasks_delete", task_ids=[made["id"]], **home)
    await call("tasks_delete", target="completed", **home)
    await call("tasks_delete", target="tasklist", **home)
