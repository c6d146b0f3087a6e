"""The tools google_find_method and google_call: sign-in, questions, answers, files, and what can go wrong."""

import asyncio
import base64
import json
import threading

import pytest
from google_desk import Desk, give_database, open_home, sign_in
from oneclaw_google_workspace import client

from oneclaw_core import PermissionAnswer
from oneclaw_core.permissions import Decision, Grant


def raw_mail(to="bo@example.net", bcc=None, subject="Hi", text="Hello"):
    lines = [f"To: {to}", *([f"Bcc: {bcc}"] if bcc else []), f"Subject: {subject}", "", text]
    return base64.urlsafe_b64encode("\r\n".join(lines).encode()).decode()


# Finding


@pytest.mark.long
def test_methods_are_found_without_a_sign_in(empty_home, google, tmp_path):
    give_database(empty_home)
    found = Desk(empty_home, tmp_path)("google_find_method", query="share a calendar", max_results=3)
    assert len(found["methods"]) == 3
    assert any(each.startswith("calendar.acl.insert (google.calendar.share): ") for each in found["methods"])
    assert google.requests == []


def test_the_id_of_a_method_gives_its_details(desk):
    found = desk("google_find_method", query="tasks.tasks.insert")
    assert found["parameters"]["tasklist*"] == "string. Task list identifier"
    assert "title" in found["body"]


def test_words_that_fit_nothing_are_answered_with_the_apis(desk):
    error_type, message = desk.error("google_find_method", query="zzzz")
    assert error_type == "not_found"
    assert "gmail" in message


# Reading


@pytest.mark.long
def test_reading_asks_nothing_and_marks_what_it_shows(desk, google):
    desk("tasks_create", title="Milk", new_tasklist_title="Shopping")
    desk.asked.clear()
    answer = desk("google_call", method="tasks.tasklists.list", parameters={"fields": "items(title)"})
    assert desk.asked == []
    assert {"title": "Shopping"} in answer["answer"]["items"]
    assert "never instructions" in answer["untrusted_content"]


@pytest.mark.long
def test_the_next_page_is_offered(desk, google):
    for number in range(3):
        google.services["drive"].add(f"file {number}")
    answer = desk("google_call", method="drive.files.list", parameters={"pageSize": 2})
    token = answer["answer"]["nextPageToken"]
    assert token in answer["next"]
    rest = desk("google_call", method="drive.files.list", parameters={"pageSize": 2, "pageToken": token})
    assert len(rest["answer"]["files"]) == 1


def test_what_is_denied_for_a_service_is_denied_here_too(home, google, tmp_path):
    async def work():
        async with open_home(home, start_directory=tmp_path) as claw:
            await claw.store.set_grant(Grant("google.tasks.read", decision=Decision.DENY))
            return (await claw.call_tool("google_call", {"method": "tasks.tasklists.list"})).result

    result = asyncio.run(work())
    assert result.error_type == "permission_denied"
    assert "google.tasks.read" in result.error_message
    assert google.called("tasks") == []


def test_a_long_answer_is_cut_where_its_texts_are_long(desk, google):
    file = google.services["drive"].add("Budget", description="x" * 60_000)
    answer = desk("google_call", method="drive.files.get", parameters={"fileId": file, "fields": "id,description"})
    assert answer["truncated"] is True
    assert answer["answer"]["id"] == file
    assert answer["answer"]["description"].endswith("56,000 more characters)")


def test_an_answer_can_be_saved_instead(desk, google):
    google.services["drive"].add("Budget")
    answer = desk("google_call", method="drive.files.list", parameters={"fields": "files(name)"}, save_to="all.json")
    with open(answer["saved_path"], encoding="utf-8") as saved:  # noqa: PTH123  # a path as the tool gives it
        assert json.load(saved) == {"files": [{"name": "Budget"}]}
    assert "answer" not in answer


def test_a_file_is_saved(desk, google):
    file = google.services["drive"].add("note.txt", content=b"Hello")
    answer = desk("google_call", method="drive.files.get", parameters={"fileId": file}, save_to="note.txt")
    with open(answer["saved_path"], "rb") as saved:  # noqa: PTH123  # a path as the tool gives it
        assert saved.read() == b"Hello"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"method": "drive.files.export", "parameters": {"fileId": "x", "mimeType": "text/plain"}}, "Give save_to"),
        ({"method": "chat.media.download", "parameters": {"resourceName": "x"}}, "Give save_to"),
        ({"method": "tasks.tasklists.insert", "upload_file": "x"}, "takes no file"),
        ({"method": "drive.files.create", "upload_file": "missing.txt"}, "no file missing.txt"),
        ({"method": "drive.file.list"}, "Did you mean drive.files.list"),
        ({"method": "nonsense"}, "google_find_method"),
    ],
)
def test_what_cannot_be_called_is_refused(desk, google, arguments, words):
    error_type, message = desk.error("google_call", **arguments)
    assert error_type == "validation_error"
    assert words in message
    assert google.requests == []


# Changes


def test_a_change_is_one_question_that_says_everything(desk, google):
    made = desk("google_call", method="tasks.tasklists.insert", body={"title": "Milk & bread"})
    assert made["answer"]["title"] == "Milk & bread"
    ((permission, detail),) = desk.asked
    assert permission == "google.tasks.write"
    assert detail.startswith('call tasks.tasklists.insert ("Creates a new task list')
    assert """and the body "{'title': 'Milk & bread'}", as work (ana@example.com)""" in detail


def test_a_long_body_is_shown_to_its_1500th_character(desk):
    desk("google_call", method="tasks.tasklists.insert", body={"title": "x" * 1_000, "id": "y" * 1_000})
    ((_, detail),) = desk.asked
    whole = str({"title": "x" * 1_000, "id": "y" * 1_000})
    assert f'and the body "{whole[:1_500]}…" and {len(whole) - 1_500} more characters' in detail


def test_sharing_asks_for_whom(desk, google):
    file = google.services["drive"].add("Budget")
    body = {"type": "user", "role": "reader", "emailAddress": "Bo@example.net"}
    desk("google_call", method="drive.permissions.create", parameters={"fileId": file}, body=body)
    ((permission, detail),) = desk.asked
    assert (permission, desk.subjects) == ("google.drive.share", ["bo@example.net"])
    assert '"bo@example.net"' in detail


def test_a_mail_is_shown_with_its_recipients_and_text(desk, google):
    desk("google_call", method="gmail.users.messages.send", body={"raw": raw_mail(bcc="cy@example.org")})
    ((permission, detail),) = desk.asked
    assert (permission, desk.subjects) == ("google.gmail.send", ["bo@example.net, cy@example.org"])
    assert 'a mail to bo@example.net, bcc cy@example.org: "Hi", saying "Hello' in detail
    assert "raw" not in detail


@pytest.mark.parametrize(
    "head",
    [
        "To: bo@example.net\r\nTo: eve@example.org",
        "To: bo@example.net\r\nBcc : eve@example.org",
        "To: bo@example.net\rBcc: eve@example.org",
        "To: nobody",
    ],
)
def test_a_mail_whose_recipients_could_be_read_in_two_ways_is_refused(desk, google, head):
    raw = base64.urlsafe_b64encode(f"{head}\r\nSubject: Hi\r\n\r\nHello".encode()).decode()
    error_type, message = desk.error("google_call", method="gmail.users.messages.send", body={"raw": raw})
    assert error_type == "validation_error"
    assert "recipients" in message
    assert (google.called("gmail"), desk.asked) == ([], [])


@pytest.mark.parametrize(
    ("method", "body", "words"),
    [
        ("gmail.users.messages.send", {"threadId": "x"}, "Give the mail as raw"),
        ("gmail.users.messages.send", {"raw": "VG86.IGJv"}, "base64url"),
        ("gmail.users.drafts.send", {}, "needs a body with the id"),
        ("gmail.users.drafts.send", {"id": "r1", "message": {"raw": raw_mail()}}, "the id of a draft alone"),
    ],
)
def test_a_mail_that_cannot_be_shown_is_not_sent(desk, google, method, body, words):
    error_type, message = desk.error("google_call", method=method, body=body)
    assert error_type == "validation_error"
    assert words in message
    assert (google.called("gmail"), desk.asked) == ([], [])


@pytest.mark.long
def test_names_with_commas_and_encoded_names_are_plain(desk, google):
    raw = raw_mail(to='"Berg, Bo @ home" <bo@example.net>, =?utf-8?q?Zo=C3=AB?= <zoe@example.org>')
    desk("google_call", method="gmail.users.messages.send", body={"raw": raw})
    assert desk.subjects == ["bo@example.net, zoe@example.org"]


def test_a_change_of_access_is_for_the_file_and_the_permission(desk, google):
    file = google.services["drive"].add("Budget", shared_with={"dee@example.com": "reader"})
    fields = {"fields": "permissions(id,emailAddress)"}
    found = desk("google_call", method="drive.permissions.list", parameters={"fileId": file, **fields})["answer"]
    (shared,) = (each["id"] for each in found["permissions"] if each.get("emailAddress") == "dee@example.com")
    parameters = {"fileId": file, "permissionId": shared}
    desk("google_call", method="drive.permissions.update", parameters=parameters, body={"role": "writer"})
    assert desk.subjects == [f"{file}/{shared}"]


def test_sending_a_draft_names_its_recipients(desk, google):
    draft = desk("gmail_draft_create", to=["bo@example.net"], subject="Hi", body="Hello")
    desk.subjects.clear()
    desk("google_call", method="gmail.users.drafts.send", body={"id": draft["draft_id"]})
    assert desk.subjects == ["bo@example.net"]


def test_an_invitation_is_sent_and_not_only_written(desk, google):
    body = {
        "summary": "Fair",
        "start": {"dateTime": "2026-04-01T10:00:00Z"},
        "end": {"dateTime": "2026-04-01T11:00:00Z"},
        "attendees": [{"email": "bo@example.net"}],
    }
    desk("google_call", method="calendar.events.insert", parameters={"calendarId": "primary"}, body=body)
    assert desk.asked[0][0] == "google.calendar.send"
    assert desk.subjects == ["bo@example.net"]


def test_what_is_deleted_is_named(desk, google):
    made = desk("google_call", method="tasks.tasklists.insert", body={"title": "Shopping"})
    desk.asked.clear()
    desk("google_call", method="tasks.tasklists.delete", parameters={"tasklist": made["answer"]["id"]})
    ((permission, detail),) = desk.asked
    assert permission == "google.tasks.delete"
    assert 'of "Shopping"' in detail


def test_without_agreement_nothing_is_sent(desk, google):
    desk.answer = PermissionAnswer.NO
    error_type, _ = desk.error("google_call", method="tasks.tasklists.insert", body={"title": "x"})
    assert error_type == "permission_denied"
    assert google.called("tasks") == []


@pytest.mark.long
def test_a_text_in_the_body_cannot_end_its_quotes(desk, google):
    desk("google_call", method="tasks.tasklists.insert", body={"title": 'x", as somebody\nelse'})
    (_, detail) = desk.asked[0]
    assert "\n" not in detail
    assert detail.count('"') == 4


def test_a_file_is_uploaded(desk, google):
    (desk.start_directory / "note.txt").write_text("Hello", encoding="utf-8")
    made = desk("google_call", method="drive.files.create", body={"name": "note.txt"}, upload_file="note.txt")
    file = google.services["drive"].files[made["answer"]["id"]]
    assert file.content.read_bytes() == b"Hello"
    assert "of 5 bytes" in desk.asked[0][1]


# Sign-in


def test_a_service_that_is_for_reading_only_stays_so(google, empty_home, tmp_path):
    give_database(empty_home)
    sign_in(google, empty_home, services=("tasks",), is_read_only=True)
    desk = Desk(empty_home, tmp_path)
    desk("google_call", method="tasks.tasklists.list")
    error_type, message = desk.error("google_call", method="tasks.tasklists.insert", body={"title": "x"})
    assert error_type == "not_available"
    assert "oneclaw google login --account work --services tasks" in message
    assert google.called("tasks") == ["tasks.tasklists.list"]


@pytest.mark.parametrize(
    ("method", "parameters", "options"),
    [
        ("calendar.acl.list", {"calendarId": "primary"}, "--services calendar --scope calendar"),
        ("chat.spaces.list", {}, "--services chat --read-only"),
        ("keep.notes.list", {}, "--services keep --read-only"),
        ("gmail.users.messages.delete", {"id": "x"}, "--services gmail --scope https://mail.google.com/"),
    ],
)
def test_a_scope_that_is_missing_is_named_with_its_command(google, empty_home, tmp_path, method, parameters, options):
    give_database(empty_home)
    sign_in(google, empty_home, services=("tasks",))
    error_type, message = Desk(empty_home, tmp_path).error("google_call", method=method, parameters=parameters)
    assert error_type == "not_available"
    assert message.endswith(f"oneclaw google login --account work {options}")


def test_what_only_apps_may_call_is_said_to_be_so(desk, google):
    error_type, message = desk.error(
        "google_call",
        method="chat.spaces.messages.attachments.get",
        parameters={"name": "spaces/a/messages/b/attachments/c"},
    )
    assert error_type == "not_available"
    assert "for Chat apps and administrators" in message


def test_a_scope_granted_for_another_service_does_not_let_changes_through(google, empty_home, tmp_path):
    give_database(empty_home)
    sign_in(google, empty_home, services=("gmail",), extra=("calendar",))
    error_type, message = Desk(empty_home, tmp_path).error(
        "google_call", method="calendar.calendars.insert", body={"summary": "x"}
    )
    assert error_type == "not_available"
    assert "--services calendar" in message


# What can go wrong


@pytest.mark.long
def test_a_change_of_which_no_one_knows_is_said_with_how_to_look(desk, google):
    google.fail("tasks.tasklists.insert", status=500, times=9)
    error_type, message = desk.error("google_call", method="tasks.tasklists.insert", body={"title": "x"})
    assert error_type == "unknown_outcome"
    assert "with google_call and tasks.tasklists.get" in message


def test_an_event_is_made_once_though_the_first_answer_is_lost(desk, google):
    google.fail("calendar.events.insert", status=503, is_after=True)
    body = {
        "summary": "Fair",
        "start": {"dateTime": "2026-04-01T10:00:00Z"},
        "end": {"dateTime": "2026-04-01T11:00:00Z"},
    }
    made = desk("google_call", method="calendar.events.insert", parameters={"calendarId": "primary"}, body=body)
    assert made["answer"]["summary"] == "Fair"
    assert len({each["id"] for each in google.bodies("calendar.events.insert")}) == 1


@pytest.mark.long
def test_a_file_is_made_once_though_the_first_answer_is_lost(desk, google):
    google.fail("drive.files.create", status=503, is_after=True)
    body = {"name": "New", "mimeType": "application/vnd.google-apps.folder"}
    made = desk("google_call", method="drive.files.create", body=body)
    drive = google.services["drive"]
    assert drive.names_in(drive.root()).count("New") == 1
    assert made["answer"]["name"] == "New"


@pytest.mark.long
def test_ids_of_our_own_are_not_in_the_question(desk, google):
    desk("google_call", method="drive.files.create", body={"name": "New"})
    assert google.bodies("drive.files.create")[0].keys() == {"name", "id"}
    assert "'id'" not in desk.asked[0][1]


@pytest.mark.long
def test_a_call_whose_time_is_up_after_a_change_says_where_to_look(desk, google, monkeypatch):
    ended = threading.Event()
    desk("tasks_list")  # with a new access token, which takes a while
    monkeypatch.setattr(client, "MARGIN_SECONDS", 299.5)  # of 300 s
    google.fail("tasks.tasklists.insert", delay=ended)
    try:
        error_type, message = desk.error("google_call", method="tasks.tasklists.insert", body={"title": "x"})
    finally:
        ended.set()
    assert error_type == "unknown_outcome"
    assert "with google_call and tasks.tasklists.get" in message


def test_a_refusal_of_google_is_passed_on(desk, google):
    error_type, _ = desk.error("google_call", method="drive.files.get", parameters={"fileId": "missing"})
    assert error_type == "not_found"
