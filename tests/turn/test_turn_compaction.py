"""Compaction in the middle of turns, FEAT-011."""

import asyncio

import pytest
from stage import ScriptedModel, Stage, calls

from oneclaw_core import CompactedEvent, MessageType, TextEvent, ToolResult, TurnFinishedEvent, UsageEvent
from oneclaw_core.providers import ContextTooLongError, ModelResponse


def says(text):
    """An answer of a service that counts no tokens, so that the estimate stands."""
    return ModelResponse(text=text)


@pytest.fixture
def stage(tmp_path):
    stage = Stage(tmp_path)
    stage.settings["tool_result_max_characters"] = 100_000
    stage.about_model = {"context_window": 20_000, "max_output_tokens": 1_000}
    stage.add("long", lambda arguments: ToolResult.success("x" * 20_000))
    return stage


@pytest.mark.long
def test_a_session_longer_than_the_window_goes_on_with_its_groups(stage):
    long = ("long", {})
    model = ScriptedModel(
        calls(("load_tool_group", {"group_name": "pdf"}), long),
        says("one is done"),
        calls(long, long),
        says("two is done"),
        calls(long),
        says("One and two are done."),  # the summary, in the middle of the third turn
        calls(("pdf_info", {})),
        says("three is done"),
        says("four is done"),
    )
    events = []

    async def run():
        async with stage.session():
            for text in ("one", "two", "three", "four"):
                events.extend(await stage.send(model, text))

    asyncio.run(run())
    assert [event for event in events if isinstance(event, CompactedEvent)] == [CompactedEvent(14, 6, "context_window")]
    assert events[-1] == TurnFinishedEvent("story", "four is done")
    summary, question, *others = model.requests[6].messages
    assert "One and two are done." in summary.content
    assert question.content == "three"
    assert [message.type for message in others] == [
        MessageType.ASSISTANT,
        MessageType.TOOL_CALL,
        MessageType.TOOL_RESULT,
    ]
    assert [definition.name for definition in model.requests[8].tools][-1] == "pdf_info"
    assert model.requests[8].messages[:2] == model.requests[6].messages[:2]


def test_a_request_that_is_refused_as_too_long_is_sent_again_after_a_summary(stage):
    stage.about_model = {}
    model = ScriptedModel(calls(("long", {})), says("a"), ContextTooLongError("too long"), says("Short."), says("b"))
    events = stage.play((model, "one"), (model, "two"))
    assert [type(event) for event in events] == [UsageEvent, CompactedEvent, TextEvent, UsageEvent, TurnFinishedEvent]


@pytest.mark.parametrize("answers", [[ContextTooLongError("too long")], [ContextTooLongError("1")] * 4])
def test_a_message_too_long_by_itself_is_refused_once_and_for_all(stage, answers):
    with pytest.raises(ContextTooLongError):
        stage.play((ScriptedModel(*answers), "one"))
