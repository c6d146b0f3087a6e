"""What models are shown of the memory: the same for as long as a prompt cache may hold what was sent."""

import asyncio
import sqlite3
from contextlib import closing

import pytest
from oneclaw_memory.file import MemoryFile, memory_path

from oneclaw_core import OneClaw, ToolCall
from oneclaw_core.providers import ModelResponse

HOUR = 3_600 * 1_000_000


class Listener:
    """A model that keeps what it is sent; it answers from a list, then always the same."""

    attachment_media_types = ()
    loads_natively = False

    def __init__(self):
        self.requests = []
        self.answers = []

    async def stream(self, request):
        self.requests.append(request)
        yield self.answers.pop(0) if self.answers else ModelResponse(text="I see.")

    async def list_models(self):
        return []

    async def aclose(self):
        pass


@pytest.fixture
def model():
    return Listener()


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def with_home(home, model, work):
    async def run():
        async with OneClaw.open(home, environ={}, start_directory=home.parent) as claw:
            claw.catalog.provider_types["listener"] = lambda config: model
            await claw.store.set_setting("provider:listener", {"type": "listener"})
            return await work(claw)

    return asyncio.run(run())


def remember(claw, text):
    MemoryFile(memory_path(claw.home)).change(text)


async def say(claw, session, text="hello"):
    return [event async for event in claw.send_message(text, session=session, model="listener/any")]


def rest(home, microseconds):
    with closing(sqlite3.connect(home / "oneclaw.db")) as connection:
        connection.execute("UPDATE sessions SET updated_at = updated_at - ?", (microseconds,))
        connection.commit()


def prompts(model):
    return [request.system_prompt for request in model.requests]


def test_memory_stands_behind_the_agents_prompt_and_before_the_lists(home, model):
    async def work(claw):
        remember(claw, "Likes tea")
        await say(claw, "a")

    with_home(home, model, work)
    (prompt,) = prompts(model)
    agent = prompt.index("You are a helpful assistant")
    memory = prompt.index("## Memory\n")
    assert agent < memory < prompt.index("</memory>") < prompt.index("## Available Tool Groups")
    assert "<memory>\n### Notes\n- Likes tea\n</memory>" in prompt


def test_without_a_memory_the_prompt_says_nothing_of_it(home, model):
    with_home(home, model, lambda claw: say(claw, "a"))
    assert "emory>" not in prompts(model)[0]


@pytest.mark.long
@pytest.mark.parametrize("name", ["named", None])
def test_a_session_is_shown_what_it_was_shown_at_its_beginning(home, model, name):
    async def begin(claw):
        remember(claw, "Likes tea")
        events = await say(claw, name)
        return events[-1].session

    session = with_home(home, model, begin)

    async def go_on(claw):
        remember(claw, "Likes cats")
        await say(claw, session)
        assert "Likes cats" not in (await claw.next_request(session=session))[0].system_prompt
        await say(claw, "another")

    with_home(home, model, go_on)
    first, second, third = prompts(model)
    assert first == second
    assert "Likes cats" not in second
    assert "Likes cats" in third


def test_a_session_that_began_without_a_memory_stays_without(home, model):
    async def work(claw):
        await say(claw, None)
        remember(claw, "Likes cats")
        (session,) = await claw.store.list_sessions()
        await say(claw, session.id)

    with_home(home, model, work)
    assert prompts(model)[0] == prompts(model)[1]


def test_after_an_hour_of_rest_it_is_shown_the_memory_as_it_is(home, model):
    async def work(claw):
        remember(claw, "Likes tea")
        await say(claw, "a")
        remember(claw, "Likes cats")
        rest(home, HOUR - 60_000_000)
        await say(claw, "a")
        rest(home, HOUR)
        assert "Likes cats" in (await claw.next_request(session="a"))[0].system_prompt
        await say(claw, "a")
        remember(claw, "Likes dogs")
        await say(claw, "a")

    with_home(home, model, work)
    first, second, third, fourth = prompts(model)
    assert first == second != third == fourth
    assert "Likes cats" in third


@pytest.mark.long
def test_a_summary_renews_it(home, model):
    async def work(claw):
        remember(claw, "Likes tea")
        await say(claw, "a", "x" * 400)
        await say(claw, "a")
        remember(claw, "Likes cats")
        assert await claw.compact("a", model="listener/any")
        remember(claw, "Likes dogs")
        await say(claw, "a")

    with_home(home, model, work)
    assert ["Likes cats" in prompt for prompt in prompts(model)] == [False, False, False, True]
    assert "Likes dogs" not in prompts(model)[3]


@pytest.mark.long
def test_a_summary_in_the_middle_of_a_turn_renews_it_for_the_rest_of_the_turn(home, model):
    def read_file():
        return ModelResponse(tool_calls=(ToolCall("1", "read_file", '{"path": "long.txt"}'),))

    async def work(claw):
        claw.home.workspace.joinpath("long.txt").write_text("words " * 4_000)
        await claw.store.set_setting("model:listener/any", {"context_window": 20_000})
        await say(claw, "a", "y" * 30_000)
        remember(claw, "Likes dogs")
        # The third request is that for a summary.
        model.answers = [read_file(), read_file(), ModelResponse(text="A summary."), read_file()]
        events = await say(claw, "a")
        assert [type(event).__name__ for event in events].count("CompactedEvent") >= 1
        await say(claw, "a")

    with_home(home, model, work)
    requests = [request for request in model.requests if "helpful assistant" in request.system_prompt]
    first = next(at for at, request in enumerate(requests) if "A summary." in str(request.messages[0].content))
    assert first > 1
    assert ["Likes dogs" in request.system_prompt for request in requests] == [
        at >= first for at in range(len(requests))
    ]
    assert len({request.system_prompt for request in requests}) == 2


@pytest.mark.long
def test_the_budget_is_a_setting(home, model):
    async def work(claw):
        remember(claw, "- " + "\n- ".join(f"fact {number}" for number in range(300)))
        await claw.store.set_setting("memory_max_characters", 500)
        await say(claw, "a")
        await claw.store.set_setting("memory_max_characters", 0)
        await say(claw, "b")

    with_home(home, model, work)
    some, none = prompts(model)
    assert "fact 299" in some
    assert "fact 0\n" not in some
    assert "search_history" in some
    assert "fact" not in none


def test_a_memory_that_cannot_be_read_does_not_keep_a_message_from_being_answered(home, model, caplog):
    async def work(claw):
        memory_path(claw.home).mkdir()
        return await say(claw, "a")

    with caplog.at_level("WARNING", logger="oneclaw"):
        assert with_home(home, model, work)[-1].text == "I see."
    assert "no memory" in caplog.text
