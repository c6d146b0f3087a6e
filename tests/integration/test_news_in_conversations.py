"""Skills, groups and tools that come and go are told in the conversation; what requests begin with stays the same."""

import asyncio
import itertools
import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from histories import change
from how_long import some
from model_server import ModelServer, calls, text
from wire_formats import FORMATS

from oneclaw_core import OneClaw, ToolGroupDefinition, tool

WIRES = {wire.provider: wire for wire in FORMATS}


@tool
def forecast(city: str) -> str:
    """Tell the weather."""
    return f"It rains in {city}."


class Sessions:
    """A home whose models are those of a server, opened anew for each story."""

    def __init__(self, home, server, wire=WIRES["openai_compatible"]):
        self.home, self.server, self.wire = home, server, wire
        self.environ = {}

    def play(self, story, *groups, tools=()):
        names = ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL")
        environ = dict.fromkeys(names, self.server.url) | self.environ

        async def run():
            async with OneClaw.open(self.home, environ=environ, start_directory=self.home) as claw:
                claw.add_tools(*tools)
                for name in groups:
                    claw.add_tools(forecast, group=ToolGroupDefinition(name, name.title(), f"Knows the {name}"))
                return await story(claw)

        return asyncio.run(run())

    def say(self, *groups, words="Hello.", tools=(), **options):
        async def story(claw):
            given = {"session": "s", "model": self.wire.full_model} | options
            async for _ in claw.send_message(words, **given):
                pass

        self.play(story, *groups, tools=tools)

    def skill(self, name, description="Use it for pages."):
        folder = self.home / "skills" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n---\nDo it.\n")
        return folder / "SKILL.md"

    def users(self, request=-1):
        return [each["content"] for each in self.server.bodies[request]["messages"] if each["role"] == "user"]

    def prompts(self):
        return [each["messages"][0]["content"] for each in self.server.bodies]


@pytest.fixture
def server():
    with ModelServer(lambda body: text("Well.")) as server:
        yield server


@pytest.fixture
def sessions(tmp_path, server):
    return Sessions(tmp_path, server)


@pytest.mark.long
@pytest.mark.parametrize("wire", FORMATS, ids=lambda wire: wire.provider)
def test_a_new_skill_and_a_new_group_leave_the_beginning_of_a_session_as_it_was(tmp_path, wire):
    with ModelServer([wire.says("Well.") for _ in range(4)]) as server:
        sessions = Sessions(tmp_path, server, wire)
        sessions.say()
        sessions.skill("page-count")
        sessions.say()
        sessions.say("weather")
        sessions.say("weather")
    prompts = [wire.system_prompt(body) for body in server.bodies]
    assert len(set(prompts)) == 1
    assert "page-count" not in prompts[0]
    *_, third, fourth = [json.dumps(wire.history(body)) for body in server.bodies]
    assert third.count("New in Available Skills:\\n- page-count: Use it for pages.") == 1
    assert third.count("New in Available Tool Groups:\\n- weather: Knows the weather") == 1
    assert fourth.count("New in") == 2  # each is told once, and stays told
    wire.assert_goes_on(server.contents[0], server.contents[1])
    wire.assert_goes_on(server.contents[2], server.contents[3])


@pytest.mark.long
def test_news_are_stored_with_the_message_and_marked_as_no_words_of_the_user(sessions):
    sessions.say()
    sessions.skill("page-count")
    sessions.say(words="Count the pages.")
    news = (
        '<context plugin="oneclaw">\nThis has changed since the conversation began.\n\n'
        "New in Available Skills:\n- page-count: Use it for pages.\n</context>"
    )
    assert sessions.users() == ["Hello.", f"Count the pages.\n\n{news}"]


@pytest.mark.long
def test_what_is_gone_is_told(sessions):
    path = sessions.skill("page-count")
    sessions.say("weather")
    path.unlink()
    sessions.environ = {"ONECLAW_DISABLED_PLUGINS": "javascript"}
    sessions.say()
    told = sessions.users()[-1]
    assert "No longer in Available Skills: page-count" in told
    assert "No longer in Available Tool Groups: weather" in told
    assert "No longer in Tools: js_eval" in told
    assert sessions.prompts()[0] == sessions.prompts()[1]


@pytest.mark.long
@pytest.mark.parametrize("wire", [WIRES["openai"], WIRES["anthropic"]], ids=lambda wire: wire.provider)
def test_a_new_tool_is_told_where_the_conversation_stands(tmp_path, wire):
    script = [
        wire.says("Well."),
        wire.calls(("forecast", {"city": "Lisbon"})),
        wire.says("Rain."),
        wire.says("Still."),
        wire.says("No."),
    ]
    with ModelServer(script) as server:
        sessions = Sessions(tmp_path, server, wire)
        sessions.say()
        for _ in range(2):
            sessions.say(tools=[forecast])
        sessions.say()
    assert ["forecast" in wire.at_hand(body) for body in server.bodies] == [False, True, True, True, False]
    for earlier, later in itertools.pairwise(server.contents[:4]):
        if wire.provider == "openai":
            wire.assert_goes_on(earlier, later)
        # Deferred tools are no part of what Anthropic caches.
        assert wire.members(earlier)[wire.keys[1]] == wire.members(later)[wire.keys[1]]
    assert "It rains in Lisbon." in server.contents[2].decode()
    assert server.contents[3].decode().count("The tool forecast is new") == (wire.provider == "openai")
    assert "No longer in Tools: forecast" in server.contents[4].decode()


@pytest.mark.long
def test_what_is_gone_comes_back_and_what_changes_is_told_again(sessions):
    path = sessions.skill("page-count")
    sessions.say()
    path.unlink()
    sessions.say()
    sessions.skill("page-count", "Use it for books.")
    sessions.say()
    sessions.say()
    _, gone, back, nothing = sessions.users()
    assert "No longer in Available Skills: page-count" in gone
    assert "New in Available Skills:\n- page-count: Use it for books." in back
    assert nothing == "Hello."


@pytest.mark.long
def test_a_group_that_is_disabled_elsewhere_is_told(sessions):
    sessions.say("weather")
    sessions.play(lambda claw: claw.store.set_tool_enabled("group", "weather", enabled=False))
    sessions.say("weather")
    assert "No longer in Available Tool Groups: weather" in sessions.users()[-1]


@pytest.mark.long
def test_a_new_session_another_agent_and_a_summary_begin_with_what_there_is(sessions):
    sessions.say()
    sessions.skill("page-count")
    sessions.say(session="another")
    assert "page-count" in sessions.prompts()[1]
    sessions.say(tool_groups=["pdf"])
    assert "page-count" in sessions.prompts()[2]
    assert sessions.users()[-1] == "Hello."

    async def compact(claw):
        await claw.compact("s", model=sessions.wire.full_model)

    sessions.say()
    sessions.play(compact)
    sessions.skill("page-size")
    sessions.say()
    assert "page-count" in sessions.prompts()[-1]
    assert "page-size" not in sessions.prompts()[-1]


@pytest.mark.long
def test_a_session_of_an_earlier_version_keeps_its_prompt(sessions):
    sessions.skill("page-count")
    sessions.say()
    change(sessions.home, "UPDATE sessions SET prompt_lists = NULL")
    sessions.say()
    sessions.skill("page-size")
    sessions.say()
    assert len(set(sessions.prompts())) == 1
    assert "page-size" in sessions.users()[-1]


@pytest.mark.long
@pytest.mark.parametrize("stored", some(["no JSON", "[]", "{}", '{"toolset": "", "shown": {"tools": 5}}', '"x"'], 3))
def test_stored_lists_that_make_no_sense_are_renewed(sessions, stored):
    sessions.say()
    change(sessions.home, "UPDATE sessions SET prompt_lists = ?", stored)
    sessions.say()
    assert sessions.users()[-1] == "Hello."
    assert sessions.prompts()[0] == sessions.prompts()[1]


def test_rules_read_the_lists_as_they_are(tmp_path):
    async def story(claw):
        async for _ in claw.send_message("hello", session="s", model="offline/rules"):
            pass

        @tool
        def tide() -> str:
            """Tell the tide."""
            return "low"

        claw.add_tools(tide, group=ToolGroupDefinition("sea", "Sea", "Knows the sea"))
        request, _ = await claw.next_request(session="s", model="offline/rules")
        return request.system_prompt

    with ModelServer([]) as server:
        assert "- sea: Knows the sea" in Sessions(tmp_path, server).play(story)


@pytest.mark.long
def test_what_appears_within_a_turn_is_told_with_the_next_message(tmp_path):
    with ModelServer([calls(("get_current_time", {})), text("Noon."), text("Bye.")]) as server:
        sessions = Sessions(tmp_path, server)

        async def story(claw):
            async for _ in claw.send_message("What time is it?", session="s", model=sessions.wire.full_model):
                sessions.skill("page-count")

        sessions.play(story)
        sessions.say()
    assert len(set(sessions.prompts())) == 1
    assert sessions.users(1) == ["What time is it?"]
    assert "page-count" in sessions.users()[-1]


def unlisted(count):
    return [ToolGroupDefinition(f"far_{at}", f"Far {at}", "Knows things", may_be_unlisted=True) for at in range(count)]


@pytest.mark.long
def test_a_session_keeps_its_way_of_listing_groups(sessions, server):
    """A session that began with a long list goes on with it, and one that finds groups goes on finding them."""

    def say(session, count):
        async def story(claw):
            for each in unlisted(count):
                claw.add_tools(SimpleNamespace(definition=named(each.name), execute=forecast.execute), group=each)
            async for _ in claw.send_message("Hello.", session=session, model="openai_compatible/small"):
                pass

        sessions.play(story)

    def named(group):
        return replace(forecast.definition, name=f"{group}_tool")

    say("short", 3)
    say("short", 60)
    say("long", 60)
    say("long", 3)
    short, grown, long, shrunk = server.bodies
    names = [[each["function"]["name"] for each in body["tools"]] for body in server.bodies]
    assert names[0] == names[1]
    assert names[2] == names[3]
    assert ("find_tool_groups" in names[0], "find_tool_groups" in names[2]) == (False, True)
    assert short["messages"][0] == grown["messages"][0]
    assert long["messages"][0] == shrunk["messages"][0]
    assert "far_2" in short["messages"][0]["content"]
    assert "far_" not in long["messages"][0]["content"]
    assert "Find them with `find_tool_groups`" in long["messages"][0]["content"]
    assert "- far_59: Knows things" in grown["messages"][-1]["content"]
    assert shrunk["messages"][-1]["content"] == "Hello."
