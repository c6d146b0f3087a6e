"""The capabilities of a plugin are shown and reviewed; those beyond the review are withheld."""

import json
import os
from importlib import import_module

import pytest
from program import home, install_plugin, ok, oneclaw

from oneclaw_core.capabilities.capability import _HOOK_TEXTS
from oneclaw_core.hookspecs import HOOK_KINDS, HookKind
from oneclaw_core.process import choose_sandbox

__all__ = ["home", "install_plugin", "ok", "oneclaw"]

SMALL = """
from oneclaw_core import ToolGroupDefinition, hookimpl, tool

@tool(group="weather", required_permissions=["network.public"])
def weather_now(place: str) -> str:
    "Say how the weather is; use it for questions about today."
    return "fine"

@hookimpl
def register_groups(register):
    register(ToolGroupDefinition("weather", "Weather", "How the weather is"))

@hookimpl
def register_tools(register):
    register(weather_now)
"""
WIDER = (
    SMALL
    + """
    register(weather_watch)

@tool(group="weather", required_permissions=["shell.execute"])
def weather_watch() -> str:
    "Watch the weather; use it for questions about tomorrow."
    return "watched"

async def watch(context):
    pass

@hookimpl
def register_services(register):
    register("watch", watch)

@hookimpl
def before_tool_call(context, call):
    return None
"""
)


@pytest.fixture
def weather(install_plugin):
    return install_plugin("weather", SMALL)


def upgrade(package, source, version="1.3"):
    """Replace a plugin, as pip would."""
    (package / "__init__.py").write_text(source)
    metadata = package.parent / "oneclaw_weather-1.2.dist-info" / "METADATA"
    metadata.write_text(f"Metadata-Version: 2.1\nName: oneclaw-weather\nVersion: {version}\n")
    os.utime(metadata.parent, ns=(1, int(float(version) * 1000)))
    import_module("sys").modules.pop("oneclaw_weather", None)


def listed(ok):
    (found,) = [each for each in ok("plugins", "list", "--json") if each["name"] == "weather"]
    return found


def test_every_hook_that_sees_or_changes_things_has_words():
    lifecycle = (HookKind.REGISTRATION, HookKind.LIFECYCLE)

    assert set(_HOOK_TEXTS) == {name for name, kind in HOOK_KINDS.items() if kind not in lifecycle}


def test_a_plugin_that_nobody_reviewed_works_and_says_so(ok, weather):
    found = listed(ok)

    assert (found["status"], found["reviewed"], found["tools"]) == ("ok", False, ["weather_now"])
    assert found["tokens"]["core"] == 0
    assert found["tokens"]["groups"] > 20
    assert "ok, not reviewed" in ok("plugins", "list")


def test_a_review_shows_what_a_plugin_may_do(oneclaw, weather):
    shown = oneclaw("plugins", "review", "weather")

    assert (shown.status, "no one can be asked here: to accept it, add --accept" in shown.stderr) == (2, True)
    assert "plugin weather (oneclaw-weather 1.2)" in shown.stdout
    assert "1 tool: about 0 tokens in every request" in shown.stdout
    assert "- permission network.public" in shown.stdout
    assert "- declares no hosts, files, programs and services of your home" in shown.stdout
    assert "Not enforced: a plugin runs in OneClaw's process" in shown.stdout


def test_what_is_wider_is_withheld_until_it_is_reviewed(oneclaw, ok, weather):
    ok("plugins", "review", "weather", "--accept")
    assert listed(ok)["reviewed"] is True
    upgrade(weather, WIDER)

    found = json.loads(oneclaw("plugins", "list", "--json").stdout)
    (found,) = [each for each in found if each["name"] == "weather"]
    assert (found["status"], found["tools"]) == ("degraded", ["weather_now"])
    (problem,) = [each for each in found["problems"] if each["where"] == "review"]
    assert "permission shell.execute" in problem["cause"]
    assert "may deny tool calls, and have you asked about them (before_tool_call)" in problem["cause"]
    assert problem["remedy"] == "oneclaw plugins review weather"
    assert oneclaw("call", "weather_now", '{"place": "here"}').status == 0  # the new gate is not asked

    shown = oneclaw("plugins", "review", "weather").stdout
    assert "new since you reviewed it:" in shown
    assert "permission shell.execute" in shown
    assert "network.public" not in shown

    oneclaw("plugins", "review", "weather", "--accept")
    found = listed(ok)
    assert (found["status"], found["tools"]) == ("ok", ["weather_now", "weather_watch"])


def test_a_new_version_that_does_no_more_is_silent(ok, weather):
    ok("plugins", "review", "weather", "--accept")
    upgrade(weather, SMALL.replace("fine", "cloudy"))

    found = listed(ok)

    assert (found["status"], found["version"], found["problems"]) == ("ok", "1.3", [])
    assert ok("plugins", "review", "weather").endswith("there is nothing to accept\n")


def test_a_plugin_that_a_later_version_adds_is_withheld(ok, oneclaw, weather):
    ok("plugins", "review", "weather", "--accept")
    (weather / "more.py").write_text(WIDER.replace("weather_now", "weather_later").replace("_watch", "_look"))
    points = weather.parent / "oneclaw_weather-1.2.dist-info" / "entry_points.txt"
    points.write_text("[oneclaw]\nweather = oneclaw_weather\nextra = oneclaw_weather.more\n")
    upgrade(weather, SMALL)

    found = {each["name"]: each for each in json.loads(oneclaw("plugins", "list", "--json").stdout)}

    assert found["weather"]["status"] == "ok"
    assert (found["extra"]["tools"], found["extra"]["reviewed"]) == ([], False)
    assert "permission shell.execute" in found["extra"]["problems"][0]["cause"]


def test_a_secret_that_is_new_gets_no_value(ok, oneclaw, weather):
    ok("plugins", "review", "weather", "--accept")
    source = SMALL + (
        "\nfrom pydantic import BaseModel, SecretStr\n\nclass Settings(BaseModel):\n    place: str = 'here'\n"
        "    token: SecretStr = SecretStr('')\n\n@hookimpl\ndef register_settings(register):\n    register(Settings)\n"
    )
    upgrade(weather, source)

    keys = [each["key"] for each in json.loads(oneclaw("config", "list", "--json").stdout)]

    assert "weather.place" in keys
    assert "weather.token" not in keys


@pytest.mark.long
@pytest.mark.skipif(not choose_sandbox().backend, reason="this machine has no sandbox")
def test_nothing_unreviewed_is_even_imported_where_that_is_required(oneclaw, install_plugin, monkeypatch, tmp_path):
    ran = tmp_path / "ran"
    install_plugin("weather", f"open({str(ran)!r}, 'w').close()\n{SMALL}")
    monkeypatch.setenv("ONECLAW_REVIEWED_PLUGINS_ONLY", "true")

    found = json.loads(oneclaw("plugins", "list", "--json").stdout)
    (found,) = [each for each in found if each["name"] == "weather"]
    assert (found["status"], found["tools"]) == ("not reviewed", [])
    assert not ran.exists()

    shown = oneclaw("plugins", "review", "weather").stdout
    assert "does not work: " in shown or "permission network.public" in shown
    assert not ran.exists()  # it was looked at where it can write nothing

    assert oneclaw("plugins", "review", "weather", "--accept").status == 0


@pytest.mark.skipif(not choose_sandbox().backend, reason="this machine has no sandbox")
def test_changed_files_are_not_imported_before_their_review_where_that_is_required(
    oneclaw, weather, monkeypatch, tmp_path
):
    ran = tmp_path / "ran"
    record = weather.parent / "oneclaw_weather-1.2.dist-info" / "RECORD"
    record.write_text("oneclaw_weather/__init__.py,sha256=one,1\n")
    monkeypatch.setenv("ONECLAW_REVIEWED_PLUGINS_ONLY", "true")
    assert oneclaw("plugins", "review", "weather", "--accept").status == 0
    assert {each["name"]: each for each in oneclaw("plugins", "list", "--json").json}["weather"]["status"] == "ok"
    record.write_text("oneclaw_weather/__init__.py,sha256=two,2\n")
    upgrade(weather, f"try:\n    open({str(ran)!r}, 'w').close()\nexcept OSError:\n    pass\n{SMALL}")

    found = {each["name"]: each for each in oneclaw("plugins", "list", "--json").json}["weather"]
    assert (found["status"], found["tools"]) == ("not reviewed", [])
    assert "its files are not those that you reviewed" in found["problems"][0]["cause"]
    assert not ran.exists()

    outcome = oneclaw("plugins", "review", "weather", "--accept")
    assert outcome.stdout.endswith("oneclaw-weather is reviewed\n")
    assert not ran.exists()  # it was looked at where it can write nothing
    assert {each["name"]: each for each in oneclaw("plugins", "list", "--json").json}["weather"]["status"] == "ok"
    assert ran.exists()


def test_a_record_that_cannot_be_read_loads_no_plugin_of_others(oneclaw, ok, weather, tmp_path):
    ok("plugins", "review", "weather", "--accept")
    (record,) = (tmp_path / "data" / "oneclaw-plugins").rglob("reviewed-capabilities.json")
    record.write_text("{")

    found = json.loads(oneclaw("plugins", "list", "--json").stdout)

    assert {each["name"]: each["status"] for each in found}["weather"] == "not reviewed"
    assert {each["name"]: each["status"] for each in found}["builtin"] == "ok"
    assert record.read_text() == "{"


def test_a_gate_denies_while_the_record_cannot_be_read(oneclaw, ok, install_plugin, tmp_path):
    install_plugin("weather", WIDER)
    ok("plugins", "review", "weather", "--accept")
    (record,) = (tmp_path / "data" / "oneclaw-plugins").rglob("reviewed-capabilities.json")
    record.write_text("{")

    outcome = oneclaw("call", "get_current_time")

    assert outcome.status == 1
    assert "weather" in outcome.stdout + outcome.stderr


def test_distributions_of_oneclaw_need_no_review(oneclaw, home):
    outcome = oneclaw("plugins", "review", "offline")

    assert outcome.status == 2
    assert "is a distribution of OneClaw: it needs no review" in outcome.stderr
