import pytest
from hypothesis import given
from hypothesis import strategies as st
from oneclaw_shell.truncation import TruncatedOutput


def kept(data, limit, pieces=1):
    output = TruncatedOutput(limit)
    size = max(len(data) // pieces, 1)
    for start in range(0, len(data), size):
        output.feed(data[start : start + size])
    output.finish()
    return output


def without_note(text):
    beginning, _, rest = text.partition("[left out here: ")
    return beginning, rest.partition("]\n")[2]


@pytest.mark.long
@given(st.binary(max_size=200), st.integers(1, 40))
def test_what_fits_is_given_as_it_is(data, pieces):
    text = data.decode("utf-8", "replace")
    output = kept(data, max(len(text), 1), pieces)
    assert output.text() == text
    assert len(output) == len(text)


@given(st.text("ab\n\u00e4\U0001f600", min_size=2, max_size=300), st.integers(1, 40), st.data())
def test_of_what_does_not_fit_the_beginning_and_the_end_are_given(text, pieces, data):
    limit = data.draw(st.integers(1, len(text) - 1))
    smaller = data.draw(st.integers(1, limit))
    shown = kept(text.encode(), limit, pieces).text(smaller)
    beginning, end = without_note(shown)
    assert text.startswith(beginning.removesuffix("\n"))
    assert text.endswith(end)
    assert len(beginning) + len(end) <= smaller + 1


def test_the_note_counts_what_is_missing():
    data = "".join(f"line {number:03}\n" for number in range(100)).encode()
    shown = kept(data, 90, pieces=7).text()
    assert shown.split("\n")[:6] == [
        *(f"line {number:03}" for number in range(5)),
        "[left out here: 810 of 900 characters, 90 line ends; to see them, write the output to a file or filter it]",
    ]
    assert shown.endswith("line 095\nline 096\nline 097\nline 098\nline 099\n")


def test_a_cut_is_made_within_a_line_that_is_too_long():
    beginning, end = without_note(kept(b"x" * 1000, 100).text())
    assert (beginning, end) == ("x" * 50 + "\n", "x" * 50)


def test_a_cut_between_lines_keeps_most_of_what_it_may():
    beginning, end = without_note(kept(b"a\n" + b"x" * 1000 + b"\nb", 100).text())
    assert (len(beginning), len(end)) == (51, 50)
