"""The core tool create_agent: what it makes, and what the agent it runs may do."""

import asyncio
import math
from contextlib import aclosing
from importlib import resources

import pytest
from histories import pending_calls
from how_long import some
from model_server import ModelServer, calls, silence, text
from pytest_oneclaw.chosen_plugins import chosen_plugins

from oneclaw_core import (
    OneClaw,
    PermissionAnswer,
    SpendingLimitError,
    ToolDefinition,
    ToolProgressEvent,
    ToolResultEvent,
    ToolSelection,
    TurnFinishedEvent,
    TurnLimitError,
)
from oneclaw_core.compaction.estimate import definition_tokens
from oneclaw_core.manifests.manifest import load_manifest
from oneclaw_core.permissions import Decision, Grant

# Its agents have tools of other plugins.
pytestmark = pytest.mark.one_python

PROMPT = "You write poems."
MODEL = "openai_compatible/parent-model"

PLUGINS = ("agents", "javascript", "memory", "offline", "openai", "pdf", "shell", "skills", "web")


def opened(home, server=None, **options):
    environ = {"OPENAI_BASE_URL": server.url} if server is not None else {}
    return OneClaw.open(home, environ=environ, start_directory=home, plugins=chosen_plugins(PLUGINS), **options)


async def turn(claw, message="go", **options):
    async with aclosing(claw.send_message(message, model=MODEL, **options)) as events:
        return [event async for event in events]


def results(events):
    return [event.result for event in events if isinstance(event, ToolResultEvent)]


def create(name="Poet", **arguments):
    return calls(("create_agent", {"name": name, "system_prompt": PROMPT, **arguments}))


def by_depth(*levels):
    """A script in which the agent with the prompt ``level N`` gives the replies of the level N, one by one."""
    left = [list(level) for level in levels]

    def answer(body):
        prompt = body["messages"][0]["content"]
        level = next((n for n in range(len(levels)) if n and f"level {n}" in prompt), 0)
        return left[level].pop(0)

    return answer


def create_level(number, **arguments):
    return create(f"Level {number}", system_prompt=f"level {number}", task="do it", **arguments)


def run(home, script, work, **options):
    async def main(server):
        async with opened(home, server, **options) as claw:
            return await work(claw)

    with ModelServer(script) as server:
        return asyncio.run(main(server)), server


def call(home, arguments):
    async def main():
        async with opened(home) as claw:
            outcome = await claw.call_tool("create_agent", arguments)
            return outcome.result, await claw.agents.list()

    return asyncio.run(main())


def test_an_agent_is_made_and_stays(tmp_path):
    arguments = {
        "name": " Poet ",
        "system_prompt": f" {PROMPT} ",
        "description": "Writes\npoems",
        "tools": ["read_file"],
    }
    result, agents = call(tmp_path, arguments)
    assert [agent.name for agent in agents] == ["General Assistant", "Poet"]
    made = agents[1]
    assert (made.system_prompt, made.description, made.model) == (PROMPT, "Writes poems", None)
    assert made.selection == ToolSelection(frozenset({"read_file"}), frozenset())
    assert made.id in result.result
    assert "oneclaw chat --agent Poet" in result.result


@pytest.mark.one_python
@pytest.mark.parametrize(
    ("arguments", "words"),
    some(
        [
            ({"name": "", "system_prompt": PROMPT}, "name must not be empty"),
            ({"name": "N" * 101, "system_prompt": PROMPT}, "at most 100 characters"),
            ({"name": "N\x1b[2J", "system_prompt": PROMPT}, "control characters"),
            ({"name": "Poet", "system_prompt": " "}, "system_prompt must not be empty"),
            ({"name": "Poet", "system_prompt": "x" * 50_001}, "at most 50,000"),
            ({"name": "general assistant", "system_prompt": PROMPT}, "already"),
            ({"name": "Poet", "system_prompt": PROMPT, "model": "gpt"}, "PROVIDER/MODEL"),
            ({"name": "Poet", "system_prompt": PROMPT, "model": "nobody/gpt"}, "the providers are"),
            ({"name": "Poet", "system_prompt": PROMPT, "tools": ["read_fil"]}, "did you mean read_file"),
            ({"name": "Poet", "system_prompt": PROMPT, "tools": ["pdf"]}, "is a tool group"),
            ({"name": "Poet", "system_prompt": PROMPT, "groups": ["read_file"]}, "is a tool, not a tool group"),
            ({"name": "Poet", "system_prompt": PROMPT, "groups": ["nothing"]}, "there is no tool group 'nothing'"),
            ({"name": "Poet", "system_prompt": PROMPT, "tools": [5]}, "not of type 'string'"),
            ({"name": "Poet", "system_prompt": PROMPT, "parameters": {}}, "parameters"),
            ({"name": "Poet"}, "system_prompt"),
        ],
        3,
    ),
)
def test_what_is_refused(tmp_path, arguments, words):
    result, agents = call(tmp_path, arguments)
    assert result.error_type == "validation_error"
    assert words in result.error_message
    assert len(agents) == 1


def test_a_name_that_is_taken_is_refused(tmp_path):
    call(tmp_path, {"name": "Poet", "system_prompt": PROMPT})
    result, agents = call(tmp_path, {"name": "POET", "system_prompt": "other"})
    assert result.error_type == "validation_error"
    assert "there is an agent named 'POET' already" in result.error_message
    assert agents[1].system_prompt == PROMPT


def test_the_new_agent_does_the_task_in_a_session_of_its_own(tmp_path):
    async def work(claw):
        events = await turn(claw, session="mine")
        return events, await claw.store.list_sessions(), await claw.store.messages((await parent(claw)).id)

    async def parent(claw):
        return await claw.store.find_session("mine")

    script = [
        create(task="A poem about\nthe sea", description="Writes"),
        calls(("get_current_time", {})),
        text("Waves."),
        text("It wrote: Waves."),
    ]
    (events, sessions, history), server = run(tmp_path, script, work)
    [result] = results(events)
    assert result.result.endswith("Its answer:\n\nWaves.")
    assert isinstance(events[-1], TurnFinishedEvent)
    child, parent_session = sorted(sessions, key=lambda each: each.parent_id is None)
    assert (child.agent, child.title, child.parent_id) == ("Poet", "A poem about the sea", parent_session.id)
    assert child.id in result.result
    # The child knows nothing of the conversation, and is asked of the same model.
    prompt, message = server.bodies[1]["messages"]
    assert prompt["content"].startswith(PROMPT)
    assert message == {"role": "user", "content": "A poem about\nthe sea"}
    assert {body["model"] for body in server.bodies} == {"parent-model"}
    progress = [event.message for event in events if isinstance(event, ToolProgressEvent)]
    assert progress == ["Poet begins", "Poet calls get_current_time"]
    # What the model of the parent is told, and no more.
    assert [str(each.type) for each in history] == ["user", "assistant", "tool_call", "tool_result", "assistant"]


def test_an_agent_with_a_model_of_its_own_is_asked_of_that(tmp_path):
    script = [create(task="go", model="openai_compatible/child-model"), text("done"), text("ok")]
    _, server = run(tmp_path, script, turn)
    assert [body["model"] for body in server.bodies] == ["parent-model", "child-model", "parent-model"]


def restricted(tools, groups=()):
    """A turn of an agent that has these tools."""

    async def work(claw):
        selection = ToolSelection(frozenset(tools), frozenset(groups))
        await claw.agents.create("Boss", "You are the boss.", selection=selection)
        events = await turn(claw, agent="Boss")
        return results(events), {agent.name: agent for agent in await claw.agents.list()}

    return work


def offered(body):
    return [tool["function"]["name"] for tool in body.get("tools", ())]


@pytest.mark.parametrize(
    ("arguments", "selection", "tools"),
    [
        ({}, ({"create_agent", "read_file", "pdf_info"}, set()), ["load_tool_group", "read_file", "create_agent"]),
        ({"tools": ["read_file"]}, ({"read_file"}, set()), ["read_file"]),
        ({"tools": ["*"]}, ({"create_agent", "read_file", "pdf_info"}, set()), None),
        ({"tools": ["pdf_info"], "groups": ["*"]}, ({"pdf_info"}, set()), ["load_tool_group"]),
        ({"groups": []}, (set(), set()), []),
    ],
)
def test_an_agent_gets_no_tool_that_its_maker_does_not_have(tmp_path, arguments, selection, tools):
    script = [create(task="go", **arguments), text("done"), text("ok")]
    work = restricted(["create_agent", "read_file", "pdf_info"])
    (_, agents), server = run(tmp_path, script, work)
    chosen = agents["Poet"].selection
    assert (chosen.tools, chosen.groups) == selection
    if tools is not None:
        assert sorted(offered(server.bodies[1])) == sorted(tools)
    assert set(offered(server.bodies[1])) <= set(offered(server.bodies[0]))


@pytest.mark.parametrize(
    "arguments", [{"tools": ["write_file", "read_file"]}, {"groups": ["pdf"]}, {"tools": ["pdf_render_page"]}]
)
def test_naming_a_tool_that_its_maker_does_not_have_is_refused(tmp_path, arguments):
    script = [create(task="go", **arguments), text("ok")]
    ([result], agents), _ = run(tmp_path, script, restricted(["create_agent", "read_file", "pdf_info"]))
    assert result.error_type == "validation_error"
    assert "only what you have yourself" in result.error_message
    assert "Poet" not in agents


class RunAgent:
    """A tool of somebody else's that has an agent do something."""

    def __init__(self, claw, agent):
        self.definition = ToolDefinition("run_agent", "Runs an agent.")
        self.claw = claw
        self.agent = agent
        self.contexts = []

    async def execute(self, arguments, context):
        self.contexts.append(context)
        async with aclosing(self.claw.send_message("go", agent=self.agent, within=context)) as events:
            return [event.text async for event in events if isinstance(event, TurnFinishedEvent)]


def weak_runs_strong(*tools):
    """A turn of an agent with these tools, which runs an agent that has more when it is run by itself."""

    async def work(claw):
        claw.catalog.registry.register(RunAgent(claw, "Strong"))
        await claw.agents.create("Strong", "level 1", selection=ToolSelection.naming(["*"], ["pdf"]))
        selection = ToolSelection(frozenset({"run_agent", *tools}), frozenset())
        await claw.agents.create("Weak", "You are weak.", selection=selection)
        return results(await turn(claw, agent="Weak")), await claw.agents.list()

    return work


def test_a_turn_within_a_call_never_has_more_tools_than_the_call(tmp_path):
    strong = [calls(("write_file", {"path": "a", "content": "b"}), ("get_current_time", {})), text("done")]
    script = by_depth([calls(("run_agent", {})), text("ok")], strong)
    ([result], _), server = run(tmp_path, script, weak_runs_strong("get_current_time"))
    assert result.result == ["done"]
    assert sorted(offered(server.bodies[1])) == ["get_current_time", "run_agent"]
    refused, answered = [each["content"] for each in server.bodies[2]["messages"] if each["role"] == "tool"]
    assert "not among this agent's tools" in refused
    assert '"success"' in answered
    assert not (tmp_path / "workspace" / "a").exists()


def test_what_such_a_turn_makes_has_not_more_either(tmp_path):
    script = by_depth([calls(("run_agent", {})), text("ok")], [create(), text("done")])
    (_, agents), _ = run(tmp_path, script, weak_runs_strong("create_agent", "pdf_info"))
    [made] = [agent for agent in agents if agent.name == "Poet"]
    assert made.selection == ToolSelection(frozenset({"run_agent", "create_agent", "pdf_info"}), frozenset())


def test_the_time_of_the_call_stands_still_while_the_user_is_asked(tmp_path):
    tools = []
    remaining = []

    async def ask(request):
        remaining.append(tools[0].contexts[0].remaining_seconds())
        return PermissionAnswer.NO

    async def work(claw):
        tools.append(RunAgent(claw, "Strong"))
        claw.catalog.registry.register(tools[0])
        await claw.agents.create("Strong", "level 1")
        return results(await turn(claw))

    request = calls(("http_request", {"url": "http://127.0.0.1:9/"}))
    script = by_depth([calls(("run_agent", {})), text("ok")], [request, text("done")])
    [result], _ = run(tmp_path, script, work, ask=ask)
    assert result.result == ["done"]
    assert remaining == [math.inf]


def test_agents_run_one_another_two_deep(tmp_path):
    script = by_depth(
        [create_level(1), text("top")],
        [create_level(2), text("one")],
        [create_level(3), create("Level 3"), text("two")],
    )

    async def work(claw):
        events = await turn(claw)
        return events, [agent.name for agent in await claw.agents.list()], await claw.store.list_sessions()

    (events, names, sessions), server = run(tmp_path, script, work)
    assert events[-1].text == "top"
    assert names == ["General Assistant", "Level 1", "Level 2", "Level 3"]
    assert len(sessions) == 3
    refusal = server.bodies[3]["messages"][-1]["content"]
    assert "at most 2 deep" in refusal
    parents = {session.id: session.parent_id for session in sessions}
    [top] = [each for each, parent in parents.items() if parent is None]
    [middle] = [each for each, parent in parents.items() if parent == top]
    assert [each for each, parent in parents.items() if parent == middle]


def limited(**settings):
    async def work(claw):
        for name, value in settings.items():
            await claw.store.set_setting(name, value)
        events = []
        try:
            async with aclosing(claw.send_message("go", model=MODEL, session="mine")) as stream:
                async for event in stream:
                    events.append(event)
        except (SpendingLimitError, TurnLimitError) as error:
            return results(events), str(error)
        return results(events), None

    return work


def test_what_the_agent_spends_counts_for_the_turn_that_runs_it(tmp_path):
    # Each request uses 18 tokens: the child's second one is refused, and then the parent's too.
    script = by_depth([create_level(1), text("never")], [calls(("get_current_time", {})), text("never")])
    ([result], error), server = run(tmp_path, script, limited(turn_max_tokens=36))
    assert result.error_type == "task_failed"
    assert result.error_message.startswith("Agent 'Level 1' is created")
    assert "36 tokens" in result.error_message
    assert "turn_max_tokens" in error
    assert len(server.bodies) == 2


def test_the_days_limit_holds_for_it_too(tmp_path):
    script = by_depth([create_level(1), text("never")], [calls(("get_current_time", {})), text("never")])
    ([result], error), server = run(tmp_path, script, limited(day_max_tokens=30))
    assert "were spent today" in result.error_message
    assert "were spent today" in error
    assert len(server.bodies) == 2


def test_its_rounds_are_taken_from_those_of_the_turn(tmp_path):
    again = [calls(("get_current_time", {"format": "iso8601"}))] * 10
    script = by_depth([create_level(1), text("never")], again)
    ([result], error), server = run(tmp_path, script, limited(turn_max_tool_rounds=4))
    assert result.error_type == "task_failed"
    assert "4 rounds" in result.error_message
    assert "4 rounds" in error
    assert len(server.bodies) == 4


def test_two_agents_at_once_share_what_is_left(tmp_path):
    both = calls(
        *(("create_agent", {"name": n, "system_prompt": "level 1", "task": "go"}) for n in ("One", "Two")),
    )
    script = by_depth([both, text("ok")], [text("done"), text("done")])
    (answers, error), server = run(tmp_path, script, limited(turn_max_tokens=1000))
    assert error is None
    assert all(result.result.endswith("done") for result in answers)
    assert len(server.bodies) == 4


def test_cancelling_the_turn_ends_the_agent(tmp_path):
    script = by_depth([create_level(1)], [calls(("get_current_time", {})), silence()])

    async def work(claw):
        begun = asyncio.Event()

        async def listen():
            async with aclosing(claw.send_message("go", model=MODEL, session="mine")) as events:
                async for event in events:
                    if isinstance(event, ToolProgressEvent) and "calls" in event.message:
                        begun.set()

        listening = asyncio.create_task(listen())
        async with asyncio.timeout(10):
            await begun.wait()
            while len(server_of[0].bodies) < 3:
                await asyncio.sleep(0.01)
        listening.cancel()
        await asyncio.wait({listening})
        others = asyncio.all_tasks() - {asyncio.current_task()}
        sessions = {each.agent: each for each in await claw.store.list_sessions()}
        pending = [await pending_calls(claw.store, each.id) for each in sessions.values()]
        return others, pending, await claw.store.messages(sessions["General Assistant"].id)

    server_of = []

    async def main(server):
        server_of.append(server)
        async with opened(tmp_path, server) as claw:
            return await work(claw)

    with ModelServer(script) as server:
        others, pending, history = asyncio.run(main(server))
        assert server.client_left.wait(10)
    assert others == set()
    assert pending == [[], []]
    assert history[-1].error_type == "interrupted"


def test_permissions_are_asked_as_in_the_turn_that_runs_it(tmp_path):
    asked = []

    async def ask(request):
        asked.append((request.permission, request.session_id))
        return PermissionAnswer.SESSION

    request = calls(("http_request", {"url": "http://127.0.0.1:9/"}))
    script = by_depth([create_level(1), request, text("ok")], [request, text("done")])

    async def work(claw):
        await turn(claw, session="mine")
        return (await claw.store.find_session("mine")).id

    session_id, server = run(tmp_path, script, work, ask=ask)
    # An answer for the session is for the agent that was asked about: its helper does not inherit it.
    assert asked == [("network.private", session_id)] * 2
    assert len(server.bodies) == 5


def test_it_can_be_denied(tmp_path):
    async def main():
        async with opened(tmp_path) as claw:
            await claw.store.set_grant(Grant("agents.create", decision=Decision.DENY))
        async with opened(tmp_path) as claw:
            outcome = await claw.call_tool("create_agent", {"name": "Poet", "system_prompt": PROMPT})
            return outcome.result, await claw.agents.list()

    result, agents = asyncio.run(main())
    assert result.error_type == "permission_denied"
    assert len(agents) == 1


def test_a_task_that_fails_leaves_the_agent(tmp_path):
    async def work(claw):
        # The port of the "discard" service, at which no one listens.
        unreachable = {"type": "openai_compatible", "base_url": "http://127.0.0.1:9/v1"}
        await claw.store.set_setting("provider:gone", unreachable)
        return results(await turn(claw)), [agent.name for agent in await claw.agents.list()]

    ([result], names), _ = run(tmp_path, [create(task="go", model="gone/model"), text("ok")], work)
    assert result.error_type == "task_failed"
    assert "cannot reach gone" in result.error_message
    assert names == ["General Assistant", "Poet"]


def test_outside_a_conversation_it_works_as_well(tmp_path):
    result, agents = call(
        tmp_path, {"name": "Clock", "system_prompt": "You tell the time.", "task": "What time is it in Tokyo?"}
    )
    assert "+09:00" in result.result
    assert agents[1].name == "Clock"


def test_from_a_plain_sentence(tmp_path):
    async def main():
        async with opened(tmp_path) as claw:
            await turn_offline(claw, "create an agent named Poet that writes poems")
            return await claw.agents.list()

    async def turn_offline(claw, message):
        async with aclosing(claw.send_message(message)) as events:
            return [event async for event in events]

    made = asyncio.run(main())[1]
    assert (made.name, made.system_prompt) == ("Poet", "writes poems")


def test_its_definition_is_short():
    path = resources.files("oneclaw_agents") / "create_agent.json"
    [tool] = load_manifest(path).tools
    assert definition_tokens(tool.definition) <= 220


def test_what_is_denied_to_an_agent_is_denied_to_an_agent_that_it_makes(tmp_path):
    async def work():
        async with opened(tmp_path) as claw:
            for grant in (Grant("shell.execute"), Grant("shell.execute", "rm *", Decision.DENY, agent="Ada")):
                await claw.store.set_grant(grant)
            await claw.agents.create("Ada", PROMPT)
            await claw.agents.create("Bo", PROMPT, makers=("General Assistant", "Ada"))
            return [(each.name, each.agent, each.decision) for each in await claw.store.grants()]

    denials = [("shell.execute:rm *", name, Decision.DENY) for name in ("Ada", "Bo")]
    assert asyncio.run(work()) == [("shell.execute", None, Decision.GRANT), *denials]
