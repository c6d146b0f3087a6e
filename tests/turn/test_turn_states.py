"""The states of a turn: what each stores, tells and asks for, and what is left when one fails."""

import asyncio
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from histories import assistant, call, success, user
from stage import ScriptedModel, Stage, calls, of, says, streams

from oneclaw_core import (
    Deny,
    MessageType,
    ModelSwitchedEvent,
    ProviderError,
    ReasoningEvent,
    RetryEvent,
    SteeredEvent,
    StoreError,
    TextEvent,
    ToolCallEvent,
    ToolCallStatus,
    ToolProgressEvent,
    ToolResult,
    ToolResultEvent,
    TurnFinishedEvent,
    TurnLimitError,
    UsageEvent,
    hookimpl,
)
from oneclaw_core.config.providers import MODEL_SETTING, PROVIDER_SETTING
from oneclaw_core.contract.arguments import PromptSection
from oneclaw_core.errors import (
    ContextTooLongError,
    ProviderUnavailableError,
    SessionBusyError,
    StoreUnavailableError,
    TurnRefusedError,
)
from oneclaw_core.providers import ModelResponse, TextDelta
from oneclaw_core.providers.route import Route
from oneclaw_core.tool_sources.tool_sources import ToolSources
from oneclaw_core.turn import call_records
from oneclaw_core.types.agents import GENERAL_ASSISTANT
from oneclaw_core.types.messages import StopReason, TokenUsage, ToolCall
from oneclaw_core.types.model_requests import ReasoningDelta, RetryNotice, ToolLoading


@pytest.fixture
def stage(tmp_path):
    return Stage(tmp_path)


def test_all_that_comes_of_an_answer_is_told(stage):
    model = ScriptedModel(
        streams(RetryNotice("busy", 1.5), ReasoningDelta("Hm"), TextDelta("He"), TextDelta("llo"), says("Hello"))
    )
    events, rows = stage.played(model)
    assert events == [
        RetryEvent("busy", 1.5),
        ReasoningEvent("Hm"),
        TextEvent("He"),
        TextEvent("llo"),
        UsageEvent("scripted/model", TokenUsage(input_tokens=10, output_tokens=2)),
        TurnFinishedEvent("story", "Hello"),
    ]
    assert [(each.content, each.model) for each in rows] == [("hello", None), ("Hello", "scripted/model")]


def test_a_session_without_a_name_is_told_by_its_id(stage):
    async def run():
        async with stage.session():
            return await stage.send(ScriptedModel(says("Hello")), session=None), await stage.store.list_sessions()

    events, (newest, _) = asyncio.run(run())
    assert events[-1] == TurnFinishedEvent(newest.id, "Hello")


def test_calls_are_told_with_their_arguments_progress_and_results(stage):
    class Slow:
        definition = stage.echo.definition

        async def execute(self, arguments, context):
            context.progress("half of it", 0.5)
            await asyncio.sleep(0)
            return ToolResult.success({"lines": 3})

    stage.put(Slow())
    model = ScriptedModel(calls(("echo", '{"text": "a"}'), ("echo", '{"text'), text="Let me see."), says("done"))
    events, rows = stage.played(model)
    assert of(ToolCallEvent, events) == [
        ToolCallEvent("c0", "echo", {"text": "a"}),
        ToolCallEvent("c1", "echo", '{"text'),
    ]
    assert of(ToolProgressEvent, events) == [ToolProgressEvent("c0", "echo", "half of it", 0.5)]
    results = {event.id: event for event in of(ToolResultEvent, events)}
    assert results["c0"].result == ToolResult.success({"lines": 3})
    assert results["c1"].result.error_type == "validation_error"
    stored = {row.tool_call_id: row for row in rows if row.type is MessageType.TOOL_RESULT}
    assert {key: event.sequence for key, event in results.items()} == {key: row.sequence for key, row in stored.items()}
    assert stored["c0"].duration_ms == results["c0"].duration_ms > 0
    assert (stored["c0"].content, stored["c0"].is_json, stored["c0"].shown_characters) == ('{"lines":3}', True, None)
    assert (stored["c1"].is_json, stored["c1"].error_type) == (False, "validation_error")
    assert stored["c1"].tool_status is ToolCallStatus.ERROR
    told, *_ = [row for row in rows if row.type is MessageType.ASSISTANT]
    assert told.content == "Let me see."
    # The next request has the results, as they are stored, behind their calls.
    assert [(each.type, each.tool_status) for each in model.requests[1].messages[2:]] == [
        (MessageType.TOOL_CALL, ToolCallStatus.SUCCESS),
        (MessageType.TOOL_CALL, ToolCallStatus.ERROR),
        (MessageType.TOOL_RESULT, ToolCallStatus.SUCCESS),
        (MessageType.TOOL_RESULT, ToolCallStatus.ERROR),
    ]


def test_a_result_as_long_as_is_shown_is_not_cut(stage):
    stage.add("long", lambda arguments: ToolResult.success("x" * 1000))
    stage.add("longer", lambda arguments: ToolResult.success("x" * 1001))
    model = ScriptedModel(calls(("long", {}), ("longer", {})), says("done"))
    _, rows = stage.played(model)
    assert [row.shown_characters for row in rows if row.type is MessageType.TOOL_RESULT] == [None, 1000]


def test_a_call_that_was_cut_is_told_as_a_result(stage):
    cut = ModelResponse(cut_calls=(ToolCall("c", "echo", '{"te'),), usage=TokenUsage(output_tokens=9))
    events, rows = stage.played(ScriptedModel(cut, says("done")))
    (result,) = of(ToolResultEvent, events)
    assert (result.name, result.result.error_type, result.duration_ms) == ("echo", "cut_off", 0)
    assert result.result.error_message.startswith("The call was cut by the limit of 9 output tokens")
    assert [row.tool_status for row in rows if row.tool_name] == [ToolCallStatus.ERROR, ToolCallStatus.ERROR]
    assert stage.echo.runs == 0


def test_tools_learn_whose_turn_runs_them(stage):
    seen = []

    class Look:
        definition = stage.echo.definition

        async def execute(self, arguments, context):
            seen.append(context)
            return ToolResult.success("")

    stage.put(Look())
    stage.played(ScriptedModel(calls(("echo", {})), says("done")), task="nightly")
    (context,) = seen
    assert (context.agent_name, context.session_id) == (GENERAL_ASSISTANT.name, stage.found.id)
    assert context.shown_characters == 1000
    turn = context.turn
    assert (turn.model, turn.task, turn.session_name, turn.info) == ("scripted/model", "nightly", "story", None)
    assert (turn.call, turn.reasoning, turn.depth) == (None, None, 0)


def test_what_was_set_during_an_answer_holds_for_its_calls(stage):
    async def disable():
        await stage.store.set_tool_enabled("tool", "echo", False)
        yield calls(("echo", {}))

    events, _ = stage.played(ScriptedModel(disable, says("done")))
    (result,) = of(ToolResultEvent, events)
    assert result.result.error_type == "not_available"


def test_an_empty_answer_is_asked_for_once_more_and_paid_for(stage):
    model = ScriptedModel(says(" "), says("Hello"))
    events, rows = stage.played(model)
    assert [row.content for row in rows] == ["hello", "Hello"]
    (retry,) = of(RetryEvent, events)
    assert retry.reason.startswith("scripted/model answered with nothing (finish reason: complete); try again")
    assert retry.delay_seconds == 0
    assert (stage.usage.requests, len(of(UsageEvent, events))) == (2, 2)

    events, _ = stage.played(ScriptedModel(says(""), says("")), raises=ProviderError)
    assert len(of(RetryEvent, events)) == 1
    assert stage.usage.requests == 4


def test_each_round_of_calls_may_have_an_empty_answer(stage):
    model = ScriptedModel(says(""), calls(("echo", {})), says(""), says("done"))
    assert stage.played(model)[0][-1].text == "done"


def test_what_was_read_of_an_answer_is_stored_as_incomplete(stage):
    _, rows = stage.played(ScriptedModel(streams(TextDelta("Ha"), TextDelta("lf"))), raises=ProviderError)
    assert str(stage.fault) == "scripted/model ended its answer without saying so; try again"
    assert [(row.content, row.is_incomplete, row.model) for row in rows[1:]] == [("Half", True, "scripted/model")]
    _, rows = stage.played(ScriptedModel(ProviderUnavailableError("away")), raises=ProviderUnavailableError)
    assert [row.content for row in rows[2:]] == ["hello"]


def test_a_whole_answer_that_is_cancelled_before_it_is_stored_is_paid_for(stage, monkeypatch):
    monkeypatch.setattr("oneclaw_core.models.spending.needs_prices", lambda config, prices: True)
    monkeypatch.setattr("oneclaw_core.models.spending.load_prices", lambda: time.sleep(0.2))

    async def run():
        async with stage.session():
            events = []
            turn = asyncio.create_task(stage.send(ScriptedModel(says("Hello")), events=events))
            while not events:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)  # it waits for the prices
            turn.cancel()
            with pytest.raises(asyncio.CancelledError):
                await turn
            return await stage.rows(), await stage.store.usage_totals(stage.found.id)

    rows, usage = asyncio.run(run())
    assert (usage.requests, usage.input_tokens) == (1, 10)
    assert [(row.content, row.is_incomplete) for row in rows[1:]] == [("Hello", True)]


def test_why_a_turn_ends_is_told_though_another_turn_has_the_session(stage):
    async def busy(*arguments, **options):
        raise SessionBusyError("busy")

    async def breaks():
        yield TextDelta("Half")
        stage.store.append = busy
        raise ProviderUnavailableError("away")

    stage.played(ScriptedModel(breaks), raises=ProviderUnavailableError)

    def lost(arguments):
        stage.store.finish_calls = busy
        raise asyncio.CancelledError

    stage.add("losing", lost)
    stage.played(ScriptedModel(calls(("losing", {}))), raises=(asyncio.CancelledError, SessionBusyError))


@pytest.mark.parametrize("kind", [StoreError, StoreUnavailableError])
def test_results_that_are_not_stored_are_named(stage, kind, monkeypatch):
    monkeypatch.setattr(call_records, "STORE_RETRY_SECONDS", 0)

    async def refuse(session_id, results):
        raise kind("the disk is full")

    def breaking(arguments):
        stage.store.finish_calls = refuse
        return ToolResult.success("done")

    stage.add("breaking", breaking)
    stage.add("another", breaking)
    stage.played(ScriptedModel(calls(("breaking", {}), ("another", {}))), raises=kind)
    assert str(stage.fault) in (
        "the disk is full; not stored: the results of calls that ran (another, breaking)",
        "the disk is full; not stored: the results of calls that ran (breaking)",
    )
    assert type(stage.fault) is kind


@pytest.fixture
def short_pauses(monkeypatch):
    monkeypatch.setattr(call_records, "_FIRST_PAUSE_SECONDS", 0.001)


def away_once(stage, name, *, is_done=False):
    """Let a write of the store fail once, before or after it was done."""
    write = getattr(stage.store, name)

    async def fails(*arguments, **options):
        setattr(stage.store, name, write)
        if is_done:
            await write(*arguments, **options)
        raise StoreUnavailableError("the database is away")

    setattr(stage.store, name, fails)


@pytest.mark.parametrize("is_done", [False, True])
def test_an_answer_is_stored_once_though_the_database_was_away(stage, short_pauses, is_done):
    async def answer():
        away_once(stage, "store_answer", is_done=is_done)
        yield calls(("echo", {"text": "a"}), text="Let me see.")

    events, rows = stage.played(ScriptedModel(answer, says("done")))
    assert of(RetryEvent, events) == [RetryEvent("the database is away", 0.001)]
    assert [row.content for row in rows] == ["hello", "Let me see.", "", "a", "done"]
    assert stage.echo.runs == 1
    assert stage.usage.requests == 2


def test_a_result_is_stored_though_the_database_was_away(stage, short_pauses):
    def runs(arguments):
        away_once(stage, "finish_calls")
        return ToolResult.success("ran")

    stage.add("runs", runs)
    _, rows = stage.played(ScriptedModel(calls(("runs", {})), says("done")))
    assert [row.content for row in rows if row.type is MessageType.TOOL_RESULT] == ["ran"]


class Governing:
    """A plugin with gates on turns, which sees when a history is compacted."""

    __name__ = "governing"

    def __init__(self, refuses=()):
        self.checked, self.summaries, self._refuses = [], [], refuses

    @hookimpl
    def before_turn(self, turn):
        self.checked.append(turn.text)
        return Deny("no") if turn.text in self._refuses else None

    @hookimpl
    def history_compacted(self, session, summary):
        self.summaries.append(summary)

    @hookimpl
    def prompt_sections(self, session):
        return [PromptSection("day", "It is Monday.")]


def test_messages_during_a_turn_stand_behind_the_results(stage):
    hooks, steering = Governing(), ["Wait", "Faster"]
    stage.plugins = [hooks]
    model = ScriptedModel(calls(("echo", {"text": "a"})), says("done"))
    events, rows = stage.played(model, steering=steering)
    assert of(SteeredEvent, events) == [SteeredEvent("Wait"), SteeredEvent("Faster")]
    assert [each.content for each in model.requests[1].messages[-3:]] == ["a", "Wait", "Faster"]
    assert [row.type for row in rows[-3:]] == [MessageType.USER, MessageType.USER, MessageType.ASSISTANT]
    assert (steering, hooks.checked) == ([], ["hello", "Wait", "Faster"])


def test_a_message_that_a_gate_refuses_ends_the_turn_and_is_not_lost(stage):
    steering = ["Wait", "late"]
    stage.plugins = [Governing(refuses=("late",))]
    stage.played(ScriptedModel(calls(("echo", {}))), raises=TurnRefusedError, steering=steering)
    assert steering == ["Wait", "late"]


@pytest.mark.long
def test_a_message_is_a_new_beginning_for_a_model_that_repeats_itself(stage):
    steering = []
    stage.settings["turn_max_tool_rounds"] = 100

    def says_something(arguments):
        if len(stage_model.requests) in (10, 25):
            steering.append("Go on")
        return ToolResult.success("same")

    stage.add("same", says_something)
    stage_model = ScriptedModel(*(calls(("same", {})) for _ in range(40)), says("done"))
    assert stage.played(stage_model, steering=steering)[0][-1].text == "done"


def chain(stage, first, second, **about_second):
    """Let a model stand before two others, and return what to send a message with."""

    @hookimpl
    def register_providers(register):
        register("chain", lambda config: stage.models[config.name])

    class Chain(ScriptedModel):
        def route(self, model):
            return Route(models=("scripted/first", "other/second"))

    stage.plugins = [SimpleNamespace(__name__="chain", register_providers=register_providers)]
    stage.models |= {"chain": Chain(), "other": second}
    stage.stored = {
        PROVIDER_SETTING + "chain": {"type": "chain"},
        PROVIDER_SETTING + "other": {"type": "scripted"},
        MODEL_SETTING + "other/second": about_second,
    }
    return {"model": first, "of": "chain/daily"}


def test_another_model_goes_on_with_the_turn_within_its_limits(stage):
    second = ScriptedModel(says("Hello"))
    first = ScriptedModel(calls(("echo", {"text": "a"})), ProviderUnavailableError("away"))
    events, rows = stage.played(**chain(stage, first, second, max_output_tokens=7))
    assert of(ModelSwitchedEvent, events) == [ModelSwitchedEvent("other/second", "scripted/first", "away")]
    assert events[-1] == TurnFinishedEvent("story", "Hello", StopReason.COMPLETE, "other/second")
    assert [(each.model, each.max_output_tokens) for each in second.requests] == [("second", 7)]
    assert [row.model for row in rows if row.type is MessageType.ASSISTANT] == ["scripted/first", "other/second"]


def test_the_question_of_an_empty_answer_is_put_to_another_model_too(stage):
    second = ScriptedModel(says(""), says("Hello"))
    first = ScriptedModel(says(""), ProviderUnavailableError("away"))
    assert stage.played(**chain(stage, first, second))[0][-1].text == "Hello"


def test_a_model_that_is_stuck_is_explained_by_another_if_it_fails(stage):
    stage.settings["turn_max_tool_rounds"] = 50
    first = ScriptedModel(*(calls(("echo", {"text": "a"})) for _ in range(19)), ProviderUnavailableError("away"))
    second = ScriptedModel(replace(says("I am stuck."), provider_data={"seal": "x"}))
    events, rows = stage.played(**chain(stage, first, second))
    assert events[-1].text == "I am stuck."
    assert (rows[-1].content, rows[-1].provider_data, rows[-1].model) == ("I am stuck.", None, "other/second")
    assert stage.usage.requests == 20


def test_a_model_that_writes_no_text_explains_nothing(stage):
    stage.settings["turn_max_tool_rounds"] = 50
    model = ScriptedModel(*(calls(("echo", {"text": "a"})) for _ in range(30)))
    model.is_language_model = False
    stage.played(model, raises=TurnLimitError)
    assert str(stage.fault) == (
        "the turn was stopped: the model repeated the same calls and made no progress; send another message that "
        "says how to go on"
    )
    assert len(model.requests) == 19


def test_a_conversation_that_is_too_long_whatever_is_left_out_is_refused(stage):
    too_long = ContextTooLongError("too long")
    model = ScriptedModel(too_long)
    stage.played(model, raises=ContextTooLongError)
    assert stage.fault is too_long
    assert len(model.requests) == 1


def after_a_turn(stage, model, name, **options):
    """Play a turn, then one for which there is a tool more; return the entries of the second."""

    async def run():
        async with stage.session():
            await stage.send(ScriptedModel(says("Hi")))
            before = len(await stage.rows())
            stage.add(name, None)
            await stage.send(model, **options)
            return (await stage.rows())[before:]

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("loading", "is_native", "is_told"),
    [
        (ToolLoading.NATIVE, True, True),
        (ToolLoading.DISPATCH, False, True),
        (ToolLoading.APPEND, True, False),
        (ToolLoading.NATIVE, False, False),
    ],
)
def test_a_new_core_tool_is_told_where_the_conversation_stands(stage, loading, is_native, is_told):
    model = ScriptedModel(says("Hello"))
    model.loads_natively = is_native
    stage.about_model = {"tool_loading": str(loading)}
    rows = after_a_turn(stage, model, "fresh")
    loads = [row for row in rows if row.tool_name == "load_tool_group"]
    assert [row.type for row in loads] == ([MessageType.TOOL_CALL, MessageType.TOOL_RESULT] if is_told else [])
    if is_told:
        assert loads[0].tool_input == '{"group_name": "fresh"}'
        assert loads[1].content == "The tool fresh is new and can be called from now on: Does fresh."
        sent = model.requests[0].messages
        assert [each.tool_status for each in sent if each.type is MessageType.TOOL_CALL] == [ToolCallStatus.SUCCESS]


def test_a_tool_with_the_name_of_a_group_is_not_told_as_one(stage):
    model = ScriptedModel(says("Hello"))
    model.loads_natively = True
    rows = after_a_turn(stage, model, "pdf")
    assert not [row for row in rows if row.tool_name == "load_tool_group"]


def test_tools_are_brought_up_to_date_before_each_request_once(stage, monkeypatch):
    refreshed = []

    async def refresh(sources):
        refreshed.append(len(model.requests))

    monkeypatch.setattr(ToolSources, "refresh", refresh)
    model = ScriptedModel(calls(("echo", {})), calls(("echo", {"text": "a"})), says("done"))
    stage.played(model)
    assert refreshed == [0, 1, 2]


def test_a_summary_on_demand_renews_the_prompt(stage):
    hooks = Governing()

    async def run():
        async with stage.session() as claw:
            await stage.send(ScriptedModel(says("1")), "One")
            stage.models["scripted"] = ScriptedModel(says("They counted."))
        stage.plugins = [hooks]
        async with stage.session() as claw:
            await stage.store.append(stage.found.id, [user("Two"), assistant("2")])
            await claw.compact("story", model="scripted/model")
            await claw.plugins.drain(5)
            kept = await stage.store.kept_sections(stage.found.id)
            return (
                kept,
                await stage.store.load_turn(stage.found.id, None),
                await stage.store.usage_totals(stage.found.id),
            )

    kept, start, usage = asyncio.run(run())
    assert kept.text == "It is Monday."
    assert hooks.summaries == [start.summary] == ["They counted."]
    assert [each.content for each in start.history] == ["Two", "2"]
    assert usage.requests == 2


def test_the_last_round_is_refused_with_what_to_do(stage):
    stage.settings["turn_max_tool_rounds"] = 1
    stage.played(ScriptedModel(calls(("echo", {}))), raises=TurnLimitError)
    assert str(stage.fault).startswith("the turn was stopped after 1 rounds of tool calls; send another message")
    assert stage.echo.runs == 1


def test_groups_to_load_first_are_loaded_once(stage):
    model = ScriptedModel(says("done"))

    async def run():
        async with stage.session():
            return await stage.send(model, tool_groups=("pdf", "pdf")), await stage.rows()

    events, rows = asyncio.run(run())
    assert [event.arguments for event in of(ToolCallEvent, events)] == [{"group_name": "pdf"}]
    (loading,) = [row for row in rows if row.type is MessageType.ASSISTANT and not row.content]
    assert loading.model is None
    assert [group.name for group in model.requests[0].tools.groups] == ["pdf"]


def test_a_history_with_results_in_another_order_is_sent_in_that_of_the_calls(stage):
    async def run():
        async with stage.session():
            await stage.store.append(
                stage.found.id,
                [user("Go"), assistant(""), call("c1"), call("c2"), success("c2", "two"), success("c1", "one")],
            )
            await stage.send(model)

    model = ScriptedModel(says("Hello"))
    asyncio.run(run())
    results = [each.content for each in model.requests[0].messages if each.type is MessageType.TOOL_RESULT]
    assert results == ["one", "two"]
