"""`oneclaw config`."""

import sqlite3

import pytest
from how_long import some


def by_key(documents):
    return {each["key"]: each for each in documents}


@pytest.fixture
def store_misfit(home, ok):
    """Store a value behind the program's back, as another version might have."""

    def store(key, text):
        ok("config", "set", key, "50000")
        with sqlite3.connect(home / "oneclaw.db") as database:
            database.execute("UPDATE settings SET value = ? WHERE key = ?", (text, key))
        database.close()

    return store


def test_settings_are_listed_with_value_default_and_source(ok, monkeypatch):
    ok("config", "set", "turn_max_tool_rounds", "7")
    monkeypatch.setenv("ONECLAW_SESSION_WAIT_SECONDS", "1.5")

    settings = by_key(ok("config", "list", "--json"))

    assert settings["turn_max_tool_rounds"] == {
        "key": "turn_max_tool_rounds",
        "value": 7,
        "default": 200,
        "source": "stored",
        "description": "how many rounds of tool calls a turn may take",
        "problem": None,
        "plugin": None,
        "is_user_only": False,
    }
    wait = settings["session_wait_seconds"]
    assert (wait["value"], wait["source"]) == (1.5, "environment ONECLAW_SESSION_WAIT_SECONDS")
    assert (settings["model"]["value"], settings["model"]["source"]) == (None, "default")
    assert "turn_max_tool_rounds" in ok("config", "list")


@pytest.mark.long
@pytest.mark.usefixtures("all_plugins")
def test_a_setting_is_set_and_unset(ok):
    assert ok("config", "set", "disabled_plugins", "pdf, other") == "disabled_plugins is pdf, other\n"
    assert by_key(ok("config", "list", "--json"))["disabled_plugins"]["value"] == ["pdf", "other"]

    assert ok("config", "unset", "disabled_plugins") == "disabled_plugins is back to its default\n"
    assert by_key(ok("config", "list", "--json"))["disabled_plugins"]["source"] == "default"
    assert ok("config", "unset", "disabled_plugins") == "disabled_plugins was not set\n"


def test_one_setting_is_shown(ok, oneclaw, monkeypatch):
    assert ok("config", "get", "turn_max_tool_rounds") == "200\n"
    assert ok("config", "get", "model") == "-\n"
    ok("config", "set", "turn_max_tool_rounds", "7")
    assert ok("config", "get", "turn_max_tool_rounds") == "7\n"

    monkeypatch.setenv("ONECLAW_TURN_MAX_TOOL_ROUNDS", "9")
    shown = ok("config", "get", "turn_max_tool_rounds", "--json")
    assert (shown["value"], shown["source"]) == (9, "environment ONECLAW_TURN_MAX_TOOL_ROUNDS")

    outcome = oneclaw("config", "get", "turn_max_tool_round")
    assert (outcome.status, outcome.stdout) == (2, "")
    assert "did you mean turn_max_tool_rounds" in outcome.stderr


def test_a_setting_that_does_not_fit_is_shown_with_a_warning(oneclaw, store_misfit):
    store_misfit("history_max_characters", '"many"')
    outcome = oneclaw("config", "get", "history_max_characters")
    assert outcome.status == 0
    assert "oneclaw config unset history_max_characters" in outcome.stderr


@pytest.mark.parametrize(
    ("key", "value"),
    some(
        [("turn_max_tool_rounds", "0"), ("turn_max_tool_rounds", "many"), ("model", "rules"), ("no_such_setting", "1")],
        4,
    ),
)
@pytest.mark.usefixtures("all_plugins")
def test_a_value_that_does_not_fit_is_refused(oneclaw, ok, key, value):
    outcome = oneclaw("config", "set", key, value)

    assert (outcome.status, outcome.stdout) == (2, "")
    assert key in outcome.stderr
    assert {each["source"] for each in ok("config", "list", "--json")} == {"default"}


def test_unsetting_what_is_no_setting_names_one_like_it(oneclaw):
    outcome = oneclaw("config", "unset", "turn_max_tool_round")

    assert outcome.status == 2
    assert "did you mean turn_max_tool_rounds" in outcome.stderr


@pytest.mark.long
@pytest.mark.parametrize("text", some(['"many"', "-1", "[1]", "null", "{}"], 3))
def test_a_stored_value_that_does_not_fit_is_shown_and_can_be_repaired(oneclaw, ok, store_misfit, text):
    store_misfit("history_max_characters", text)
    ok("config", "set", "turn_max_tool_rounds", "7")

    listed = oneclaw("config", "list", "--json")
    assert listed.status == 0
    settings = by_key(listed.json)
    assert settings["history_max_characters"]["problem"]
    assert settings["turn_max_tool_rounds"]["value"] == 7
    assert "oneclaw config unset history_max_characters" in oneclaw("config", "list").stderr
    assert oneclaw("doctor").status == 1

    ok("config", "unset", "history_max_characters")
    assert by_key(ok("config", "list", "--json"))["history_max_characters"]["problem"] is None


def test_a_variable_that_does_not_fit_is_shown(oneclaw, monkeypatch):
    monkeypatch.setenv("ONECLAW_TURN_MAX_TOOL_ROUNDS", "lots")

    outcome = oneclaw("config", "list")

    assert outcome.status == 0
    assert "the environment variable ONECLAW_TURN_MAX_TOOL_ROUNDS is invalid" in outcome.stderr


def test_setting_what_a_variable_overrides_says_so(oneclaw, monkeypatch):
    monkeypatch.setenv("ONECLAW_MODEL", "offline/rules")

    outcome = oneclaw("config", "set", "model", "ollama/x")

    assert outcome.status == 0
    assert "ONECLAW_MODEL is set, and overrides" in outcome.stderr


def test_a_home_that_cannot_be_is_one_line(oneclaw, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ONECLAW_HOME", str(tmp_path / "file" / "home"))

    outcome = oneclaw("config", "set", "turn_max_tool_rounds", "7")

    assert outcome.status == 1
    assert len(outcome.stderr.splitlines()) == 1
    assert "ONECLAW_HOME" in outcome.stderr
