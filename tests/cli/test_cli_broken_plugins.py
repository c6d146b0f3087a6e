"""The program goes on whatever plugin is installed; see ``tests/support/broken_plugins``."""

import asyncio
import sys

import pytest
from broken_plugins.kinds import KINDS, install
from how_long import IS_LONG

from oneclaw_core import OneClaw
from oneclaw_core.plugins import isolation

pytestmark = pytest.mark.one_python

HANGING = ("hangs_at_import", "hangs_in_hook")
KILLING = ("kills_at_import", "kills_in_hook")
FAULTY = [*(name for name, kind in KINDS.items() if kind.listed), *HANGING, *KILLING]


@pytest.fixture
def installed(tmp_path, monkeypatch):
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)
    monkeypatch.setattr(isolation, "LOAD_SECONDS", 4.0)
    monkeypatch.setenv("LC_THINGS", "")  # one of them sets it
    monkeypatch.chdir(tmp_path)
    yield lambda name: install(name, site)
    for module in [each for each in sys.modules if each.partition(".")[0].startswith("broken_")]:
        if module.partition(".")[0] != "broken_plugins":
            del sys.modules[module]


def assert_listed(name, listed):
    problems = " ".join(problem["cause"] for problem in listed[name]["problems"])
    otherwise = (
        "the process that looked at it ended with exit status 3" if name in KILLING else "did not end within 4 s"
    )
    assert (KINDS[name].listed or otherwise) in problems
    assert all(problem["remedy"] for problem in listed[name]["problems"])


@pytest.mark.parametrize("name", [each for each in FAULTY if each not in KILLING] if IS_LONG else ["import_error"])
def test_a_message_is_answered_and_what_is_wrong_is_listed(name, oneclaw, installed):
    installed(name)

    answered = oneclaw("run", "What time is it?")
    listed = {each["name"]: each for each in oneclaw("plugins", "list", "--json").json}

    assert_listed(name, listed)
    assert answered.status == 0
    assert "get_current_time" in answered.stderr + answered.stdout


@pytest.mark.long
def test_with_all_of_them_installed_the_core_works_and_what_is_wrong_is_listed(home, oneclaw, installed):
    for name in KINDS:
        installed(name)

    async def tell_the_time():
        async with OneClaw.open(home) as claw:
            return (await claw.call_tool("get_current_time", "{}")).result, claw.catalog.plugins

    result, records = asyncio.run(tell_the_time())

    assert result.is_success
    assert {record.name for record in records} >= set(KINDS)
    listed = {each["name"]: each for each in oneclaw("plugins", "list", "--json").json}
    for name in FAULTY:
        assert_listed(name, listed)
