"""Plugins that came or changed behind the user's back are reported until they are accepted."""

import json
from base64 import urlsafe_b64encode
from hashlib import sha256

import pytest

SOURCE = """
    from oneclaw_core import hookimpl, tool

    @tool
    def weather() -> str:
        '''Tell the weather.'''
        return "sunny"

    @hookimpl
    def register_tools(register):
        register(weather)
"""


def write_record(package, version="1.2"):
    """Write the list of files that an installer writes."""
    (before,) = package.parent.glob(f"{package.name}-*.dist-info")
    info = before.rename(package.parent / f"{package.name}-{version}.dist-info")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: oneclaw-weather\nVersion: {version}\n")
    lines = []
    for file in (package / "__init__.py", info / "METADATA", info / "entry_points.txt"):
        digest = urlsafe_b64encode(sha256(file.read_bytes()).digest()).rstrip(b"=").decode()
        lines.append(f"{file.relative_to(package.parent)},sha256={digest},{file.stat().st_size}")
    info.joinpath("RECORD").write_text("\n".join([*lines, f"{info.name}/RECORD,,", ""]))


@pytest.fixture
def weather(ok, install_plugin):
    """A plugin that something else installs after the first use of a home."""
    ok("call", "get_current_time")
    package = install_plugin("weather", SOURCE)
    write_record(package)
    return package


def notes(ok):
    (listed,) = [each for each in ok("plugins", "list", "--json") if each["name"] == "weather"]
    return [each["cause"] for each in listed["problems"]]


@pytest.mark.long
def test_what_is_there_at_first_is_known(ok, install_plugin):
    write_record(install_plugin("weather", SOURCE))
    ok("call", "get_current_time")
    assert notes(ok) == []


@pytest.mark.long
def test_a_plugin_that_something_else_installed_is_listed_until_it_is_accepted(oneclaw, ok, weather):
    text = "oneclaw-weather 1.2 is new and was not installed by OneClaw"
    assert oneclaw("call", "get_current_time").stderr == ""  # the user may have just installed it
    assert notes(ok) == [text]
    assert "oneclaw plugins review oneclaw-weather" in ok("plugins", "list")

    assert ok("plugins", "accept", "weather") == "accepted as installed: oneclaw-weather\n"
    assert notes(ok) == []


def test_other_files_under_the_same_version_are_told_and_a_new_version_is_not(oneclaw, ok, weather):
    ok("plugins", "accept", "oneclaw_weather")
    (weather / "__init__.py").write_text((weather / "__init__.py").read_text() + "CHANGED = True\n")
    write_record(weather)
    assert notes(ok) == ["oneclaw-weather 1.2 has changed files, but no new version"]
    for _ in range(2):
        told = oneclaw("call", "get_current_time").stderr
        assert "plugin oneclaw-weather 1.2 has changed files" in told
        assert "see oneclaw plugins list; accept it with: oneclaw plugins accept oneclaw-weather" in told

    write_record(weather, "1.3")
    assert notes(ok) == []


@pytest.mark.long
def test_doctor_reads_the_files(oneclaw, ok, weather):
    ok("plugins", "accept", "--all")
    (weather / "__init__.py").write_text((weather / "__init__.py").read_text() + "CHANGED = True\n")
    assert notes(ok) == []
    (found,) = [
        each
        for each in json.loads(oneclaw("doctor", "--json").stdout)["checks"]
        if "oneclaw-weather 1.2: " in each["message"]
    ]
    assert found["status"] == "warning"
    assert "oneclaw_weather/__init__.py is not as it was installed" in found["message"]


def test_what_is_to_be_accepted_is_named(oneclaw):
    assert oneclaw("plugins", "accept").status == 2
    outcome = oneclaw("plugins", "accept", "wether")
    assert (outcome.status, "no plugin 'wether' is installed" in outcome.stderr) == (2, True)


@pytest.mark.long
def test_a_damaged_record_is_taken_down_again(oneclaw, home, weather):
    record = home / "plugin-origins.json"
    record.write_text("{")
    assert "is lost, and taken down again" in oneclaw("plugins", "list").stderr
    assert oneclaw("plugins", "list").stderr == ""
