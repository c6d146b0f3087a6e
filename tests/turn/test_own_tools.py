"""Tools that a program gives to one turn alone."""

import asyncio
import json

import pytest
from stage import PlainTool, ScriptedModel, Stage, calls, of, says

from oneclaw_core import (
    MessageType,
    ToolContext,
    ToolResultEvent,
    TurnFinishedEvent,
    UsageError,
    tool,
)
from oneclaw_core.errors import DuplicateToolError, ToolDefinitionError


@tool
async def show_page(page: int, context: ToolContext) -> str:
    """Show a page in the browser."""
    return f"page {page}, asked by {context.agent_name}"


def names(request):
    return [each.name for each in request.tools]


def test_the_tools_stand_behind_all_others_and_what_stood_before_stays(tmp_path):
    stage = Stage(tmp_path)
    before, model, after = ScriptedModel(says("ready")), ScriptedModel(), ScriptedModel(says("bye"))
    model.answers = [
        calls(("load_tool_group", {"group_name": "pdf"})),
        calls(("show_page", {"page": 3})),
        says("done"),
    ]

    async def run():
        async with stage.session() as claw:
            await stage.send(before)
            events = await stage.send(model, tools=[show_page])
            assert "show_page" not in claw.catalog.registry.get_all_tool_names()
            await stage.send(after)
            return events

    events = asyncio.run(run())
    core = names(before.requests[0])
    assert names(model.requests[0]) == [*core, "show_page"]
    assert names(model.requests[1]) == [*core, "pdf_info", "show_page"]
    assert names(after.requests[0]) == [*core, "pdf_info"]
    assert {each.system_prompt for each in (*before.requests, *model.requests, *after.requests)} == {
        before.requests[0].system_prompt
    }
    result = of(ToolResultEvent, events)[-1].result
    assert result.result == "page 3, asked by General Assistant"


def test_the_model_is_told_that_a_tool_of_an_earlier_turn_is_gone(tmp_path):
    stage = Stage(tmp_path)
    first = ScriptedModel(calls(("show_page", {"page": 1})), says("shown"))
    second = ScriptedModel(calls(("show_page", {"page": 2})), says("sorry"))

    async def run():
        async with stage.session():
            await stage.send(first, tools=(each for each in [show_page]))
            return await stage.send(second)

    (told,) = of(ToolResultEvent, asyncio.run(run()))
    assert told.result.error_type == "not_found"
    assert "was there for an earlier turn alone" in told.result.text()


def test_a_resumed_turn_does_not_have_them_and_says_so(tmp_path):
    stage = Stage(tmp_path)
    broken = ScriptedModel(calls(("show_page", {"page": 1})), RuntimeError("the process ended"))

    async def run():
        async with stage.session() as claw:
            with pytest.raises(RuntimeError):
                await stage.send(broken, tools=[show_page])
            stage.models["scripted"] = ScriptedModel(calls(("show_page", {"page": 2})), says("I cannot."))
            return [event async for event in claw.resume("story", model="scripted/model")]

    events = asyncio.run(run())
    assert "was there for an earlier turn alone" in of(ToolResultEvent, events)[-1].result.text()
    assert of(TurnFinishedEvent, events)[-1].text == "I cannot."


def test_with_a_dispatcher_they_are_called_directly(tmp_path):
    stage = Stage(tmp_path)
    stage.about_model = {"tool_loading": "dispatch"}
    model = ScriptedModel(calls(("show_page", {"page": 3})), says("done"))
    stage.played(model, tools=[show_page])
    assert names(model.requests[0])[-2:] == ["use_tool", "show_page"]
    call = next(each for each in model.requests[1].messages if each.type is MessageType.TOOL_CALL)
    assert (call.tool_name, json.loads(call.tool_input)) == ("show_page", {"page": 3})


@pytest.mark.parametrize(
    ("tools", "error", "text"),
    [
        ([show_page, show_page], DuplicateToolError, "'show_page' is given twice"),
        ([PlainTool("echo", None)], DuplicateToolError, "'echo' is there already"),
        ([PlainTool("pdf_info", None)], DuplicateToolError, "'pdf_info' is there already"),
        ([lambda: ""], ToolDefinitionError, "decorate a function with @tool"),
        (show_page, UsageError, "tools must be a list of tools"),
    ],
)
def test_what_cannot_be_a_tool_of_the_turn_is_refused_before_anything_is_stored(tmp_path, tools, error, text):
    stage = Stage(tmp_path)
    _, rows = stage.played(ScriptedModel(says("never")), raises=error, tools=tools)
    assert text in str(stage.fault)
    assert rows == []
