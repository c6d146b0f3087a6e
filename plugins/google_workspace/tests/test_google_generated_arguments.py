"""Every tool, called with sets of arguments that fit its schema: each request fits Google's descriptions.

In the long form it is a hundred sets for each tool.
"""

import asyncio
from random import Random

import pytest
from google_arguments import amended_arguments, generated_arguments
from google_desk import give_database, make_home, open_home, sign_in, stand_in
from google_furniture import furnish
from how_long import IS_LONG, some
from test_google_manifests import OF_ONE_SERVICE, TOOLS

from oneclaw_core import PermissionAnswer

pytestmark = pytest.mark.one_python

SETS = 100 if IS_LONG else 2
MOST_SETS = 2000 if IS_LONG else 80
# What a call may come to; anything else is a fault of the tool's, such as an answer that it could not read.
ERRORS = {"validation_error", "not_found", "permission_denied", "not_available", "conflict"}


@pytest.mark.parametrize("name", some(OF_ONE_SERVICE, 12))
def test_what_a_tool_sends_fits_googles_description(name, tmp_path, monkeypatch):
    parameters, random = TOOLS[name]["parameters"], Random(name)
    called = []

    async def agree(_):
        return PermissionAnswer.ONCE

    async def run(google, home, known):
        async with open_home(home, ask=agree, start_directory=tmp_path) as claw:
            # What does not go together is refused before anything is sent: of such, further sets make up for it.
            while len(called) < SETS or (len(google.requests) < SETS / 2 and len(called) < MOST_SETS):
                arguments = generated_arguments(parameters, random, known)
                called.append((arguments, (await claw.call_tool(name, arguments)).result))
                amended = amended_arguments(arguments, str(called[-1][1].error_message), parameters, random, known)
                if amended != arguments:
                    called.append((amended, (await claw.call_tool(name, amended)).result))

    with stand_in(monkeypatch) as google:  # which fails at its end if a request did not fit
        home = make_home(tmp_path / "home", monkeypatch)
        give_database(home)
        sign_in(google, home, extra=("contacts.other.readonly", "directory.readonly"))
        (tmp_path / "note.txt").write_text("Grüße")
        asyncio.run(run(google, home, furnish(google)))
        requests = len(google.requests)

    faults = [
        (arguments, result.error_type, result.error_message)
        for arguments, result in called
        if not result.is_success and result.error_type not in ERRORS
    ]
    assert faults == []
    refusals = [result.error_message for _, result in called if result.error_type == "validation_error"]
    assert [each for each in refusals if "does not fit the schema" in str(each)] == []
    assert requests >= SETS / 2
    # A few sets need not hold one that goes together.
    assert any(result.is_success for _, result in called) or not IS_LONG
