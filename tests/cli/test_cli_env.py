"""`oneclaw env`: environment variables of the user's own tools, whose values are never shown."""

import io
import json
import os
import stat
import sys

import pytest
from pseudo_terminal import CTRL_C, PseudoTerminal

from oneclaw_core.config.keys import MAX_VALUE_CHARACTERS

CANARY = "canary-of-the-weather-4f9d1c7e55aa"
LINE = CANARY.encode() + b"\n"


@pytest.fixture
def set_variable(oneclaw, monkeypatch):
    """Set a variable through a pipe: ``set_variable("TOKEN", b"value")``."""

    def store(name, content=LINE):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), encoding="utf-8"))
        outcome = oneclaw("env", "set", name)
        assert CANARY not in outcome.stdout + outcome.stderr
        return outcome

    return store


def values(home):
    return json.loads((home / "environment.json").read_text())["variables"]


def test_a_variable_is_set_listed_changed_and_removed(set_variable, ok, home):
    assert set_variable("WEATHER_TOKEN").stdout == "WEATHER_TOKEN is set\n"
    assert set_variable("CITY", b"K\xc3\xb6ln\r\n").stdout == "CITY is set\n"
    assert set_variable("CITY", b"Bonn").stdout == "CITY is changed\n"

    assert ok("env", "list", "--json") == [{"name": "CITY"}, {"name": "WEATHER_TOKEN"}]
    assert ok("env", "list") == "variable\nCITY\nWEATHER_TOKEN\n"
    assert values(home) == {"CITY": "Bonn", "WEATHER_TOKEN": CANARY}
    assert stat.S_IMODE((home / "environment.json").stat().st_mode) == 0o600

    assert ok("env", "remove", "CITY") == "CITY is removed\n"
    assert ok("env", "list", "--json") == [{"name": "WEATHER_TOKEN"}]


def test_of_the_end_of_the_value_one_line_end_is_taken_off(set_variable, home):
    set_variable("LINES", b"one\ntwo\n\n")
    assert values(home) == {"LINES": "one\ntwo\n"}


@pytest.mark.long
def test_in_a_terminal_a_value_is_asked_for_and_not_shown(home):
    with PseudoTerminal("env", "set", "TOKEN", environ=os.environ) as terminal:
        terminal.expect("Value of TOKEN (not shown): ")
        terminal.type(CANARY + "\r")
        terminal.expect("TOKEN is set")
        assert terminal.exit_status() == 0
    assert CANARY not in terminal.raw
    assert values(home) == {"TOKEN": CANARY}


@pytest.mark.long
def test_nothing_is_stored_when_the_user_gives_up(home):
    with PseudoTerminal("env", "set", "TOKEN", environ=os.environ) as terminal:
        terminal.expect("Value of TOKEN")
        terminal.type(CTRL_C)
        assert terminal.exit_status() != 0
    assert not (home / "environment.json").exists()


def test_a_value_is_no_argument(oneclaw, home):
    outcome = oneclaw("env", "set", "TOKEN", CANARY)
    assert (outcome.status, outcome.stdout) == (2, "")
    assert "type it when asked, or pipe it in" in outcome.stderr
    assert CANARY not in outcome.stderr
    assert not (home / "environment.json").exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("1A", b"x", "'1A' is not a valid name for a variable"),
        ("A=B", b"x", "'A=B' is not a valid name for a variable"),
        ("TOKEN", b"\xff", "the value is not UTF-8 text"),
        ("TOKEN", b"a\0b", "no NUL among them"),
        ("TOKEN", b"x" * (MAX_VALUE_CHARACTERS + 1), "a value has at most"),
        ("TOKEN", "ä".encode() * (MAX_VALUE_CHARACTERS * 3), "a value has at most"),
    ],
)
def test_what_cannot_be_set_is_refused(set_variable, ok, name, content, message):
    outcome = set_variable(name, content)
    assert (outcome.status, outcome.stdout) == (2, "")
    assert message in outcome.stderr
    assert ok("env", "list", "--json") == []


def test_what_is_not_set_cannot_be_removed(oneclaw):
    outcome = oneclaw("env", "remove", "TOKEN")
    assert outcome.status == 2
    assert "no variable 'TOKEN' is set; see: oneclaw env list" in outcome.stderr


def test_a_file_that_others_can_read_is_not_used(set_variable, oneclaw, home):
    set_variable("TOKEN")
    (home / "environment.json").chmod(0o644)
    outcome = oneclaw("env", "list")
    assert (outcome.status, outcome.stdout) == (1, "")
    assert "chmod 600" in outcome.stderr
