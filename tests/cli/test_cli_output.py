import io
import json
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneclaw_core.cli.output import print_json, print_table, printable, printable_line, reserved_stdout, styled

pytestmark = pytest.mark.lowest_versions


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.mark.long
@given(st.text())
def test_nothing_printable_makes_can_steer_a_terminal(text):
    shown = printable(text)
    assert not any(character < " " or "\x7f" <= character <= "\x9f" for character in shown if character not in "\n\t")


def test_printable_shows_what_it_takes_the_power_from():
    assert printable("a\x1b[2Jb\x9b\u202ec\r\nd\te") == "a\\x1b[2Jb\\x9b\\u202ec\nd\te"


def test_ordinary_text_stays_as_it_is():
    text = "Grüße, 日本語, 🎉\n\tend"
    assert printable(text) == text


def test_printable_line_is_one_line_of_limited_length():
    assert printable_line("one\n two\tthree\x07", 100) == "one two three\\x07"
    assert printable_line("one two three", 8) == "one two…"


@given(st.recursive(st.none() | st.integers() | st.text(), st.lists) | st.dictionaries(st.text(), st.text()))
def test_json_can_be_read_back_whatever_the_encoding(document):
    for encoding in ("utf-8", "ascii", "latin-1"):
        written = io.BytesIO()
        stream = io.TextIOWrapper(written, encoding=encoding, errors="backslashreplace", newline="\n")
        print_json(document, stream=stream)
        stream.flush()
        assert json.loads(written.getvalue().decode(encoding)) == document


def test_json_keeps_text_readable_and_escapes_control_characters(capsys):
    print_json(["Grüße", "\x9b\u202e\x7f\u2028"], indent=None)
    assert capsys.readouterr().out == '["Grüße", "\\u009b\\u202e\\u007f\\u2028"]\n'


def test_a_piped_table_steers_no_terminal(capsys):
    print_table(("name",), [("\x1b[2Ja",)])
    assert capsys.readouterr().out == "name\n\\x1b[2Ja\n"


def test_a_table_is_aligned_text_when_no_one_looks(capsys):
    print_table(("name", "what"), [("a", "first\nline"), ("longer", None)])
    assert capsys.readouterr().out == "name    what\na       first line\nlonger\n"


def test_a_table_on_a_terminal_shows_markup_and_escapes_as_text(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    print_table(("name",), [("[red]x[/red]\x1b[2J",)])
    assert "[red]x[/red]\\x1b[2J" in terminal.getvalue()


@pytest.mark.parametrize(("width", "is_beside"), [(100, True), (60, False)])
def test_sentences_without_room_beside_the_other_columns_go_below_them(monkeypatch, width, is_beside):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLUMNS", str(width))
    name, sentence = "acme_parcels_check_number", "Check the number of a [parcel]."
    print_table(("name", "group", "description"), [(name, "acme_parcels", sentence)])

    shown = [line.rstrip() for line in re.sub(r"\x1b\[[\d;]*m", "", terminal.getvalue()).splitlines()]
    if is_beside:
        # How it shares out the room that is left, rich has changed from release to release.
        assert shown[-1].split() == [name, "acme_parcels", *sentence.split()]
    else:
        assert shown[0].split() == ["name", "group"]
        assert shown[1:] == ["    description", "─" * width, f"{name}   acme_parcels", f"    {sentence}"]


@pytest.mark.parametrize("width", [80, 40, 20])
def test_no_table_breaks_a_name_that_there_is_room_for(monkeypatch, width):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLUMNS", str(width))
    names = ("google_workspace", "oneclaw-google", "GOOGLE_API_KEY", "disabled")
    print_table(
        ("name", "package", "variable", "state", "groups"), [(*names, "google_docs, google_forms, google_drive")]
    )

    shown = re.sub(r"\x1b\[[\d;]*m", "", terminal.getvalue())
    assert [name for name in names if name not in shown] == []
    assert max(len(line) for line in shown.splitlines()) <= width
    headings = ["name", "package", "variable", "state", "groups"]
    assert shown.split()[:5] == (headings if width == 80 else ["google_workspace", "package:", *shown.split()[2:5]])


@pytest.mark.parametrize(
    ("variables", "expected"), [({}, "\x1b[2mx\x1b[0m"), ({"NO_COLOR": "1"}, "x"), ({"TERM": "dumb"}, "x")]
)
def test_style_is_for_terminals_of_people_who_want_it(monkeypatch, variables, expected):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert styled("x", Terminal(), dim=True) == expected
    assert styled("x", io.StringIO(), dim=True) == "x"


def test_what_others_print_goes_to_stderr_while_stdout_is_reserved(capsys):
    with reserved_stdout() as stdout:
        sys.stdout.write("chatter\n")
        print_json({"a": 1}, indent=None, stream=stdout)
    assert capsys.readouterr() == ('{"a": 1}\n', "chatter\n")
