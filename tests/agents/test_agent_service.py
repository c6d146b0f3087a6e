"""Agents as programs make and change them, and as turns obey them."""

import asyncio
import logging
from contextlib import aclosing
from dataclasses import replace

import pytest
from how_long import some
from model_server import ModelServer, calls, text

from oneclaw_core import (
    AgentError,
    AgentLimits,
    GroupLoadedEvent,
    NotFoundError,
    OneClaw,
    SpendingLimitError,
    ToolResultEvent,
    ToolSelection,
    TurnLimitError,
)
from oneclaw_core.errors import DuplicateError, ProtectedError
from oneclaw_core.types.agents import GENERAL_ASSISTANT

PROMPT = "You write poems."
MODEL = "openai_compatible/test"


def opened(home, server=None):
    environ = {"OPENAI_BASE_URL": server.url, "ONECLAW_MODEL": MODEL} if server is not None else {}
    return OneClaw.open(home, environ=environ, start_directory=home)


def with_agents(home, work):
    async def main():
        async with opened(home) as claw:
            return await work(claw.agents)

    return asyncio.run(main())


async def turn(claw, **options):
    async with aclosing(claw.send_message("go", **options)) as events:
        return [event async for event in events]


def asked(home, script, work):
    """Do something with an open home and a model server; what the server was sent."""

    async def main(server):
        async with opened(home, server) as claw:
            await work(claw)

    with ModelServer(script) as server:
        asyncio.run(main(server))
    return server.bodies


def offered(body):
    return [tool["function"]["name"] for tool in body.get("tools", ())]


@pytest.mark.long
def test_making_listing_changing_and_deleting(tmp_path):
    async def work(agents):
        made = await agents.create("Poet", PROMPT, parameters={"temperature": 0.5, "top_p": None}, max_tool_rounds=3)
        assert made.parameters == {"temperature": 0.5}
        assert await agents.list() == [GENERAL_ASSISTANT, made]
        changed = await agents.update(
            "poet",
            name="  Bard ",
            description="sings\nloudly",
            parameters={"top_p": 0.5},
            turn_max_cost=1.5,
            model="offline/rules",
            selection=ToolSelection.naming(["read_file"], ["pdf"]),
        )
        assert (changed.id, changed.name, changed.description) == (made.id, "Bard", "sings loudly")
        assert changed.parameters == {"temperature": 0.5, "top_p": 0.5}
        assert changed.limits == AgentLimits(max_tool_rounds=3, turn_max_cost=1.5)
        assert changed.system_prompt == PROMPT
        again = await agents.update(made.id, parameters={"temperature": None}, max_tool_rounds=None, model=None)
        assert (again.parameters, again.limits, again.model) == ({"top_p": 0.5}, AgentLimits(turn_max_cost=1.5), None)
        assert [(each.name, group) for each, group in agents.tools_of(again)][:3] == [
            ("load_tool_group", None),
            ("read_file", None),
            ("pdf_info", "pdf"),
        ]
        assert await agents.delete("BARD") == (again, 0)
        assert await agents.list() == [GENERAL_ASSISTANT]

    with_agents(tmp_path, work)


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    some(
        [
            ({"name": ""}, AgentError, "must not be empty"),
            ({"name": 5}, AgentError, "must be a text"),
            ({"name": "general ASSISTANT"}, DuplicateError, "already"),
            ({"name": "Other"}, DuplicateError, "already"),
            ({"system_prompt": "  "}, AgentError, "must not be empty"),
            ({"system_prompt": None}, AgentError, "must not be empty"),
            ({"parameters": {"temperature": 5}}, AgentError, "from 0 to 2"),
            ({"model": "offline"}, NotFoundError, "PROVIDER/MODEL"),
            ({"model": 5}, AgentError, "PROVIDER/MODEL"),
            ({"model": "nobody/x"}, NotFoundError, "the providers are"),
            ({"parameters": [1]}, AgentError, "must be an object"),
            ({"max_tool_rounds": 0}, AgentError, "max_tool_rounds"),
            ({"turn_max_cost": float("nan")}, AgentError, "turn_max_cost"),
            ({"selection": ["read_file"]}, AgentError, "ToolSelection"),
            ({"selection": ToolSelection.naming(["reed_file"])}, NotFoundError, "did you mean read_file"),
            ({"selection": ToolSelection.naming(None, ["pfd"])}, NotFoundError, "did you mean pdf"),
            ({"selection": ToolSelection(frozenset({5, "x"}))}, NotFoundError, "no tool"),
            ({"selection": ToolSelection(within=ToolSelection(frozenset()))}, AgentError, "within"),
            ({"id": "x"}, AgentError, "has no 'id'"),
            ({"is_builtin": True}, AgentError, "what can be set is"),
        ],
        9,
    ),
)
def test_a_change_that_does_not_fit_changes_nothing(tmp_path, change, kind, words):
    async def work(agents):
        await agents.create("Other", PROMPT)
        made = await agents.create("Poet", PROMPT)
        with pytest.raises(kind, match=words) as caught:
            await agents.update("Poet", **change)
        assert "\n" not in str(caught.value)
        assert await agents.get("Poet") == made

    with_agents(tmp_path, work)


def test_names_of_what_is_not_installed_any_more_may_stay(tmp_path):
    async def work(agents):
        made = await agents.create("Poet", PROMPT)
        gone = ToolSelection(frozenset({"gone_tool"}), frozenset({"gone_group"}))
        with pytest.raises(NotFoundError):
            await agents.update("Poet", selection=gone)
        # As it is when the plugin that they are of is taken out later.
        await agents._store.change_agent(made.id, lambda it: replace(it, selection=gone))
        wider = ToolSelection(frozenset({"gone_tool", "read_file"}), frozenset({"gone_group", "pdf"}))
        assert (await agents.update("Poet", selection=wider)).selection == wider

    with_agents(tmp_path, work)


def test_an_unknown_agent_is_told_with_those_that_are_much_like_it(tmp_path):
    async def work(agents):
        await agents.create("Poet", PROMPT)
        for missing, words in (("Peot", "did you mean Poet"), ("xyz", "oneclaw agents list"), ("a" * 5000, "no agent")):
            with pytest.raises(NotFoundError, match=words) as caught:
                await agents.get(missing)
            assert len(str(caught.value)) < 200
        with pytest.raises(NotFoundError, match="did you mean General Assistant"):
            await agents.delete("Generel Assistent")

    with_agents(tmp_path, work)


def test_the_built_in_agent_cannot_be_changed(tmp_path):
    async def work(agents):
        with pytest.raises(ProtectedError):
            await agents.update("General Assistant", description="x")
        with pytest.raises(ProtectedError):
            await agents.delete("general-assistant")
        assert await agents.list() == [GENERAL_ASSISTANT]

    with_agents(tmp_path, work)


@pytest.mark.long
def test_a_turn_obeys_prompt_model_and_parameters(tmp_path):
    async def work(claw):
        await claw.agents.create("Poet", PROMPT, model="openai_compatible/poetic", parameters={"temperature": 0.25})
        await turn(claw, agent="poet", session="s")
        await turn(claw, session="s")
        await turn(claw, session="s", model=MODEL)
        await turn(claw, session="s", agent="General Assistant")

    bodies = asked(tmp_path, lambda body: text("ok"), work)
    assert [body["model"] for body in bodies] == ["poetic", "poetic", "test", "test"]
    assert [body.get("temperature") for body in bodies] == [0.25, 0.25, 0.25, None]
    assert [body["messages"][0]["content"].startswith(PROMPT) for body in bodies] == [True, True, True, False]
    # Another agent goes on with the same conversation.
    assert len(bodies[3]["messages"]) == 8


@pytest.mark.long
def test_a_turn_obeys_the_selection(tmp_path):
    async def work(claw):
        await claw.agents.create("Reader", PROMPT, selection=ToolSelection.naming(["read_file", "pdf_info"]))
        events = await turn(claw, agent="Reader")
        found = sorted(
            ((event.id, event.result) for event in events if isinstance(event, ToolResultEvent)),
            key=lambda pair: pair[0],
        )
        failed = [result for _, result in found]
        assert [each.error_type for each in failed[:4]] == ["not_found", "not_available", "not_available", None]
        assert all("not among this agent's tools" in each.error_message for each in failed[1:3])
        assert "Loaded 1 tools" in failed[3].result
        assert [event.tools for event in events if isinstance(event, GroupLoadedEvent)] == [("pdf_info",)]
        assert failed[4].error_type == "not_available"

    script = [
        calls(
            ("load_tool_group", {"group_name": "google_gmail"}),
            ("write_file", {"path": "a", "content": "b"}),
            ("pdf_render_page", {"path": "a"}),
            ("load_tool_group", {"group_name": "pdf"}),
        ),
        calls(("pdf_extract_text", {"path": "a"})),
        text("ok"),
    ]
    bodies = asked(tmp_path, script, work)
    assert offered(bodies[0]) == ["load_tool_group", "read_file"]
    assert offered(bodies[1]) == ["load_tool_group", "read_file", "pdf_info"]
    assert "- pdf: " in bodies[0]["messages"][0]["content"]


@pytest.mark.long
def test_loaded_groups_are_those_of_the_agent_that_goes_on(tmp_path):
    async def work(claw):
        await claw.agents.create("Small", PROMPT, selection=ToolSelection.naming(["read_file"]))
        await turn(claw, session="s")
        await turn(claw, session="s", agent="Small")
        await turn(claw, session="s")

    bodies = asked(tmp_path, [calls(("load_tool_group", {"group_name": "pdf"})), *[text("ok")] * 3], work)
    assert "pdf_info" in offered(bodies[1])
    assert offered(bodies[2]) == ["read_file"]
    assert "Tool Groups" not in bodies[2]["messages"][0]["content"]
    assert offered(bodies[3]) == offered(bodies[1])


@pytest.mark.long
def test_an_agent_without_tools_is_sent_none(tmp_path):
    async def work(claw):
        await claw.agents.create("Bare", PROMPT, selection=ToolSelection.naming([], []))
        await turn(claw, agent="Bare")

    [body] = asked(tmp_path, [text("ok")], work)
    assert offered(body) == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("limits", "settings", "kind", "words", "requests"),
    [
        ({"max_tool_rounds": 2}, {}, TurnLimitError, "oneclaw agents edit Poet --max-tool-rounds", 2),
        ({"max_tool_rounds": 5}, {"turn_max_tool_rounds": 1}, TurnLimitError, "the setting turn_max_tool_rounds", 1),
        ({"turn_max_tokens": 18}, {}, SpendingLimitError, "oneclaw agents edit Poet --turn-max-tokens", 1),
        ({"turn_max_tokens": 99}, {"turn_max_tokens": 30}, SpendingLimitError, "the setting turn_max_tokens", 2),
    ],
)
def test_of_the_limits_of_agent_and_settings_the_stricter_holds(tmp_path, limits, settings, kind, words, requests):
    async def work(claw):
        for name, value in settings.items():
            await claw.store.set_setting(name, value)
        await claw.agents.create("Poet", PROMPT, **limits)
        with pytest.raises(kind, match=words):
            await turn(claw, agent="Poet")

    assert len(asked(tmp_path, lambda body: calls(("get_current_time", {})), work)) == requests


@pytest.mark.long
def test_changes_hold_from_the_next_turn_on_in_another_home_too(tmp_path):
    async def work(claw):
        await claw.agents.create("Poet", PROMPT)
        await turn(claw, agent="Poet", session="s")
        async with opened(tmp_path) as other:
            await other.agents.update(
                "Poet", name="Bard", system_prompt="You sing.", selection=ToolSelection.naming([])
            )
        await turn(claw, session="s")
        async with opened(tmp_path) as other:
            await other.agents.delete("Bard")
        await turn(claw, session="s")
        assert (await claw.store.find_session("s")).agent == "General Assistant"

    bodies = asked(tmp_path, lambda body: text("ok"), work)
    prompts = [body["messages"][0]["content"] for body in bodies]
    assert prompts[0].startswith(PROMPT)
    assert prompts[1] == "You sing." or prompts[1].startswith("You sing.\n")
    assert prompts[2].startswith(GENERAL_ASSISTANT.system_prompt)
    assert [bool(offered(body)) for body in bodies] == [True, False, True]


def test_a_session_whose_agent_is_gone_goes_on(tmp_path, caplog):
    async def work(claw):
        await claw.store.create_session("s", agent="Vanished")
        with caplog.at_level(logging.WARNING, "oneclaw.turn"):
            await turn(claw, session="s")
        with pytest.raises(NotFoundError):
            await turn(claw, session="s", agent="Vanished")

    [body] = asked(tmp_path, [text("ok")], work)
    assert body["messages"][0]["content"].startswith(GENERAL_ASSISTANT.system_prompt)
    assert "'Vanished'" in caplog.text


def test_a_model_that_is_gone_is_told_with_the_agent(tmp_path):
    async def work(claw):
        await claw.store.set_setting("provider:lab", {"type": "openai_compatible", "base_url": "http://127.0.0.1:9"})
        await claw.agents.create("Poet", PROMPT, model="lab/model")
        await claw.store.remove_setting("provider:lab")
        with pytest.raises(NotFoundError, match="the model of agent 'Poet' cannot be used"):
            await turn(claw, agent="Poet")

    assert asked(tmp_path, [], work) == []


@pytest.mark.long
def test_a_turn_of_an_own_agent_takes_no_transaction_more(tmp_path):
    async def work(claw):
        await claw.agents.create("Poet", PROMPT)
        for agent in ("General Assistant", "Poet"):
            await turn(claw, agent=agent, session=agent)
        counts = {}
        database = claw.store._database
        transact = database._transact

        def counted(*arguments, **options):
            counts[agent] = counts.get(agent, 0) + 1
            return transact(*arguments, **options)

        database._transact = counted
        for agent in ("General Assistant", "Poet"):
            await turn(claw, session=agent)
        assert counts["Poet"] == counts["General Assistant"] > 0

    asked(tmp_path, lambda body: text("ok"), work)
