"""Compaction in a session: what is sent, stored and told."""

import asyncio
import json
from contextlib import aclosing
from dataclasses import replace

import pytest
from stage import INTERRUPTED, ScriptedModel, Stage, calls, says

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
from oneclaw_core.turn.compaction import NOT_SHOWN, SUMMARY_HEADING, CompactionReason, Compactor, ContextLimits
from oneclaw_core.turn.estimate import ToolSizes
from oneclaw_core.turn.request import model_request, shown_history
from oneclaw_core.turn.stream import TurnTracker
from oneclaw_core.turn.summary import INSTRUCTIONS
from oneclaw_core.types.agents import GENERAL_ASSISTANT
from oneclaw_core.types.tool_groups import restore_loaded_groups

WINDOW = ContextLimits(context_window=20_000)


@pytest.fixture
def stage(tmp_path):
    return Stage(tmp_path)


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


class Session:
    """A session on the stage, with a compactor at the beginning of a turn."""

    def __init__(self, stage, model, limits=WINDOW, max_characters=None, last_input_tokens=None):
        self.stage = stage
        self.model = model
        self.limits = limits
        self.max_characters = max_characters
        self.last_input_tokens = last_input_tokens
        self.events = []
        self.listener = None

    async def begin(self, text="and now?"):
        store, session = self.stage.store, self.stage.found.id
        message = Message(type=MessageType.USER, content=text)
        start = await store.begin_turn(session, message, INTERRUPTED, self.max_characters)
        self.history = shown_history(start.history)
        self.groups = restore_loaded_groups(start.group_loads)
        self.compactor = Compactor(
            store,
            session,
            self.model and self.ask,
            self.record,
            self.emit,
            self.limits,
            replace(start, last_input_tokens=self.last_input_tokens),
            ToolSizes(),
        )

    async def record(self, usage):
        record = UsageRecord("scripted", "model", usage)
        await self.stage.store.append(self.stage.found.id, [], usage=record)
        return UsageEvent("scripted/model", usage)

    def request(self):
        messages = self.compactor.messages(self.history)
        return model_request(
            GENERAL_ASSISTANT, self.stage.registry, "model", self.stage.found.id, messages, self.groups
        )

    async def ask(self, request):
        response = None
        async with aclosing(self.model.stream(request)) as events:
            async for event in events:
                if isinstance(event, ModelResponse):
                    response = event
                elif isinstance(event, RetryNotice):
                    await self.emit(RetryEvent(event.reason, event.delay_seconds))
        return response

    async def emit(self, event):
        self.events.append(event)
        if self.listener is not None:
            await self.listener(event)

    async def fit(self, reason=None):
        self.events = []
        is_changed = await self.compactor.fit(self.request(), reason)
        assert is_changed is any(isinstance(event, CompactedEvent) for event in self.events)
        return self.events

    def shown(self):
        return [message.content for message in self.request().messages]


def play(stage, messages, story):
    async def run():
        async with stage.session():
            await stage.store.append(stage.found.id, messages)
            return await story()

    return asyncio.run(run())


def data_of(request):
    return [json.loads(line) for line in request.messages[0].content.split("\n")]


def test_a_request_that_fits_is_left_alone(stage):
    model = ScriptedModel()

    async def story():
        session = Session(stage, model)
        await session.begin()
        return await session.fit(), session.shown()

    events, shown = play(stage, a_turn("one"), story)
    assert (events, model.requests) == ([], [])
    assert shown[0] == "question one"


def test_a_summary_takes_the_place_of_the_oldest_part(stage):
    model = ScriptedModel(says("The user asked one and two."))

    async def story():
        session = Session(stage, model)
        await session.begin()
        before = session.request()
        events = await session.fit()
        again = await session.fit()
        usage = await stage.store.usage_totals(stage.found.id)
        rows = await stage.rows()
        next_turn = Session(stage, ScriptedModel())
        await next_turn.begin("go on")
        return before, events, again, session.shown(), next_turn.shown(), usage, rows

    messages = [*a_turn("one", 9000), *a_turn("two", 9000), *a_turn("three", 100)]
    before, events, again, shown, later, usage, rows = play(stage, messages, story)
    assert len(before.messages) == 7
    assert events == [
        UsageEvent("scripted/model", TokenUsage(input_tokens=10, output_tokens=2)),
        CompactedEvent(4, 7, "context_window"),
    ]
    assert again == []
    assert shown[0].startswith(f"{SUMMARY_HEADING}\nThe user asked one and two.\n")
    assert [text.split(" a")[0] for text in shown[1:]] == ["question three", "answer three", "and now?"]
    assert later == [*shown, "go on"]
    assert usage.requests == 1
    assert len(rows) == 7  # the store keeps all

    (request,) = model.requests
    assert (request.model, request.session_id, list(request.tools)) == ("model", stage.found.id, [])
    assert request.system_prompt == INSTRUCTIONS
    assert [list(entry) for entry in data_of(request)] == [["user"], ["assistant"]] * 2


def test_the_next_summary_takes_over_the_first_and_no_message_twice(stage):
    model = ScriptedModel(says("First."), says("Second."))

    async def story():
        session = Session(stage, model)
        await session.begin("three")
        await session.fit()
        await stage.store.append(stage.found.id, a_turn("four", 18_000))
        session = Session(stage, model)
        await session.begin("five")
        events = await session.fit()
        return events, session.shown()

    events, shown = play(stage, [*a_turn("one", 9000), *a_turn("two", 9000)], story)
    summary, *messages = data_of(model.requests[1])
    assert summary == {"summary": "First."}
    assert [entry.get("user") for entry in messages] == ["three", "question four", None]
    assert events[-1].messages == 3
    assert "\nSecond.\n" in shown[0]
    assert shown[1:] == ["five"]


def test_tool_groups_stay_loaded(stage):
    model = ScriptedModel(says("A group was loaded."))

    async def story():
        session = Session(stage, model)
        await session.begin()
        await session.fit()
        later = Session(stage, model)
        await later.begin("go on")
        return [definition.name for definition in later.request().tools], later.shown()

    tools, shown = play(stage, [*a_load(), *a_turn("one", 18_000)], story)
    assert tools == ["load_tool_group", "echo", "pdf_info"]
    assert len(shown) == 3


def test_what_the_service_counts_decides_once_it_is_known(stage):
    model = ScriptedModel(says("Short."))

    async def story():
        session = Session(stage, model)
        await session.begin()
        request = session.request()
        unknown = await session.fit()
        session.compactor.observe(request, TokenUsage(input_tokens=18_000))
        return unknown, await session.fit()

    unknown, known = play(stage, [*a_turn("one", 6000), *a_turn("two", 6000)], story)
    assert unknown == []
    assert known[-1].reason == "context_window"


def test_the_count_of_the_last_turn_is_used(stage):
    async def story():
        session = Session(stage, ScriptedModel(says("Short.")), last_input_tokens=14_000)
        await session.begin()
        return await session.fit()

    # Before the last answer, seven thousand tokens were estimated.
    assert play(stage, [*a_turn("one", 7000), *a_turn("two", 3000)], story)[-1].reason == "context_window"


# Where the window is not known


def test_the_limit_of_the_history_summarises_what_the_store_would_leave_out(stage):
    limits = ContextLimits(history_max_characters=20_000)
    model = ScriptedModel(says("All of it."))

    async def story():
        session = Session(stage, model, limits, max_characters=20_000)
        await session.begin()
        cut = session.shown()
        events = await session.fit()
        return cut, events, session.shown()

    messages = [*a_turn("one", 2000), *a_turn("two", 2000), *a_turn("three", 2400), *a_turn("four", 1900)]
    cut, events, shown = play(stage, messages, story)
    assert cut[0] == "question three"
    assert [entry["user"] for entry in data_of(model.requests[0]) if "user" in entry] == [
        "question one",
        "question two",
        "question three",
        "question four",
    ]
    assert events[-1] == CompactedEvent(8, 3, "history_limit")
    assert shown[1:] == ["and now?"]


def test_a_service_that_refuses_the_length_is_obeyed(stage):
    model = ScriptedModel(says("Short."))

    async def story():
        session = Session(stage, model, ContextLimits())
        await session.begin()
        return await session.fit(), await session.fit(CompactionReason.REFUSED)

    unasked, refused = play(stage, [*a_turn("one", 1000), *a_turn("two", 1000)], story)
    assert unasked == []
    assert refused[-1] == CompactedEvent(4, 2, "refused")


# On demand


def test_on_demand_all_but_the_last_turn_is_summarised(stage):
    model = ScriptedModel(says("Short."))

    async def story():
        session = Session(stage, model)
        await session.begin()
        events = await session.fit(CompactionReason.REQUESTED)
        return events, session.shown(), await session.fit(CompactionReason.REQUESTED)

    events, shown, again = play(stage, [*a_turn("one"), *a_turn("two")], story)
    assert events[-1] == CompactedEvent(4, 2, "requested")
    assert shown[1:] == ["and now?"]
    assert again == []


@pytest.mark.parametrize("answers", [[says(""), says(" \n"), says("")], [ContextTooLongError("too long")] * 3])
def test_on_demand_a_failure_is_told_and_changes_nothing(stage, answers):
    async def story():
        session = Session(stage, ScriptedModel(*answers))
        await session.begin()
        before = session.shown()
        with pytest.raises(ProviderRequestError):
            await session.fit(CompactionReason.REQUESTED)
        return before, session.shown()

    before, after = play(stage, a_turn("one"), story)
    assert before == after


def test_a_model_that_writes_no_summaries_is_left_alone_or_says_so(stage):
    async def story():
        session = Session(stage, None)
        await session.begin()
        with pytest.raises(UsageError, match="choose another"):
            await session.fit(CompactionReason.REQUESTED)
        return await session.fit()

    assert play(stage, a_turn("one", 30_000), story) == []


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
    model = ScriptedModel(first, says("Short."))

    async def story():
        session = Session(stage, model)
        await session.begin()
        return await session.fit()

    assert play(stage, LONG, story)[-1] == CompactedEvent(4, 2, "context_window")
    long, short = (len(request.messages[0].content) for request in model.requests)
    assert short < long * 0.6


@pytest.mark.parametrize("failure", [ContextTooLongError("too long"), ProviderRequestError("no"), says("")])
def test_without_a_summary_the_oldest_turns_are_left_out_for_this_turn(stage, failure):
    model = ScriptedModel(failure, failure, says("At last."))

    async def story():
        session = Session(stage, model)
        await session.begin()
        events = await session.fit()
        shown = session.shown()
        again = await session.fit()
        later = Session(stage, model)
        await later.begin("go on")
        return events, shown, again, await later.fit()

    events, shown, again, later = play(stage, LONG, story)
    assert events[-1] == CompactedEvent(4, 0, "context_window")
    assert "left out in this turn" in events[-1].notice
    assert NOT_SHOWN in shown[0]
    assert shown[1:] == ["and now?"]
    assert again == []
    assert later[-1] == CompactedEvent(4, 2, "context_window")


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
        session = Session(stage, model)
        await session.begin()
        before = session.shown()
        with pytest.raises(type(failures[0])):
            await session.fit()
        start = await stage.store.load_turn(stage.found.id, None)
        return before == session.shown(), start.summary

    assert play(stage, LONG, story) == (True, None)
    assert len(model.requests) == requests


def test_retries_are_told_and_every_answer_is_counted(stage):
    async def after_a_retry():
        yield RetryNotice("overloaded", 1.5)
        yield ModelResponse(text="", usage=TokenUsage(input_tokens=7))

    async def story():
        session = Session(stage, ScriptedModel(after_a_retry, says("Short.")))
        await session.begin()
        events = await session.fit()
        return events, await stage.store.usage_totals(stage.found.id)

    events, usage = play(stage, LONG, story)
    assert [type(event) for event in events] == [RetryEvent, UsageEvent, UsageEvent, CompactedEvent]
    assert (usage.requests, usage.input_tokens) == (2, 17)


def test_closing_it_closes_the_request(stage):
    model = ScriptedModel(says(""), says("Short."))

    async def story():
        session = Session(stage, model)
        await session.begin()

        async def fit(emit):
            session.listener = emit
            await session.fit()

        events = TurnTracker().stream(fit)
        await anext(events)
        await events.aclose()
        return session.shown()

    assert len(play(stage, LONG, story)) == 5
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
