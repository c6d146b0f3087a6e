"""The program goes on whatever plugin is installed; see ``tests/broken_plugins``."""

import asyncio
import sys

import pytest
from broken_plugins.kinds import KINDS, install

from oneclaw_core import OneClaw, plugins

pytestmark = pytest.mark.one_python

HANGING = ("hangs_at_import", "hangs_in_hook")
# They end whichever process imports them, before anybody can do anything about it.
KILLING = ("kills_at_import", "kills_in_hook")
SURVIVED = [name for name in KINDS if name not in KILLING]


@pytest.fixture
def installed(tmp_path, monkeypatch):
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)
    monkeypatch.setattr(plugins, "LOAD_SECONDS", 0.6)
    monkeypatch.setenv("LC_THINGS", "")  # one of them sets it
    monkeypatch.chdir(tmp_path)
    yield lambda name: install(name, site)
    for module in [each for each in sys.modules if each.partition(".")[0].startswith("broken_")]:
        if module.partition(".")[0] != "broken_plugins":
            del sys.modules[module]


@pytest.mark.parametrize("name", SURVIVED)
def test_a_message_is_answered_whatever_is_installed(name, oneclaw, installed):
    installed(name)

    outcome = oneclaw("run", "What time is it?")

    assert outcome.status == 0
    assert "get_current_time" in outcome.stderr + outcome.stdout


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.listed] + list(HANGING))
def test_what_the_loader_sees_is_listed(name, oneclaw, installed):
    installed(name)

    listed = {each["name"]: each for each in oneclaw("plugins", "list", "--json").json}

    problems = " ".join(problem["cause"] for problem in listed[name]["problems"])
    assert (KINDS[name].listed or "it did not end within 0.6 s") in problems
    assert all(problem["remedy"] for problem in listed[name]["problems"])


def test_with_all_of_them_installed_the_core_works(home, installed):
    for name in SURVIVED:
        installed(name)

    async def tell_the_time():
        async with OneClaw.open(home) as claw:
            return (await claw.call_tool("get_current_time", "{}")).result, claw.catalog.plugins

    result, records = asyncio.run(tell_the_time())

    assert result.is_success
    assert {record.name for record in records} >= set(SURVIVED)
