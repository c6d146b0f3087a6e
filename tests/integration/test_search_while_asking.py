"""search_history within turns of the offline model."""

import asyncio
import re

import pytest

from oneclaw_core import OneClaw, ToolResultEvent, TurnFinishedEvent


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def with_home(home, work):
    async def run():
        async with OneClaw.open(home, environ={}, start_directory=home.parent) as claw:
            return await work(claw)

    return asyncio.run(run())


def test_the_question_just_asked_is_never_found(home):
    async def work(claw):
        async def ask(session, text):
            return [event async for event in claw.send_message(text, session=session)]

        first = await ask("one", "What did I say about elderberries?")
        await ask("one", "remember that I like elderberries")
        return first, await ask("one", "What did I say about elderberries?")

    first, second = with_home(home, work)
    (found,) = [event.result.result for event in first if isinstance(event, ToolResultEvent)]
    assert found.startswith("Nothing found for 'elderberries'")
    (found,) = [event.result.result for event in second if isinstance(event, ToolResultEvent)]
    assert "remember that I like elderberries" in found
    # The first question is found, the second is not, nor the session's title.
    assert len(re.findall(r": What did I say", found)) == 1
    assert "title of a session" not in found
    assert isinstance(second[-1], TurnFinishedEvent)
    assert "I like elderberries" in second[-1].text
