"""Sessions over several messages, each in a separate process: groups are loaded once, and stay."""

import json
from datetime import datetime, timedelta
from importlib.resources import files

import pytest
from google_conversation import Conversation
from oneclaw_google_workspace import GROUPS

GMAIL_DELETE = "google.gmail.delete"


def tools_of(group):
    manifest = files("oneclaw_google_workspace") / "manifests" / f"google_{group}.json"
    return [entry["name"] for entry in json.loads(manifest.read_text(encoding="utf-8")) if "_meta" not in entry]


def load(group):
    return ("load_tool_group", {"group_name": f"google_{group}"})


GMAIL, DRIVE, CALENDAR, SHEETS = map(tools_of, ("gmail", "drive", "calendar", "sheets"))


@pytest.fixture
def talk(home, programs, web_server, tmp_path):
    """Begins a conversation with a model that follows a script; at the end, the script must be, too."""
    begun = []

    def begin(*script):
        begun.append((Conversation(programs, web_server, script, tmp_path), script))
        return begun[-1][0]

    yield begin
    assert [len(conversation.heard) for conversation, _ in begun] == [len(script) for _, script in begun]


@pytest.fixture
def inbox(google):
    """Three mails, of which two are spam that no one has recognised; their ids by subject."""
    gmail = google.services["gmail"]
    senders = {"Roof": "Bo <bo@example.net>", "WIN A BOAT": "win@spam.example", "Cheap pills": "rx@spam.example"}
    return {subject: gmail.deliver(sender, subject, days_ago=0.1) for subject, sender in senders.items()}


def spam_in(heard):
    """Find what a model would take for spam in what gmail_search has answered."""
    return [row["id"] for row in heard.result("gmail_search")["messages"] if "spam.example" in row["from"]]


def offered(conversation):
    return [heard.google_tools for heard in conversation.heard]


@pytest.mark.long
@pytest.mark.one_python  # needs other plugins
def test_040_1_and_044_1_mail_is_found_then_the_spam_trashed_without_loading_again(google, inbox, talk):
    conversation = talk(
        load("gmail"),
        ("gmail_search", {"query": "is:unread newer_than:1d"}),
        lambda heard: f"{len(heard.result('gmail_search')['messages'])} new mails, of which two look like spam.",
        lambda heard: ("gmail_trash", {"message_ids": spam_in(heard)}),
        lambda heard: f"{heard.result('gmail_trash')['messages']} are in Trash.",
    )

    first = conversation.say("Check my email")
    second = conversation.say("Delete the spam ones", GMAIL_DELETE)

    assert (first.called(), first.loaded()) == (["load_tool_group", "gmail_search"], ["google_gmail"])
    assert (second.called(), second.loaded()) == (["gmail_trash"], [])
    assert (first.text, second.text) == ("3 new mails, of which two look like spam.", "2 are in Trash.")
    assert offered(conversation) == [[], GMAIL, GMAIL, GMAIL, GMAIL]
    core = conversation.heard[0].tools
    assert all(heard.tools == core + GMAIL for heard in conversation.heard[1:])
    system = conversation.heard[0].messages[0]["content"]
    assert all(f"\n- {group}: " in system for group in GROUPS)
    assert google.called("gmail.users.messages.trash") == ["gmail.users.messages.trash"] * 2
    trashed = {subject for subject, each in inbox.items() if "TRASH" in google.services["gmail"].labels_of(each)}
    assert trashed == {"WIN A BOAT", "Cheap pills"}


@pytest.mark.long
@pytest.mark.one_python
def test_040_2_a_spreadsheet_is_made_and_filled_and_goes_on_being_filled(google, talk):
    def book(heard):
        return {"spreadsheet_id": heard.result("sheets_create")["spreadsheet_id"]}

    quarters = [["Q1", 10], ["Q2", 20], ["Q3", 30]]
    conversation = talk(
        load("sheets"),
        ("sheets_create", {"title": "Quarters", "tabs": ["2026"], "values": [["Quarter", "Sales"]]}),
        lambda heard: ("sheets_update_values", {**book(heard), "range": "2026!A2", "values": quarters}),
        lambda heard: f"It is at {heard.result('sheets_create')['link']}",
        lambda heard: ("sheets_append_rows", {**book(heard), "values": [["All", "=SUM(B2:B4)"]]}),
        lambda heard: ("sheets_read_values", {**book(heard), "ranges": ["2026!A5:B5"]}),
        lambda heard: "The sum is " + heard.result("sheets_read_values")["ranges"][0]["rows"][0][1],
    )

    first = conversation.say("Create a spreadsheet with quarterly data", "google.sheets.write")
    second = conversation.say("Now add the sum", "google.sheets.write")

    assert first.called() == ["load_tool_group", "sheets_create", "sheets_update_values"]
    assert (second.called(), second.loaded()) == (["sheets_append_rows", "sheets_read_values"], [])
    assert offered(conversation) == [[], *[SHEETS] * 6]
    (book_id,) = google.services["sheets"].books
    assert first.text == f"It is at https://docs.google.com/spreadsheets/d/{book_id}/edit"
    assert second.text == "The sum is 60"
    written = [[str(cell) for cell in row] for row in google.services["sheets"].shown(book_id, "2026")]
    assert written == [["Quarter", "Sales"], ["Q1", "10"], ["Q2", "20"], ["Q3", "30"], ["All", "60"]]
    assert google.called("sheets.spreadsheets.create") == ["sheets.spreadsheets.create"]


@pytest.mark.long
@pytest.mark.one_python
def test_044_2_drive_then_calendar_and_both_stay_for_the_rest_of_the_session(google, talk):
    report = google.services["drive"].add("Report.pdf", b"%PDF", mime_type="application/pdf")
    tomorrow = (datetime.now().astimezone() + timedelta(days=1)).replace(hour=10, minute=0)
    meeting = google.services["calendar"].add("Review", tomorrow.isoformat())
    day = tomorrow.date().isoformat()
    conversation = talk(
        load("drive"),
        ("drive_list_files", {}),
        lambda heard: "There is " + heard.result("drive_list_files")["files"][0]["name"],
        load("calendar"),
        ("calendar_list_events", {"time_min": day}),
        lambda heard: "Tomorrow: " + heard.result("calendar_list_events")["events"][0]["title"],
        lambda heard: [
            ("drive_get_file", {"file_id": heard.result("drive_list_files")["files"][0]["id"]}),
            ("calendar_get_event", {"event_id": heard.result("calendar_list_events")["events"][0]["id"]}),
        ],
        lambda heard: f"{heard.result('drive_get_file')['id']} for {heard.result('calendar_get_event')['id']}",
    )

    first = conversation.say("List my Drive files")
    second = conversation.say("Now check my calendar for tomorrow")
    third = conversation.say("Which file is for which event?")

    assert (first.loaded(), second.loaded(), third.loaded()) == (["google_drive"], ["google_calendar"], [])
    assert sorted(third.called()) == ["calendar_get_event", "drive_get_file"]
    both = DRIVE + CALENDAR
    assert offered(conversation) == [[], DRIVE, DRIVE, DRIVE, both, both, both, both]
    assert (first.text, second.text) == ("There is Report.pdf", "Tomorrow: Review")
    assert third.text == f"{report} for {meeting}"


@pytest.mark.long
@pytest.mark.one_python
def test_044_3_a_new_session_begins_without_any_group(google, inbox, talk):
    conversation = talk(load("gmail"), "Gmail is there.", "What mail?")

    conversation.say("I want to see my mail")
    fresh = conversation.say("And the mail?", session="another")

    assert offered(conversation) == [[], GMAIL, []]
    assert (fresh.loaded(), fresh.text) == ([], "What mail?")
    assert len(conversation.heard[2].messages) == 2  # the system prompt and the message


@pytest.mark.long
@pytest.mark.one_python
def test_044_3_clear_begins_a_new_session_without_any_group(google, inbox, talk):
    conversation = talk(load("gmail"), ("gmail_search", {}), "Three mails.", "What mail?")

    finished = conversation.run("chat", "--allow", "network.private", typed="Check my email\n/clear\nTrash it\n")

    assert finished.returncode == 0, finished.stderr
    assert "What mail?" in finished.stdout
    assert offered(conversation) == [[], GMAIL, GMAIL, []]


@pytest.mark.long
@pytest.mark.one_python
def test_044_4_a_follow_up_question_uses_the_tools_at_once_and_none_is_not_available(google, inbox, talk):
    conversation = talk(
        [load("gmail"), load("gmail_settings")],
        [("gmail_search", {"query": "from:bo@example.net"}), ("gmail_settings_get", {"sections": ["labels"]})],
        "One mail from Bo.",
        lambda heard: ("gmail_read", {"message_ids": [heard.result("gmail_search")["messages"][0]["id"]]}),
        lambda heard: heard.result("gmail_read")["messages"][0]["subject"],
        # A whole inbox one by one: sixty-one calls that used to fail.
        lambda heard: [("gmail_trash", {"message_ids": [each]}) for each in inbox.values()] * 20,
        "Done.",
    )

    conversation.say("Has Bo written?")
    second = conversation.say("What about?")
    third = conversation.say("Trash all there is", GMAIL_DELETE)

    loaded = GMAIL + tools_of("gmail_settings")
    assert offered(conversation) == [[], *[loaded] * 6]
    assert (second.called(), second.loaded(), second.text) == (["gmail_read"], [], "Roof")
    assert (third.called(), third.loaded()) == (["gmail_trash"] * 60, [])
    assert all("TRASH" in google.services["gmail"].labels_of(each) for each in inbox.values())
