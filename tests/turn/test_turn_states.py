"""The states of a turn: what each stores, tells and asks for, and what is left when one fails."""

import asyncio
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest
from histories import assistant, call, success, user
from stage import ScriptedModel, Stage, calls, says, streams

from oneclaw_core import (
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
)
from oneclaw_core.errors import (
    ContextTooLongError,
    ProviderUnavailableError,
    SessionBusyError,
    StoreUnavailableError,
    TurnRefusedError,
    UsageError,
)
from oneclaw_core.providers import ModelInfo, ModelResponse, ProviderConfig, TextDelta
from oneclaw_core.turn import store_retry
from oneclaw_core.turn.context import TurnPrompt
from oneclaw_core.turn.model import ChosenModel
from oneclaw_core.turn.request import prompt_lists
from oneclaw_core.turn.turn import Turn
from oneclaw_core.types.agents import GENERAL_ASSISTANT
from oneclaw_core.types.budget import TurnBudget
from oneclaw_core.types.messages import StopReason, TokenUsage, ToolCall
from oneclaw_core.types.model_requests import ReasoningDelta, RetryNotice, ToolLoading


class States(Stage):
    """A stage whose turns have another context, and other parts, than usual."""

    def __init__(self, tmp_path):
        super().__init__(tmp_path)
        self.context, self.parts = {}, {}

    def turn(self, model):
        staged = super().turn(model)
        staged._context = replace(staged._context, **self.context)
        staged._parts = replace(staged._parts, **self.parts)
        return staged

    def played(self, model, text="hello", raises=None):
        """Run a turn; return its events, and the entries of the history."""
        events = []

        async def run():
            async with self.session():
                if raises is None:
                    await self.send(model, text, events)
                else:
                    with pytest.raises(raises) as caught:
                        await self.send(model, text, events)
                    self.fault = caught.value
                self.usage = await self.store.usage_totals(self.found.id)
                return await self.rows()

        return events, asyncio.run(run())


@pytest.fixture
def stage(tmp_path):
    return States(tmp_path)


def of(kind, events):
    return [event for event in events if isinstance(event, kind)]


def chosen(model, name="second", **about):
    return ChosenModel(model, ProviderConfig("scripted", "scripted"), ModelInfo(name=name), **about)


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
            stage.found = await stage.store.create_session(agent="General Assistant")
            return stage.found.id, await stage.send(ScriptedModel(says("Hello")))

    session_id, events = asyncio.run(run())
    assert events[-1] == TurnFinishedEvent(session_id, "Hello")


def test_calls_are_told_with_their_arguments_progress_and_results(stage):
    class Slow:
        definition = stage.echo.definition

        async def execute(self, arguments, context):
            context.progress("half of it", 0.5)
            await asyncio.sleep(0)
            return ToolResult.success({"lines": 3})

    stage.registry.unregister("echo")
    stage.registry.register(Slow())
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

    stage.registry.unregister("echo")
    stage.registry.register(Look())
    stage.context = {"task": "nightly"}
    stage.played(ScriptedModel(calls(("echo", {})), says("done")))
    (context,) = seen
    assert (context.agent_name, context.session_id) == (GENERAL_ASSISTANT.name, stage.found.id)
    assert context.shown_characters == stage.result_max_characters
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


def test_a_whole_answer_that_cannot_be_used_is_paid_for(stage, monkeypatch):
    def fails(self, request, usage):
        raise RuntimeError("broken")

    monkeypatch.setattr("oneclaw_core.turn.compaction.Compactor.observe", fails)
    _, rows = stage.played(ScriptedModel(says("Hello")), raises=RuntimeError)
    assert (stage.usage.requests, stage.usage.input_tokens) == (1, 10)
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
    monkeypatch.setattr(store_retry, "STORE_RETRY_SECONDS", 0)

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
    monkeypatch.setattr(store_retry, "_FIRST_PAUSE_SECONDS", 0.001)


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


class Hooks:
    """The hooks of plugins on a turn."""

    info = None

    def __init__(self, refuses=()):
        self.checked, self.summaries, self._refuses = [], [], refuses

    async def check(self, text=None):
        self.checked.append(text)
        if text in self._refuses:
            raise TurnRefusedError("no")

    def compacted(self, summary):
        self.summaries.append(summary)

    def request(self, *arguments):
        return nullcontext()

    def count_unheard(self, usage):
        raise AssertionError("someone listens")


def test_messages_during_a_turn_stand_behind_the_results(stage):
    hooks = Hooks()
    stage.context = {"steering": ["Wait", "Faster"], "hooks": hooks}
    model = ScriptedModel(calls(("echo", {"text": "a"})), says("done"))
    events, rows = stage.played(model)
    assert of(SteeredEvent, events) == [SteeredEvent("Wait"), SteeredEvent("Faster")]
    assert [each.content for each in model.requests[1].messages[-3:]] == ["a", "Wait", "Faster"]
    assert [row.type for row in rows[-3:]] == [MessageType.USER, MessageType.USER, MessageType.ASSISTANT]
    assert (stage.context["steering"], hooks.checked) == ([], ["Wait", "Faster"])


def test_a_message_that_a_gate_refuses_ends_the_turn_and_is_not_lost(stage):
    stage.context = {"steering": ["Wait", "late"], "hooks": Hooks(refuses=("late",))}
    stage.played(ScriptedModel(calls(("echo", {}))), raises=TurnRefusedError)
    assert stage.context["steering"] == ["Wait", "late"]


def test_a_message_is_a_new_beginning_for_a_model_that_repeats_itself(stage):
    steering = []
    stage.max_tool_rounds = 100

    def says_something(arguments):
        if len(stage_model.requests) in (10, 25):
            steering.append("Go on")
        return ToolResult.success("same")

    stage.add("same", says_something)
    stage.context = {"steering": steering}
    stage_model = ScriptedModel(*(calls(("same", {})) for _ in range(40)), says("done"))
    assert stage.played(stage_model)[0][-1].text == "done"


def test_what_has_ended_in_the_background_is_told_behind_the_results(stage):
    told = []

    class Ended:
        def __init__(self):
            self.untold = {"another"}

        async def news_for(self, session_id, stored):
            self.untold = set()
            return "Ended in the background:\n- tests", ["w1"]

        async def told(self, ids):
            told.append(ids)

    ended = Ended()
    stage.parts = {"background": ended}
    stage.add("wait", lambda arguments: (setattr(ended, "untold", {stage.found.id}), ToolResult.success("waited"))[1])
    model = ScriptedModel(calls(("echo", {"text": "a"})), calls(("wait", {})), says("done"))
    stage.played(model)
    assert model.requests[1].messages[-1].content == "a"
    assert model.requests[2].messages[-1].content == (
        '<context plugin="oneclaw">\nEnded in the background:\n- tests\n</context>'
    )
    assert told == [["w1"]]


class Behind:
    """A fallback that gives one other model."""

    name, silence_seconds = "chain/daily", None

    def __init__(self, second):
        self.second, self.answers = second, []

    async def after(self, error, failed, store, *, is_final):
        if is_final or self.second is None:
            raise error
        found, self.second = self.second, None
        return replace(found, fallback=self)

    def answered(self, model):
        self.answers.append(model)

    def gives_up(self, notice):
        return False


def test_another_model_goes_on_with_the_turn_within_its_limits(stage):
    second = ScriptedModel(says("Hello"))
    behind = Behind(chosen(second, max_output_tokens=7))
    first = ScriptedModel(calls(("echo", {"text": "a"})), ProviderUnavailableError("away"))
    stage.context = {"model": chosen(first, "first", fallback=behind)}
    events, rows = stage.played(None)
    assert of(ModelSwitchedEvent, events) == [ModelSwitchedEvent("scripted/second", "scripted/first", "away")]
    assert events[-1] == TurnFinishedEvent("story", "Hello", StopReason.COMPLETE, "scripted/second")
    assert [(each.model, each.max_output_tokens) for each in second.requests] == [("second", 7)]
    assert [row.model for row in rows if row.type is MessageType.ASSISTANT] == ["scripted/first", "scripted/second"]


def test_the_question_of_an_empty_answer_is_put_to_another_model_too(stage):
    second = ScriptedModel(says(""), says("Hello"))
    first = ScriptedModel(says(""), ProviderUnavailableError("away"))
    stage.context = {"model": chosen(first, "first", fallback=Behind(chosen(second)))}
    assert stage.played(None)[0][-1].text == "Hello"


def test_a_model_that_is_stuck_is_explained_by_another_if_it_fails(stage):
    stage.max_tool_rounds = 50
    first = ScriptedModel(*(calls(("echo", {"text": "a"})) for _ in range(19)), ProviderUnavailableError("away"))
    second = ScriptedModel(replace(says("I am stuck."), provider_data={"seal": "x"}))
    stage.context = {"model": chosen(first, "first", fallback=Behind(chosen(second)))}
    events, rows = stage.played(None)
    assert events[-1].text == "I am stuck."
    assert (rows[-1].content, rows[-1].provider_data, rows[-1].model) == ("I am stuck.", None, "scripted/second")
    assert stage.usage.requests == 20


def test_a_model_that_writes_no_text_explains_nothing(stage):
    stage.max_tool_rounds = 50
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


def prompt_of(stage, sections=""):
    lists = prompt_lists(GENERAL_ASSISTANT, stage.registry)
    return TurnPrompt(sections, "", lists, lists)


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
    stage.context = {"prompt": prompt_of(stage), "model": chosen(model, tool_loading=loading)}
    stage.add("fresh", None)
    _, rows = stage.played(model)
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
    stage.context = {"prompt": prompt_of(stage)}
    stage.add("pdf", None)
    _, rows = stage.played(model)
    assert not [row for row in rows if row.tool_name == "load_tool_group"]


def test_tools_are_brought_up_to_date_before_each_request_but_the_first(stage):
    refreshed = []

    async def refresh():
        refreshed.append(len(model.requests))

    model = ScriptedModel(calls(("echo", {})), says("done"))
    stage.parts = {"tool_sources": SimpleNamespace(refresh=refresh, set_disabled=lambda plugins: None)}
    stage.context = {"prompt": prompt_of(stage)}
    stage.played(model)
    assert refreshed == [1]
    model = ScriptedModel(calls(("echo", {})), says("done"))
    stage.context = {}
    stage.played(model)
    assert refreshed == [1, 0, 1]


def test_the_prompt_of_the_session_is_sent(stage):
    model = ScriptedModel(says("Hello"))
    shown = {**prompt_lists(GENERAL_ASSISTANT, stage.registry), "section day": "It is Monday."}
    stage.context = {"prompt": TurnPrompt("", "", shown, shown)}
    stage.played(model)
    assert "It is Monday." in model.requests[0].system_prompt


def test_a_summary_on_demand_renews_the_prompt(stage):
    hooks = Hooks()
    asked = []

    class Parts:
        async def prompt_of(self, session, agent, *, is_new):
            asked.append((session.id, agent.name, is_new))
            return prompt_of(stage, "New sections.")

    async def run():
        async with stage.session():
            await stage.store.append(stage.found.id, [user("One"), assistant("1"), user("Two"), assistant("2")])
            events = []

            async def emit(event):
                events.append(event)

            staged = stage.turn(ScriptedModel(says("They counted.")))
            parts = SimpleNamespace(
                **{name: getattr(staged._parts, name) for name in staged._parts.__slots__}, prompt_of=Parts().prompt_of
            )
            turn = Turn(parts, replace(staged._context, hooks=hooks), emit)
            await turn.compact(await stage.store.load_turn(stage.found.id, None))
            kept = await stage.store.kept_sections(stage.found.id)
            return events, kept, await stage.store.load_turn(stage.found.id, None)

    events, kept, start = asyncio.run(run())
    assert (kept.text, kept.lists) == ("New sections.", prompt_of(stage).lists())
    assert hooks.summaries == [start.summary] == ["They counted."]
    assert asked == [(stage.found.id, GENERAL_ASSISTANT.name, True)]
    assert [each.content for each in start.history] == ["Two", "2"]
    assert [type(event).__name__ for event in events] == ["UsageEvent", "CompactedEvent"]


def test_a_summary_on_demand_needs_a_model_that_writes(stage):
    async def run():
        async with stage.session():
            model = ScriptedModel()
            model.is_language_model = False
            staged = stage.turn(model)
            turn = Turn(staged._parts, staged._context, None)
            with pytest.raises(UsageError, match="this model is not a language model and writes no summaries"):
                await turn.compact(await stage.store.load_turn(stage.found.id, None))

    asyncio.run(run())


def test_the_last_round_is_refused_with_what_to_do(stage):
    stage.context = {"budget": TurnBudget((), 1)}
    stage.played(ScriptedModel(calls(("echo", {}))), raises=TurnLimitError)
    assert str(stage.fault).startswith("the turn was stopped after 1 rounds of tool calls; send another message")
    assert stage.echo.runs == 1


def test_groups_to_load_first_are_loaded_once(stage):
    model = ScriptedModel(says("done"))

    async def run():
        async with stage.session():
            events = stage.turn(model).run(await stage.begin("go"), ("pdf", "pdf"))
            return [event async for event in events], await stage.rows()

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
