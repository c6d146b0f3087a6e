"""Compaction in a session: what is sent, stored and told."""

import asyncio
import json
from contextlib import aclosing

import pytest
from stage import ScriptedModel, Stage, calls, of, says

from oneclaw_core import (
    CompactedEvent,
    Message,
    MessageType,
    RetryEvent,
    TokenUsage,
    ToolCallStatus,
    UsageError,
    UsageEvent,
)
from oneclaw_core.compaction.plan import NOT_SHOWN
from oneclaw_core.compaction.summary import INSTRUCTIONS
from oneclaw_core.providers import (
    ContextTooLongError,
    ModelResponse,
    ProviderAuthenticationError,
    ProviderRequestError,
    ProviderUnavailableError,
    RetryNotice,
    UnknownModelError,
)
from oneclaw_core.sessions.usage import UsageRecord
from oneclaw_core.turn.request import SUMMARY_HEADING

DONE = ModelResponse(text="done")  # of a service that counts no tokens, so that the estimate stands


@pytest.fixture
def stage(tmp_path):
    stage = Stage(tmp_path)
    stage.about_model = {"context_window": 20_000}
    return stage


def a_turn(name, tokens=10):
    return [
        Message(type=MessageType.USER, content=f"question {name}"),
        Message(type=MessageType.ASSISTANT, content=f"answer {name} " + "a" * 4 * tokens),
    ]


def a_load():
    return [
        Message(type=MessageType.USER, content="load pdf"),
        Message(
            type=MessageType.TOOL_CALL,
            tool_call_id="load",
            tool_name="load_tool_group",
            tool_input='{"group_name": "pdf"}',
            tool_status=ToolCallStatus.PENDING,
        ),
        Message(
            type=MessageType.TOOL_RESULT,
            content="Loaded",
            tool_call_id="load",
            tool_name="load_tool_group",
            tool_status=ToolCallStatus.SUCCESS,
        ),
    ]


def play(stage, messages, story):
    async def run():
        async with stage.session():
            await stage.store.append(stage.found.id, messages)
            return await story()

    return asyncio.run(run())


def sent(stage, messages, *answers, text="and now?", **options):
    """Send a message to a session that has messages; return the model and the events."""
    model = ScriptedModel(*answers)
    return model, play(stage, messages, lambda: stage.send(model, text, **options))


def data_of(request):
    return [json.loads(line) for line in request.messages[0].content.split("\n")]


def shown(request):
    return [message.content for message in request.messages]


def compacted(events):
    return of(CompactedEvent, events)


def test_a_request_that_fits_is_left_alone(stage):
    model, events = sent(stage, a_turn("one"), DONE)
    assert compacted(events) == []
    assert shown(model.requests[0])[0] == "question one"


def test_a_summary_takes_the_place_of_the_oldest_part(stage):
    model, later = ScriptedModel(says("The user asked one and two."), DONE), ScriptedModel(DONE)

    async def story():
        events = await stage.send(model, "and now?")
        await stage.send(later, "go on")
        return events, await stage.store.usage_totals(stage.found.id), await stage.rows()

    messages = [*a_turn("one", 9000), *a_turn("two", 9000), *a_turn("three", 100)]
    events, usage, rows = play(stage, messages, story)
    assert events[:2] == [
        UsageEvent("scripted/model", TokenUsage(input_tokens=10, output_tokens=2)),
        CompactedEvent(4, 7, "context_window"),
    ]
    assert len(compacted(events)) == 1
    now = shown(model.requests[1])
    assert now[0].startswith(f"{SUMMARY_HEADING}\nThe user asked one and two.\n")
    assert [text.split(" a")[0] for text in now[1:]] == ["question three", "answer three", "and now?"]
    assert shown(later.requests[0]) == [*now, "done", "go on"]
    assert usage.requests == 3
    assert len(rows) == 10  # the store keeps all

    request = model.requests[0]
    assert (request.model, request.session_id, list(request.tools)) == ("model", stage.found.id, [])
    assert request.system_prompt == INSTRUCTIONS
    assert [list(entry) for entry in data_of(request)] == [["user"], ["assistant"]] * 2


def test_the_next_summary_takes_over_the_first_and_no_message_twice(stage):
    model = ScriptedModel(says("First."), DONE, says("Second."), DONE)

    async def story():
        await stage.send(model, "three")
        await stage.store.append(stage.found.id, a_turn("four", 18_000))
        return await stage.send(model, "five")

    events = play(stage, [*a_turn("one", 9000), *a_turn("two", 9000)], story)
    summary, *messages = data_of(model.requests[2])
    assert summary == {"summary": "First."}
    assert [entry.get("user") for entry in messages] == ["three", None, "question four", None]
    assert compacted(events)[0].messages == 4
    first, *others = shown(model.requests[3])
    assert "\nSecond.\n" in first
    assert others == ["five"]


def test_tool_groups_stay_loaded(stage):
    model = ScriptedModel(says("A group was loaded."), DONE, DONE)

    async def story():
        await stage.send(model, "and now?")
        await stage.send(model, "go on")

    play(stage, [*a_load(), *a_turn("one", 18_000)], story)
    assert [definition.name for definition in model.requests[2].tools] == ["load_tool_group", "echo", "pdf_info"]
    assert len(model.requests[2].messages) == 4


def test_what_the_service_counts_decides_once_it_is_known(stage):
    counted = ModelResponse(tool_calls=calls(("echo", {})).tool_calls, usage=TokenUsage(input_tokens=18_000))
    model, events = sent(stage, [*a_turn("one", 6000), *a_turn("two", 6000)], counted, says("Short."), DONE)
    assert len(model.requests[0].messages) == 5
    assert [event.reason for event in compacted(events)] == ["context_window"]


def test_the_count_of_the_last_turn_is_used(stage):
    async def story():
        usage = UsageRecord("scripted", "model", TokenUsage(input_tokens=14_000))
        await stage.store.append(stage.found.id, a_turn("two", 3000), usage=usage)
        return await stage.send(ScriptedModel(says("Short."), DONE))

    # Before the last answer, seven thousand tokens were estimated.
    assert [event.reason for event in compacted(play(stage, a_turn("one", 7000), story))] == ["context_window"]


# Where the window is not known


def test_the_limit_of_the_history_summarises_what_the_store_would_leave_out(stage):
    stage.about_model = {}
    stage.settings["history_max_characters"] = 20_000
    messages = [*a_turn("one", 2000), *a_turn("two", 2000), *a_turn("three", 2400), *a_turn("four", 1900)]
    model, events = sent(stage, messages, says("All of it."), DONE)
    assert [entry["user"] for entry in data_of(model.requests[0]) if "user" in entry] == [
        "question one",
        "question two",
        "question three",
        "question four",
    ]
    assert compacted(events) == [CompactedEvent(8, 3, "history_limit")]
    assert shown(model.requests[1])[1:] == ["and now?"]


def test_a_service_that_refuses_the_length_is_obeyed(stage):
    stage.about_model = {}
    too_long = ContextTooLongError("too long")
    _, events = sent(stage, [*a_turn("one", 1000), *a_turn("two", 1000)], too_long, says("Short."), DONE)
    assert compacted(events) == [CompactedEvent(4, 2, "refused")]


# On demand


def on_demand(stage, messages, *answers):
    model = ScriptedModel(*answers)

    async def story():
        await stage.send(ScriptedModel(DONE))
        stage.models["scripted"] = model
        made = await stage.claw.compact("story", model="scripted/model")
        again = await stage.claw.compact("story", model="scripted/model")
        return made, again, await stage.store.load_turn(stage.found.id, None)

    return model, play(stage, messages, story)


def test_on_demand_all_but_the_last_turn_is_summarised(stage):
    _, (made, again, start) = on_demand(stage, [*a_turn("one"), *a_turn("two")], says("Short."))
    assert made == CompactedEvent(4, 2, "requested")
    assert again is None
    assert [each.content for each in start.history] == ["hello", "done"]
    assert start.summary == "Short."


@pytest.mark.parametrize("answers", [[says(""), says(" \n"), says("")], [ContextTooLongError("too long")] * 3])
def test_on_demand_a_failure_is_told_and_changes_nothing(stage, answers):
    with pytest.raises(ProviderRequestError):
        on_demand(stage, a_turn("one"), *answers)
    later, events = sent(stage, [], DONE)
    assert shown(later.requests[0])[0] == "question one"
    assert compacted(events) == []


def test_a_model_that_writes_no_summaries_is_left_alone_or_says_so(stage):
    model = ScriptedModel(DONE)
    model.is_language_model = False

    async def story():
        events = await stage.send(model)
        with pytest.raises(UsageError, match="choose another"):
            await stage.claw.compact("story", model="scripted/model")
        return events

    assert compacted(play(stage, a_turn("one", 30_000), story)) == []


# When it fails

LONG = [*a_turn("one", 9000), *a_turn("two", 9000)]


@pytest.mark.parametrize(
    "first",
    [
        ContextTooLongError("too long"),
        ProviderRequestError("refused"),
        ProviderUnavailableError("broke off"),
        says(""),
        calls(("echo", {})),
    ],
    ids=["too long", "refused", "unavailable", "empty", "a call"],
)
def test_it_is_tried_once_more_with_half_the_length(stage, first):
    model, events = sent(stage, LONG, first, says("Short."), DONE)
    assert compacted(events) == [CompactedEvent(4, 2, "context_window")]
    long, short = (len(request.messages[0].content) for request in model.requests[:2])
    assert short < long * 0.6


@pytest.mark.parametrize("failure", [ContextTooLongError("too long"), ProviderRequestError("no"), says("")])
def test_without_a_summary_the_oldest_turns_are_left_out_for_this_turn(stage, failure):
    model = ScriptedModel(failure, failure, calls(("echo", {})), DONE, says("At last."), DONE)

    async def story():
        return await stage.send(model, "and now?"), await stage.send(model, "go on")

    events, later = play(stage, LONG, story)
    assert compacted(events) == [CompactedEvent(4, 0, "context_window")]
    assert "left out in this turn" in compacted(events)[0].notice
    first, *others = shown(model.requests[2])
    assert NOT_SHOWN in first
    assert others == ["and now?"]
    assert compacted(later) == [CompactedEvent(4, 2, "context_window")]


@pytest.mark.parametrize(
    ("failures", "requests"),
    [
        ([ProviderAuthenticationError("key")], 1),
        ([UnknownModelError("model")], 1),
        ([ProviderUnavailableError("down"), ProviderUnavailableError("down")], 2),
    ],
)
def test_what_the_turn_itself_would_meet_ends_it_and_changes_nothing(stage, failures, requests):
    model = ScriptedModel(*failures)

    async def story():
        with pytest.raises(type(failures[0])):
            await stage.send(model)
        return (await stage.store.load_turn(stage.found.id, None)).summary

    assert play(stage, LONG, story) is None
    assert len(model.requests) == requests


def test_retries_are_told_and_every_answer_is_counted(stage):
    async def after_a_retry():
        yield RetryNotice("overloaded", 1.5)
        yield ModelResponse(text="", usage=TokenUsage(input_tokens=7))

    async def story():
        events = await stage.send(ScriptedModel(after_a_retry, says("Short."), DONE))
        return events, await stage.store.usage_totals(stage.found.id)

    events, usage = play(stage, LONG, story)
    assert [type(event) for event in events[:4]] == [RetryEvent, UsageEvent, UsageEvent, CompactedEvent]
    assert (usage.requests, usage.input_tokens) == (3, 17)


def test_closing_it_closes_the_request(stage):
    model = ScriptedModel(says(""), says("Short."))

    async def story():
        async with aclosing(stage.turn(model)) as events:
            await anext(events)
        return await stage.store.load_turn(stage.found.id, None)

    assert len(play(stage, LONG, story).history) == 5
    assert model.closed_streams == len(model.requests) == 1


@pytest.mark.parametrize(
    ("event", "notice"),
    [
        (CompactedEvent(1, 20, "requested"), "the oldest message is summarised for the model, in about 20 tokens"),
        (
            CompactedEvent(1200, 0, "refused"),
            "the 1,200 oldest messages are left out in this turn: the model wrote no summary of them",
        ),
    ],
)
def test_the_event_as_a_sentence(event, notice):
    assert event.notice == notice


def test_the_event_as_json():
    assert CompactedEvent(4, 20, "requested").to_dict() == {
        "event": "compacted",
        "messages": 4,
        "summary_tokens": 20,
        "reason": "requested",
    }
