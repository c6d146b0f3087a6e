"""Patches between ``*** Begin Patch`` and ``*** End Patch``."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oneclaw_files.errors import FilesError
from oneclaw_files.patch import apply_hunks, parse_patch


def patch_of(*lines):
    return "\n".join(("*** Begin Patch", *lines, "*** End Patch"))


def updated(text, *lines):
    (patch,) = parse_patch(patch_of("*** Update File: f", *lines))
    return apply_hunks(text, patch)


def test_a_patch_names_its_files_and_changes():
    patches = parse_patch(
        patch_of(
            *("*** Add File: new.txt", "+one", "+", "+three"),
            *("*** Delete File: old.txt",),
            *("*** Update File: a.py", "*** Move to: b.py", "@@ def f():", "-    return 1", "+    return 2"),
        )
    )

    assert [(each.kind, each.path, each.move_to) for each in patches] == [
        ("add", "new.txt", None),
        ("delete", "old.txt", None),
        ("update", "a.py", "b.py"),
    ]
    assert patches[0].content == "one\n\nthree\n"
    assert patches[2].hunks[0].anchor == "def f():"


def test_a_patch_in_a_code_fence_is_understood():
    assert parse_patch(f"```\n{patch_of('*** Delete File: a')}\n```")[0].path == "a"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("--- a\n+++ b\n", r"does not begin with '\*\*\* Begin Patch'.*A patch reads"),
        ("*** Begin Patch\n*** Delete File: a\n", "may be cut off"),
        (patch_of(), "names no file"),
        (patch_of("+x"), "Line 2 of the patch is unexpected"),
        (patch_of("*** Add File: a", "no sign"), r"Line 3 of the patch is unexpected: 'no sign'"),
        (patch_of("*** Update File: a"), "says nothing about 'a'"),
        (patch_of("*** Update File: a", "@@", " same"), "changes nothing"),
        (patch_of("*** Delete File: "), "without a path"),
    ],
)
def test_a_wrong_patch_is_explained(text, message):
    with pytest.raises(FilesError, match=message) as raised:
        parse_patch(text)

    assert raised.value.error_type == "validation_error"


def test_hunks_apply_in_their_order():
    text = updated("a\nb\nc\na\nb\n", "@@", " a", "-b", "+B", " c", "@@", " a", "-b", "+beta")

    assert text == "a\nB\nc\na\nbeta\n"


def test_an_anchor_chooses_among_equal_places():
    text = "def f():\n    return 1\n\ndef g():\n    return 1\n"

    assert updated(text, "@@ def g():", "-    return 1", "+    return 2") == text[:-2] + "2\n"


def test_an_ambiguous_hunk_is_refused():
    with pytest.raises(FilesError, match=r"is ambiguous: it matches 'f' at lines 1, 3"):
        updated("x\ny\nx\n", "@@", "-x", "+z")


def test_a_hunk_that_matches_nothing_is_refused():
    with pytest.raises(FilesError, match="The hunk at line 3 of the patch does not match"):
        updated("x\n", "@@", "-y", "+z")


def test_spaces_at_ends_of_lines_do_not_matter_and_stay():
    assert updated("a  \nb\n", "@@", " a", "-b", "+c") == "a  \nc\n"


def test_lines_are_added_below_an_anchor_or_at_the_end():
    assert updated("a\nb\n", "@@ a", "+new") == "a\nnew\nb\n"
    assert updated("a\nb\n", "@@", "+new") == "a\nb\nnew\n"
    assert updated("x\nx\n", "@@", "-x", "+y", "*** End of File") == "x\ny\n"


def test_line_endings_and_a_missing_last_one_stay():
    assert updated("a\r\nb", "@@", "-b", "+c") == "a\r\nc"


@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=8, unique=True), st.data())
def test_any_line_can_be_replaced(lines, data):
    at = data.draw(st.integers(0, len(lines) - 1))
    expected = [*lines[:at], "new", *lines[at + 1 :]]

    assert updated("\n".join(lines) + "\n", "@@", f"-{lines[at]}", "+new") == "\n".join(expected) + "\n"


@pytest.mark.parametrize("separator", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
def test_separators_within_lines_end_no_line(separator):
    line = f"x = 'a{separator}b'"
    assert updated(f"one\n{line}\nthree\n", "@@", " one", f" {line}", "-three", "+drei") == f"one\n{line}\ndrei\n"


def test_mixed_line_endings_stay():
    text = "one\r\ntwo\nthree\r\nfour\n"
    assert updated(text, "@@", " two", "-three", "+3", "+3a", " four") == "one\r\ntwo\n3\r\n3a\r\nfour\n"


def test_lines_that_end_with_carriage_returns_are_changed():
    assert updated("one\rtwo\rthree\r", "@@", " one", "-two", "+2", "+2a") == "one\r2\r2a\rthree\r"


def test_a_patch_may_come_with_line_endings_of_windows():
    patch = patch_of("*** Update File: f", "@@", "-one", "+1").replace("\n", "\r\n")
    assert apply_hunks("one\n", parse_patch(patch)[0]) == "1\n"


def test_lines_added_behind_an_open_end_close_it():
    assert updated("one\r\ntwo", "@@", " two", "+three") == "one\r\ntwo\r\nthree"
