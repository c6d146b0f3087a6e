"""Turns in which a skill, or whatever else a tool gives, brings tool groups along."""

import asyncio
from contextlib import aclosing

import pytest
from stage import ScriptedModel, Stage, calls, says

from oneclaw_core import (
    GroupLoadedEvent,
    MessageType,
    ToolCallStatus,
    ToolGroupDefinition,
    ToolResult,
    restore_loaded_groups,
)

USE = calls(("use_skill", {}))


@pytest.fixture
def stage(tmp_path):
    stage = Stage(tmp_path)
    stage.add("use_skill", lambda arguments: ToolResult.success("Follow this.", loads_groups=stage.needed))
    stage.groups.append(ToolGroupDefinition("mail", "Mail", "Sends mail"))
    stage.add("mail_send", lambda arguments: ToolResult.success("sent"), "mail")
    stage.needed = ("pdf",)
    return stage


def history(stage):
    async def read():
        async with stage.session():
            return await stage.rows()

    return asyncio.run(read())


def shape(messages):
    return [(str(each.type), each.tool_name) for each in messages]


def groups_of(request):
    return [group.name for group in request.tools.groups]


LOADED = [
    ("user", None),
    ("assistant", None),
    ("tool_call", "use_skill"),
    ("tool_result", "use_skill"),
    ("assistant", None),
    ("tool_call", "load_tool_group"),
    ("tool_result", "load_tool_group"),
]


def test_the_group_is_there_in_the_next_request_and_in_later_turns(stage):
    model, later = ScriptedModel(USE, calls(("pdf_info", {})), says("Six.")), ScriptedModel(says("Hi."))
    stage.play((model, "go"))
    assert [groups_of(request) for request in model.requests] == [[], ["pdf"], ["pdf"]]
    assert stage.pdf_info.runs == 1
    assert shape(history(stage))[:7] == LOADED
    stage.play((later, "again"))
    assert groups_of(later.requests[0]) == ["pdf"]


def test_it_is_told_like_any_other_loading(stage):
    events = stage.play((ScriptedModel(USE, says("Done.")), "go"))
    (loaded,) = [event for event in events if isinstance(event, GroupLoadedEvent)]
    assert loaded == GroupLoadedEvent("pdf", ("pdf_info",))
    assert restore_loaded_groups(history(stage)) == ["pdf"]


def test_what_was_sent_is_the_beginning_of_what_is_sent_next(stage):
    model = ScriptedModel(USE, calls(("pdf_info", {})), says("Six."))
    stage.play((model, "go"))
    for earlier, later in zip(model.requests, model.requests[1:], strict=False):
        assert later.messages[: len(earlier.messages)] == earlier.messages
    after = ScriptedModel(says("Hi."))
    stage.play((after, "again"))
    assert shape(after.requests[0].messages)[: len(model.requests[-1].messages)] == shape(model.requests[-1].messages)


def test_a_group_is_loaded_once(stage):
    stage.needed = ("pdf", "pdf", "mail")
    model = ScriptedModel(USE, USE, says("Done."))
    stage.play((model, "go"))
    assert groups_of(model.requests[-1]) == ["pdf", "mail"]
    assert [name for kind, name in shape(history(stage)) if kind == "tool_call"] == [
        "use_skill",
        "load_tool_group",
        "load_tool_group",
        "use_skill",
    ]


def test_a_group_that_the_same_answer_loads_is_not_loaded_again(stage):
    model = ScriptedModel(calls(("use_skill", {}), ("load_tool_group", {"group_name": "pdf"})), says("Done."))
    stage.play((model, "go"))
    assert [name for kind, name in shape(history(stage)) if kind == "tool_call"] == ["use_skill", "load_tool_group"]


def test_a_group_that_is_not_there_is_an_error_that_the_model_sees(stage):
    stage.needed = ("music",)
    model = ScriptedModel(USE, says("Done."))
    stage.play((model, "go"))
    assert groups_of(model.requests[1]) == []
    assert model.requests[1].messages[-1].tool_status is ToolCallStatus.ERROR
    assert "Tool group 'music' not found" in model.requests[1].messages[-1].content


def test_a_failed_tool_loads_nothing(stage):
    stage.add("broken", lambda arguments: ToolResult.error("no", "No."))
    model = ScriptedModel(calls(("broken", {})), says("Done."))
    stage.play((model, "go"))
    assert groups_of(model.requests[1]) == []


def test_groups_of_a_tool_that_does_not_know_what_they_are(stage):
    stage.needed = 7
    model = ScriptedModel(USE, says("Done."))
    stage.play((model, "go"))
    assert model.requests[1].messages[-1].error_type == "execution_error"


def test_groups_are_loaded_before_the_model_is_asked(stage):
    model = ScriptedModel(calls(("mail_send", {})), says("Sent."))

    async def run():
        async with stage.session():
            return await stage.send(model, tool_groups=("mail",))

    events = asyncio.run(run())
    assert [groups_of(request) for request in model.requests] == [["mail"], ["mail"]]
    assert shape(history(stage))[:4] == [
        ("user", None),
        ("assistant", None),
        ("tool_call", "load_tool_group"),
        ("tool_result", "load_tool_group"),
    ]
    assert any(isinstance(event, GroupLoadedEvent) for event in events)


@pytest.mark.long
@pytest.mark.parametrize("from_the_start", [True, False])
def test_a_turn_that_is_left_while_it_loads_leaves_no_open_call(stage, from_the_start):
    """Whoever stops listening at any event finds each call answered."""

    async def run(stop_at):
        async with stage.session():
            options = {"tool_groups": ("mail", "pdf")} if from_the_start else {}
            turn = stage.turn(ScriptedModel(USE, says("Done.")), **options)
            seen = 0
            async with aclosing(turn) as events:
                async for _ in events:
                    seen += 1
                    if seen == stop_at:
                        break
            rows = await stage.rows()
        called = {row.tool_call_id for row in rows if row.type is MessageType.TOOL_CALL}
        answered = [row.tool_call_id for row in rows if row.type is MessageType.TOOL_RESULT]
        assert sorted(answered) == sorted(called)
        assert all(row.tool_status is not ToolCallStatus.PENDING for row in rows)
        return seen

    stop_at = 1
    while asyncio.run(run(stop_at)) == stop_at:
        stop_at += 1
    assert stop_at > 5
