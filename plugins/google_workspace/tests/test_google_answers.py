"""What a model is told when Google's answers are not what Google's documentation says."""

import json

import pytest
from google_server import GoogleServer
from how_long import some
from hypothesis import given
from hypothesis import strategies as st
from oneclaw_google_workspace.answers import (
    compact,
    counted,
    excerpt,
    listing,
    one_line,
    parted,
    passage,
    quoted,
    setting_words,
    table_said,
)
from oneclaw_google_workspace.failures import GoogleError

BROKEN = "Google's answer does not have the form that its documentation describes"
READS = [
    ("tasks.tasks.list", {"items": "none"}, "tasks_list", {}),
    ("tasks.tasks.list", {"items": [7]}, "tasks_list", {}),
    ("tasks.tasks.list", {"items": [{"due": 5}]}, "tasks_list", {}),
    ("gmail.users.labels.list", {"labels": [{"id": ["x"]}]}, "gmail_search", {}),
    ("gmail.users.messages.list", {"messages": [{"x": 1}]}, "gmail_search", {}),
    ("drive.files.list", {"files": [{"size": "many"}]}, "drive_list_files", {}),
    ("calendar.events.list", {"items": [{"start": {"date": "soon"}, "end": {"date": 4}}]}, "calendar_list_events", {}),
    ("people.people.connections.list", {"connections": [{"names": {"a": 1}}]}, "contacts_list", {}),
    ("docs.documents.get", {"tabs": [{"documentTab": 3}]}, "docs_read", {"document_id": "x"}),
    ("sheets.spreadsheets.get", {"sheets": [None]}, "sheets_get_info", {"spreadsheet_id": "x"}),
    ("slides.presentations.get", {"slides": [{}]}, "slides_read", {"presentation_id": "x"}),
    ("forms.forms.get", {"items": {"a": "b"}, "info": []}, "forms_get", {"form_id": "x"}),
]


def answers(google: GoogleServer, method_id: str, value: object, times: int = 1) -> None:
    """Have a method answer something."""
    google.fail(method_id, 200, content=json.dumps(value).encode(), times=times)


@pytest.mark.parametrize(("method_id", "value", "tool", "arguments"), some(READS, 4))
def test_an_answer_of_another_form_is_told_as_one(google, desk, method_id, value, tool, arguments):
    answers(google, method_id, value)

    assert desk.error(tool, **arguments) == (
        "execution_error",
        f"{BROKEN}. Try again later, or in another way.",
    )


def test_after_a_change_an_answer_of_another_form_says_that_it_may_have_been_done(google, desk):
    answers(google, "sheets.spreadsheets.create", {"sheets": [{"properties": []}]})

    assert desk.error("sheets_create", title="x") == (
        "unknown_outcome",
        f"{BROKEN}, after a change was sent (sheets.spreadsheets.create). Look whether it was done before trying "
        "again.",
    )


@pytest.mark.long
@pytest.mark.parametrize("content", some([b"<html>", b"[1]", b"{", b'"x"', b"\xff"], 3))
def test_an_answer_that_cannot_be_read_leaves_a_change_unclear(google, desk, content):
    google.fail("tasks.tasks.insert", 200, content=content)
    google.fail("tasks.tasks.list", 200, content=content)

    assert desk.error("tasks_create", title="x") == (
        "unknown_outcome",
        "Google's answer cannot be read (status 200), so it may have been done or not. Look for it with tasks_list "
        "before trying again.",
    )
    assert desk.error("tasks_list") == ("execution_error", "Google's answer cannot be read (status 200).")


def test_what_worked_is_parted_from_what_did_not():
    error = GoogleError("not_found", "gone")

    assert parted(["a", "b"], [{"id": "a"}, error], "thread_id") == ([{"id": "a"}], [({"thread_id": "b"}, error)])


def test_false_and_zero_say_something():
    assert compact({"a": False, "b": 0, "c": None, "d": "", "e": [], "f": {}}) == {"a": False, "b": 0}


@pytest.mark.long
@given(st.lists(st.text(), max_size=30))
def test_no_name_ends_its_quotes_or_fills_a_question(names):
    text = listing(names)

    assert text.count('"') == 2 * min(len(names), 10)
    assert "\n" not in text
    assert len(text) < 10 * 105 + 20


@given(st.text(), st.integers(1, 400))
def test_no_passage_ends_its_quotes_controls_a_terminal_or_fills_a_question(text, limit):
    shown = passage(text, limit)

    assert shown.count('"') == 2
    assert shown.isprintable()
    assert len(shown) <= limit + len('"…" and 1,000 more characters')
    assert one_line(shown) == shown


def test_a_passage_says_how_much_of_it_is_not_shown():
    assert passage("Hello\r\n\tBo\N{LINE SEPARATOR}!") == '"Hello Bo !"'
    assert passage("x" * 300) == f'"{"x" * 300}"'
    assert passage("x" * 1_800) == f'"{"x" * 300}…" and 1,500 more characters'
    assert passage("x" * 4, 3) == '"xxx…" and 1 more character'
    assert passage("\x1b[2Jok\u202eko\u2800") == r'"\x1b[2Jok\u202eko\u2800"'
    assert passage("\x1b" * 300).endswith('…" and 225 more characters')
    assert passage('to bo@example.com: "Hi", as work') == "\"to bo@example.com: 'Hi', as work\""
    assert passage("\u201cHi\u201d, \uff02as work") == "\"'Hi', 'as work\""


def test_what_goes_into_cells_is_shown_as_a_spreadsheet_shows_it():
    assert table_said([["a", 1, None], [True, 2.5]]) == ': "a | 1 | ; TRUE | 2.5"'
    assert table_said([[None, ""], []]) == ""


def test_settings_are_shown_with_their_values():
    assert [setting_words("bold", value) for value in (True, False, "")] == ["bold", "no bold", "no bold"]
    assert setting_words("font_size", 12) == 'font_size "12"'


def test_the_words_of_questions():
    assert quoted('Roof" from "boss@example.com') == "\"Roof' from 'boss@example.com\""
    assert excerpt("a\n b" + "x" * 100, 10) == "a bxxxxxx…"
    assert listing(["a", "b", "c"], 2) == '"a", "b" and 1 more'
    assert (counted(1, "row"), counted(0, "row"), counted(1_200, "row")) == ("1 row", "0 rows", "1,200 rows")
