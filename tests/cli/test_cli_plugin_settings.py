"""Settings, secrets and checks of plugins at the command line."""

import io
import sqlite3
import sys
import tomllib
from pathlib import Path

import pytest
from how_long import some

from oneclaw_core.plugins.distributions import OUR_DISTRIBUTIONS
from oneclaw_core.shipped.missing import how_to_install

WEATHER = """
    from typing import Literal
    from pydantic import BaseModel, Field, SecretStr, field_validator
    from oneclaw_core import hookimpl

    class Settings(BaseModel):
        units: Literal["celsius", "fahrenheit"] = Field("celsius", description="the unit of temperatures")
        cities: list[str] = []
        max_days: int = Field(3, ge=1)
        station: str = ""
        api_key: SecretStr

        @field_validator("station")
        @classmethod
        def _is_known(cls, value):
            if value == "nowhere":
                raise ValueError("there is no such station")
            return value

    @hookimpl
    def register_settings(register):
        register(Settings)
"""
CHECKS = """
    import time
    from oneclaw_core import CheckResult, Health, hookimpl

    def is_reachable(context):
        yield CheckResult(Health.OK, "the service answers")
        yield CheckResult(Health.WARNING, "the quota is low", "wait until tomorrow")

    async def is_signed_in(context):
        return CheckResult(Health.PROBLEM, f"{context.name} is not signed in", "oneclaw weather login")

    def fails(context):
        raise SystemExit("no licence")

    def is_odd(context):
        return ["fine"]

    @hookimpl
    def register_checks(register):
        register("service", is_reachable)
        register("account", is_signed_in)
        register("broken", fails)
        register("odd", is_odd)
        register("lost", "oneclaw_weather.no_such_module:check")
"""
SECRET = "a-secret-of-the-weather"


@pytest.fixture
def weather(install_plugin):
    """Install a plugin with settings."""
    install_plugin("weather", WEATHER)


@pytest.fixture
def set_secret(oneclaw, monkeypatch):
    """Store a secret through a pipe: ``set_secret("weather.api_key")``."""

    def store(name, secret=SECRET):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(secret.encode()), encoding="utf-8"))
        outcome = oneclaw("keys", "set", name)
        assert not secret.strip() or secret.strip() not in outcome.stdout + outcome.stderr
        return outcome

    return store


def findings(oneclaw, check):
    return [each for each in oneclaw("doctor", "--json").json["checks"] if each["check"] == check]


@pytest.mark.long
@pytest.mark.usefixtures("weather")
def test_settings_of_a_plugin_are_listed_and_set(ok, oneclaw, monkeypatch):
    assert ok("config", "set", "weather.units", "fahrenheit") == "weather.units is fahrenheit\n"
    assert ok("config", "set", "weather.cities", "Oslo, Paris") == "weather.cities is Oslo, Paris\n"
    monkeypatch.setenv("ONECLAW_WEATHER_MAX_DAYS", "5")

    states = {each["key"]: each for each in ok("config", "list", "--json")}

    assert states["weather.units"] == {
        "key": "weather.units",
        "value": "fahrenheit",
        "default": "celsius",
        "source": "stored",
        "description": "the unit of temperatures",
        "problem": None,
        "plugin": "weather",
        "is_user_only": False,
    }
    assert states["weather.cities"]["value"] == ["Oslo", "Paris"]
    max_days = states["weather.max_days"]
    assert (max_days["value"], max_days["source"]) == (5, "environment ONECLAW_WEATHER_MAX_DAYS")
    assert "weather.api_key" not in states
    assert ok("config", "get", "weather.units") == "fahrenheit\n"
    assert ok("config", "unset", "weather.units") == "weather.units is back to its default\n"
    assert "ONECLAW_WEATHER_MAX_DAYS is set" in oneclaw("config", "set", "weather.max_days", "7").stderr


@pytest.mark.long
@pytest.mark.usefixtures("weather")
@pytest.mark.parametrize(
    ("key", "value", "cause"),
    some(
        [
            ("weather.units", "kelvin", "weather.units cannot be 'kelvin'"),
            ("weather.max_days", "0", "weather.max_days cannot be '0'"),
            ("weather.max_days", "many", "weather.max_days cannot be 'many'"),
            ("weather.station", "nowhere", "there is no such station"),
            ("weather.unit", "celsius", "did you mean weather.units"),
            ("weather.api_key", SECRET, "set it with: oneclaw keys set weather.api_key"),
        ],
        3,
    ),
)
def test_an_invalid_value_is_refused(oneclaw, key, value, cause):
    outcome = oneclaw("config", "set", key, value)
    assert (outcome.status, outcome.stdout) == (2, "")
    assert cause in outcome.stderr
    assert SECRET not in outcome.stderr


@pytest.mark.usefixtures("weather")
def test_a_secret_is_stored_listed_and_removed(ok, set_secret, home):
    assert "the secret weather.api_key is stored in keys.json in the home" in set_secret("weather.api_key").stdout

    (listed,) = [each for each in ok("keys", "list", "--json") if each.get("plugin") == "weather"]
    assert listed == {
        "provider": None,
        "secret": "weather.api_key",
        "plugin": "weather",
        "source": "file",
        "key_variable": "ONECLAW_WEATHER_API_KEY",
        "stored": "file",
    }
    assert "weather.api_key" in ok("keys", "list")
    assert SECRET not in ok("config", "list") + ok("keys", "list")
    assert ok("keys", "remove", "weather.api_key") == "the secret weather.api_key is removed\n"
    assert [each["source"] for each in ok("keys", "list", "--json") if each.get("plugin") == "weather"] == [None]


@pytest.mark.usefixtures("weather")
@pytest.mark.parametrize(
    ("name", "secret", "cause"),
    some(
        [
            ("weather.api_kye", SECRET, "did you mean weather.api_key?"),
            ("openai.token", SECRET, "the plugin openai has no such secret; there are: "),
            ("openai.token", SECRET, "openai, "),
            ("openai.token", SECRET, "weather.api_key"),
            ("weather.units", SECRET, "oneclaw config set weather.units VALUE"),
            ("thunder.api_key", SECRET, "there is no provider of that name"),
            ("weather.api_key", " \n", "the secret is empty"),
        ],
        3,
    ),
)
def test_a_secret_that_no_plugin_has_is_refused(set_secret, name, secret, cause):
    outcome = set_secret(name, secret)
    assert (outcome.status, outcome.stdout) == (2, "")
    assert cause in outcome.stderr


@pytest.mark.usefixtures("weather")
def test_the_doctor_says_what_is_missing_or_invalid(ok, oneclaw, home, monkeypatch):
    ok("config", "set", "weather.units", "celsius")
    with sqlite3.connect(home / "oneclaw.db") as database:
        database.execute("UPDATE settings SET value = '\"kelvin\"' WHERE key = 'weather.units'")
        insert = "INSERT INTO settings (key, value, updated_at) SELECT ?, ?, updated_at FROM settings LIMIT 1"
        database.execute(insert, ("weather.language", '"en"'))
        database.execute(insert, ("weather.station", '"nowhere"'))
    database.close()

    found = findings(oneclaw, "settings")

    assert [(each["status"], each["remedy"]) for each in found] == [
        ("problem", "oneclaw config set weather.units VALUE, or oneclaw config unset weather.units"),
        ("problem", "oneclaw config set weather.station VALUE, or oneclaw config unset weather.station"),
        ("problem", "oneclaw keys set weather.api_key, or set the environment variable ONECLAW_WEATHER_API_KEY"),
        ("warning", "oneclaw config unset weather.language, if it is not needed"),
    ]

    for key in ("weather.units", "weather.station", "weather.language"):
        assert "back to its default" in ok("config", "unset", key)
    monkeypatch.setenv("ONECLAW_WEATHER_API_KEY", SECRET)
    assert [each["status"] for each in findings(oneclaw, "settings")] == ["ok"]


def test_a_plugin_that_is_not_installed_is_named_with_its_package(ok, oneclaw, home, install_plugin):
    assert "oneclaw plugins install PACKAGE" in oneclaw("config", "set", "weather.units", "celsius").stderr
    ok("config", "set", "model", "offline/rules")
    with sqlite3.connect(home / "oneclaw.db") as database:
        database.execute("UPDATE settings SET key = 'mcp_servers.url'")
        insert = "INSERT INTO settings (key, value, updated_at) SELECT 'google.scope', value, updated_at FROM settings"
        database.execute(insert)
        database.execute("UPDATE settings SET key = 'pdfs.scope' WHERE key = 'mcp_servers.url'")
    database.close()

    found = findings(oneclaw, "settings")

    assert {(each["status"], each["message"]) for each in found} == {
        ("warning", "a value is stored for google.scope, and the plugin google is not installed"),
        ("warning", "a value is stored for pdfs.scope, and the plugin pdfs is not installed"),
    }
    assert all("oneclaw plugins install PACKAGE" in each["remedy"] for each in found)
    assert "back to its default" in ok("config", "unset", "pdfs.scope")


def test_our_own_plugins_are_known_by_their_packages():
    found = {}
    for path in Path(__file__).parents[2].glob("plugins/*/pyproject.toml"):
        project = tomllib.loads(path.read_text())["project"]
        found |= dict.fromkeys(project.get("entry-points", {}).get("oneclaw", {}), project["name"])
    assert found == OUR_DISTRIBUTIONS
    assert how_to_install("pdf") == "install it with: oneclaw plugins install oneclaw-pdf"


@pytest.mark.long
def test_checks_of_a_plugin_are_lines_of_the_doctor(oneclaw, install_plugin):
    install_plugin("weather", CHECKS)

    outcome = oneclaw("doctor", "--json")

    assert outcome.status == 1
    found = [each for each in outcome.json["checks"] if each["check"] == "plugin weather"]
    lines = [(each["status"], each["message"]) for each in found if not each["message"].startswith("oneclaw-weather")]
    assert lines[:5] == [
        ("ok", "service: the service answers"),
        ("warning", "service: the quota is low"),
        ("problem", "account: weather is not signed in"),
        ("problem", "broken: it failed: SystemExit: no licence"),
        ("problem", "odd: it returned something other than CheckResult objects"),
    ]
    assert "lost: " in lines[5][1]
    assert "no_such_module" in lines[5][1]
    assert {each["remedy"] for each in found} >= {"wait until tomorrow", "oneclaw weather login"}


@pytest.mark.long
def test_checks_of_a_disabled_plugin_do_not_run(oneclaw, install_plugin, monkeypatch):
    install_plugin("weather", CHECKS)
    monkeypatch.setenv("ONECLAW_DISABLED_PLUGINS", "weather")

    messages = [each["message"] for each in findings(oneclaw, "plugin weather")]

    assert messages == ["oneclaw-weather 1.2, disabled"]


@pytest.mark.long
def test_a_check_that_hangs_is_a_problem_of_its_plugin(oneclaw, install_plugin, monkeypatch):
    monkeypatch.setattr("oneclaw_core.plugins.running.checks.CHECK_SECONDS", 0.05)
    install_plugin(
        "weather",
        """
        import asyncio, threading
        from oneclaw_core import hookimpl

        def waits(context):
            threading.Event().wait()

        async def waits_too(context):
            await asyncio.Event().wait()

        @hookimpl
        def register_checks(register):
            register("sync", waits)
            register("async", waits_too)
        """,
    )

    messages = [each["message"] for each in findings(oneclaw, "plugin weather")]

    assert "sync: it did not end within 0.05 s" in messages
    assert "async: it did not end within 0.05 s" in messages
