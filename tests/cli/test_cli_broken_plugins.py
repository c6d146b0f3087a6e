"""The program goes on whatever plugin is installed; see ``tests/broken_plugins``."""

import asyncio
import os
import subprocess
import sys

import pytest
from broken_plugins.kinds import KINDS, install

from oneclaw_core import OneClaw
from oneclaw_core.plugins import loading

pytestmark = pytest.mark.one_python

HANGING = ("hangs_at_import", "hangs_in_hook")
# They end the first process that loads them, before anybody can do anything about it.
KILLING = ("kills_at_import", "kills_in_hook")
STATUS_OF_KILLED = 3


@pytest.fixture
def installed(tmp_path, monkeypatch):
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)
    monkeypatch.setattr(loading, "LOAD_SECONDS", 2.0)
    monkeypatch.setenv("LC_THINGS", "")  # one of them sets it
    monkeypatch.chdir(tmp_path)
    yield lambda name: install(name, site)
    for module in [each for each in sys.modules if each.partition(".")[0].startswith("broken_")]:
        if module.partition(".")[0] != "broken_plugins":
            del sys.modules[module]


@pytest.fixture
def start(home, tmp_path):
    """Run the program in a process of its own, and give its exit status."""

    def run(*arguments):
        environ = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
        command = [sys.executable, "-m", "oneclaw_core", *arguments]
        return subprocess.run(command, env=environ, capture_output=True, check=False).returncode

    return run


@pytest.mark.parametrize("name", KINDS)
def test_a_message_is_answered_whatever_is_installed(name, oneclaw, installed, start):
    installed(name)
    if name in KILLING:
        assert start("run", "What time is it?") == STATUS_OF_KILLED

    outcome = oneclaw("run", "What time is it?")

    assert outcome.status == 0
    assert "get_current_time" in outcome.stderr + outcome.stdout


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.listed] + list(HANGING))
def test_what_the_loader_sees_is_listed(name, oneclaw, installed):
    installed(name)

    listed = {each["name"]: each for each in oneclaw("plugins", "list", "--json").json}

    problems = " ".join(problem["cause"] for problem in listed[name]["problems"])
    assert (KINDS[name].listed or "it did not end within 2 s") in problems
    assert all(problem["remedy"] for problem in listed[name]["problems"])


@pytest.mark.parametrize("name", KILLING)
def test_what_ended_the_program_is_listed_and_can_be_tried_again(name, home, oneclaw, installed, start):
    installed(name)
    assert start("tools", "list") == STATUS_OF_KILLED  # there was no home before

    listed = {each["name"]: each for each in oneclaw("plugins", "list", "--json").json}[name]
    findings = [each for each in oneclaw("doctor", "--json").json["checks"] if each["check"] == f"plugin {name}"]
    checked = oneclaw("plugins", "check", name, "--json").json
    notes = list((home / "loading").iterdir())
    enabled = oneclaw("plugins", "enable", name)

    (problem,) = listed["problems"]
    assert listed["status"] == "failed"
    assert "the program ended while it was loaded" in problem["cause"]
    assert f"oneclaw plugins check {name}" in problem["remedy"]
    assert [each["status"] for each in findings] == ["problem"]
    assert f"oneclaw plugins enable {name}" in findings[0]["remedy"]
    # It loads the plugin, too, and neither heeds the notes nor adds any.
    assert KINDS[name].finds[0] in {each["check"] for each in checked["findings"]}
    assert len(notes) == 1
    assert enabled.stdout == f"plugin {name} is tried again\n"
    assert start("tools", "list") == STATUS_OF_KILLED


def test_with_all_of_them_installed_the_core_works(home, installed, start):
    for name in KILLING:
        installed(name)
    assert [start("tools", "list") for _ in range(3)] == [STATUS_OF_KILLED, STATUS_OF_KILLED, 0]
    for name in KINDS:
        if name not in KILLING:
            installed(name)

    async def tell_the_time():
        async with OneClaw.open(home) as claw:
            return (await claw.call_tool("get_current_time", "{}")).result, claw.catalog.plugins

    result, records = asyncio.run(tell_the_time())

    assert result.is_success
    assert {record.name for record in records} >= set(KINDS)
