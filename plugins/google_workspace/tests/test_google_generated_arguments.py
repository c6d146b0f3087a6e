"""Tools called with arguments made at random from their schemas: whatever they send is what Google describes.

The stand-in keeps every request that does not fit Google's description; none must be left.
"""

import asyncio
import os
from collections import Counter
from random import Random

import pytest
from google_desk import give_database, make_home, open_home, sign_in, stand_in
from google_random_arguments import known_things, random_arguments
from oneclaw_google_workspace.drive import exporting
from test_google_manifests import OF_ONE_SERVICE, TOOLS

from oneclaw_core import PermissionAnswer

pytestmark = pytest.mark.one_python

SETS = 100 if os.environ.get("ONECLAW_TESTS_LONG", "") not in ("", "0") else 15
# What a tool answers where arguments do not go together, or name what there is not.
REFUSALS = {"validation_error", "not_found", "not_available", "conflict", "permission_denied", "quota_exceeded"}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """How often each tool answered what, and the requests that did not fit; by tool."""
    answers, misfits = {name: Counter() for name in OF_ONE_SERVICE}, {}

    async def agree(_):
        return PermissionAnswer.ONCE

    async def run(google, home):
        async with open_home(home, ask=agree, start_directory=home.path.parent) as claw:
            for name in OF_ONE_SERVICE:
                random, known = Random(name), known_things(google)
                for number in range(SETS):
                    if number % 10 == 9:  # what there was may be gone
                        known = known_things(google)
                    arguments = random_arguments(TOOLS[name]["parameters"], known, random)
                    result = (await claw.call_tool(name, arguments)).result
                    answers[name][result.error_type] += 1
                    if google.misfits:
                        misfits.setdefault(name, []).append((arguments, list(google.misfits)))
                        google.misfits.clear()

    with pytest.MonkeyPatch.context() as monkeypatch, stand_in(monkeypatch) as google:
        monkeypatch.setattr(exporting, "_FIRST_PAUSE_SECONDS", 0.01)
        home = make_home(tmp_path_factory.mktemp("generated") / "home", monkeypatch)
        give_database(home)
        sign_in(google, home, extra=("contacts.other.readonly", "directory.readonly"))
        asyncio.run(run(google, home))
    return answers, misfits


@pytest.mark.parametrize("name", OF_ONE_SERVICE)
def test_every_request_is_what_google_describes(outcomes, name):
    assert outcomes[1].get(name, []) == []


@pytest.mark.parametrize("name", OF_ONE_SERVICE)
def test_every_call_succeeds_or_says_what_is_wrong(outcomes, name):
    assert set(outcomes[0][name]) - {None} <= REFUSALS


def test_most_tools_get_through(outcomes):
    succeeded = [name for name in OF_ONE_SERVICE if outcomes[0][name][None]]
    assert len(succeeded) > len(OF_ONE_SERVICE) / 2
