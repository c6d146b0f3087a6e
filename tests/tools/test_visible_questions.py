"""Questions as data: nothing in them is invisible or reorders what a person reads, on any surface."""

import pytest

from oneclaw_core import PermissionAnswer, PermissionRequest
from oneclaw_core.permissions import approval_question
from oneclaw_core.tools import printable, printable_document
from oneclaw_core.types.user_question import UserQuestion

# A right-to-left override, a blank of no width, a deletion of a row, and a character that looks like nothing.
TRICKS = {"\u202e": "\\u202e", "\u200b": "\\u200b", "\x1b[2K": "\\x1b[2K", "\u3164": "\\u3164", "\u2066": "\\u2066"}
# Marks to Unicode that are not seen, too: they join letters, or choose another form of one.
TRICKS |= {"\u034f": "\\u034f", "\ufe00": "\\ufe00", "\U000e0141": "\\U000e0141", "\u17b5": "\\u17b5"}
TRICKS |= {"\U0001d159": "\\U0001d159", "\u2800": "\\u2800", "\xad": "\\xad", "\u061c": "\\u061c"}


@pytest.mark.parametrize("trick", TRICKS)
def test_a_question_for_a_permission_shows_what_could_hide_a_part_of_it(trick):
    command = f"cat a {trick}# b"
    request = PermissionRequest("shell.execute", f"ex{trick}ec", {"command": command}, f"do {trick}", subject=command)
    shown = approval_question(request).to_dict()
    facts = {each["kind"]: each["text"] for each in shown["facts"]}
    assert facts["subject"] == f"cat a {TRICKS[trick]}# b"
    assert facts["consequence"] == f"do {TRICKS[trick]}"
    assert shown["tool"] == f"ex{TRICKS[trick]}ec"
    assert trick not in str(shown)
    assert {each["answer"] for each in shown["choices"]} >= {str(PermissionAnswer.ONCE), str(PermissionAnswer.NO)}


def test_letters_with_accents_and_symbols_stay_as_they_are():
    text = "e\u0301 \u2764\ufe0f \u0928\u093f \u65e5\u672c"
    request = PermissionRequest("shell.execute", "exec", {}, subject=text)
    assert text in [each["text"] for each in approval_question(request).to_dict()["facts"]]


def test_many_spaces_are_counted_and_lines_stay():
    request = PermissionRequest("shell.execute", "exec", {}, subject=f"echo a{' ' * 300}; rm b\necho c")
    (subject,) = [each["text"] for each in approval_question(request).to_dict()["facts"] if each["kind"] == "subject"]
    assert subject == "echo a␣[300 spaces]␣; rm b\necho c"


@pytest.mark.parametrize("trick", TRICKS)
def test_a_question_of_a_tool_takes_the_choice_that_was_shown(trick):
    question = UserQuestion(f"Which{trick}?", (f"a{trick}b", "c"), allows_text=False)
    shown = question.to_dict()
    assert trick not in str(shown)
    assert question.answer_to(shown["choices"][0]) == f"a{trick}b"
    assert question.answer_to(f"a{trick}b") == f"a{trick}b"
    assert question.answer_to("d") is None


def test_a_document_is_printable_in_all_its_texts():
    document = {"a\u202eb": ["x\u200b", {"c": "\x07"}, 1, None], "d": "e\u0301 \U0001f468\u200d\U0001f469"}
    assert printable_document(document) == {
        "a\\u202eb": ["x\\u200b", {"c": "\\x07"}, 1, None],
        "d": "e\u0301 \U0001f468\u200d\U0001f469",
    }
    assert printable("a\tb\nc\r") == "a\tb\nc"
