"""Exact edits of a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oneclaw_files.edits import Edit, apply_edits
from oneclaw_files.errors import FilesError


def test_edits_apply_one_after_the_other():
    text, count = apply_edits("a = 1\nb = 2\n", [Edit("a = 1", "a = b"), Edit("a = b\nb = 2", "a = 2")])

    assert (text, count) == ("a = 2\n", 2)


def test_an_ambiguous_edit_is_refused_with_its_places():
    with pytest.raises(FilesError, match=r"stands in the file 2 times, at lines 1, 3\. Add lines around it"):
        apply_edits("pass\nx\npass\n", [Edit("pass", "return")])


def test_replace_all_changes_every_place():
    assert apply_edits("a b a", [Edit("a", "aa", replace_all=True)]) == ("aa b aa", 2)


def test_text_with_other_spaces_is_pointed_out():
    with pytest.raises(FilesError, match=r"With other spaces or tabs it begins at line 2"):
        apply_edits("def f():\n\treturn 1\n", [Edit("    return 1\n", "    return 2\n")])


def test_a_similar_line_is_pointed_out():
    with pytest.raises(FilesError, match=r"Line 2 is similar: 'total = price \* count'"):
        apply_edits("import x\ntotal = price * count\n", [Edit("total = prices * count", "total = 0")])


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (Edit("", "x"), r"edits\[1\] has no old_text"),
        (Edit("b", "b"), r"edits\[1\] changes nothing"),
        (Edit("nothing like it", "x"), r"edits\[1\] does not match: .* Read the file again\."),
    ],
)
def test_the_wrong_edit_is_named(edit, message):
    with pytest.raises(FilesError, match=message):
        apply_edits("a\nb\n", [Edit("a", "c"), edit])


def test_line_endings_of_windows_stay():
    assert apply_edits("a\r\nb\r\n", [Edit("a\nb", "x\ny\nz")]) == ("x\r\ny\r\nz\r\n", 1)


@pytest.mark.long
@given(st.text(), st.text(min_size=1), st.text(), st.text())
def test_a_unique_text_is_replaced_and_nothing_else(before, old, new, after):
    text = before + old + after
    if old == new or text.count(old) != 1 or "\r" in text + old + new:
        return

    assert apply_edits(text, [Edit(old, new)]) == (before + new + after, 1)


def test_mixed_line_endings_stay():
    text = "a\r\nb\nc\r\n"
    assert apply_edits(text, [Edit("b", "x\ny")]) == ("a\r\nx\r\ny\nc\r\n", 1)
    assert apply_edits(text, [Edit("a\nb\nc", "A\nB\nC")]) == ("A\r\nB\r\nC\r\n", 1)


def test_line_endings_can_be_changed():
    assert apply_edits("a\r\nb\n", [Edit("a\r\n", "a\n")]) == ("a\nb\n", 1)


def test_lines_that_end_with_carriage_returns_are_edited():
    assert apply_edits("a\rb\rc\r", [Edit("a\nb", "x\ny\nz")]) == ("x\ry\rz\rc\r", 1)
    with pytest.raises(FilesError, match="at lines 1, 3"):
        apply_edits("a\rb\ra\r", [Edit("a", "x")])


@pytest.mark.parametrize("separator", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
def test_separators_within_lines_end_no_line(separator):
    with pytest.raises(FilesError, match="at lines 1, 2"):
        apply_edits(f"x = 'a{separator}b'\nx = 'a{separator}b'\n", [Edit(f"a{separator}b", "c")])


def test_a_carriage_return_within_a_line_is_data():
    text = "10%\r20%\rdone\nnext\n"
    assert apply_edits(text, [Edit("next", "last")]) == ("10%\r20%\rdone\nlast\n", 1)
    assert apply_edits(text, [Edit("20%", "a\rb")]) == ("10%\ra\rb\rdone\nnext\n", 1)
    with pytest.raises(FilesError, match="does not match"):
        apply_edits(text, [Edit("10%\n20%", "x")])


def test_lines_that_no_edit_names_keep_their_endings():
    assert apply_edits("a\r\nb\nc", [Edit("c", "C")]) == ("a\r\nb\nC", 1)
