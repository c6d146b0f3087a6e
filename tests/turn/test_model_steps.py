"""The requests of a turn to its model: what is sent, shown, counted and learned, and what another model takes over."""

import asyncio
import logging
from contextlib import asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest
from stage import ScriptedModel, says, streams

import oneclaw_core.models.spending as costs_module
from oneclaw_core import Message, MessageType, ModelSwitchedEvent, TokenUsage, ToolCall, ToolDefinition, UsageEvent
from oneclaw_core.compaction.compacting import Compactor
from oneclaw_core.config.prices import ModelPrices
from oneclaw_core.contract.arguments import SessionInfo
from oneclaw_core.errors import (
    ProviderRequestError,
    ProviderUnavailableError,
    SpendingLimitError,
    StoreError,
    TurnDeadlineError,
    UnfinishedAnswerError,
)
from oneclaw_core.models.attachments import attachment_media_types
from oneclaw_core.models.fallback import Fallback
from oneclaw_core.models.left_out import left_out_by
from oneclaw_core.models.spending import CachePrefixes, Costs
from oneclaw_core.prompts.new_tools import new_tools_told
from oneclaw_core.providers import ModelInfo, ModelRequest, ModelResponse, ProviderConfig, TextDelta
from oneclaw_core.turn.model import ChosenModel
from oneclaw_core.turn.state import Ask, SessionState, TurnState
from oneclaw_core.turn.steps import built, streamed, usage_event
from oneclaw_core.turn.stream import Deadline
from oneclaw_core.turn.turn_request import TurnRequest
from oneclaw_core.types.budget import Spending, SpendingLimits, TurnBudget
from oneclaw_core.types.model_requests import (
    ArgumentsDelta,
    LoadingRefused,
    ReasoningDelta,
    RetryNotice,
    ToolLoading,
    UsageSoFar,
)
from oneclaw_core.types.steps import chain
from oneclaw_core.types.tool_groups import ActiveTools, LoadedGroup
from oneclaw_core.wiring import model_steps

CONFIG = ProviderConfig("local", "scripted", "http://127.0.0.1:1")
PRICES = ModelPrices(input=1_000_000, output=2_000_000)
ECHO, PDF = ToolDefinition("echo", "Echoes."), ToolDefinition("pdf_info", "Counts pages.")
REQUEST = ModelRequest(
    model="llama",
    system_prompt="Be brief.",
    messages=(Message(type=MessageType.USER, content="Hi"),),
    tools=ActiveTools((ECHO,), (LoadedGroup("pdf", (PDF,)),)),
    session_id="s",
)
BEGUN = TokenUsage(input_tokens=7, is_at_least=True)


class NotedStore:
    """A store in memory."""

    def __init__(self):
        self.records, self.settings, self.asked_since = [], {}, []
        self.spent = Spending()
        self.fault = None

    async def record_usage(self, session_id, record):
        assert session_id == "s"
        if self.fault is not None:
            raise self.fault
        self.records.append(record)

    async def spent_since(self, moment):
        self.asked_since.append(moment)
        return self.spent

    async def change_setting(self, key, change):
        self.settings[key] = change(self.settings.get(key))


class Calls:
    """Requests to a scripted model, with all that is noted about them."""

    def __init__(self, *answers, limits=(), hooks=None, deadline=60, fallback=None, **about):
        self.model = ScriptedModel(*answers)
        self.store, self.events, self.shown = NotedStore(), [], []
        self.budget = TurnBudget(limits, 9)
        chosen = ChosenModel(
            self.model, about.pop("config", CONFIG), ModelInfo(name="llama"), fallback=fallback, **about
        )
        self.turn = TurnState(
            parts=SimpleNamespace(store=self.store),
            request=TurnRequest(),
            settings=None,
            session=SessionState(info=SessionInfo(id="s", agent="General Assistant"), agent=None),
            model=chosen,
            budget=self.budget,
            deadline=Deadline(deadline),
            emit=self.emit,
            hooks=hooks,
        )
        self.steps = model_steps(Compactor(), Costs())
        self.run = chain(self.steps, streamed)

    async def emit(self, event):
        self.events.append(event)

    def show(self, event):
        if not isinstance(event, ModelResponse | UsageSoFar):
            self.shown.append(event)

    async def answer(self, request=REQUEST, show=None, purpose="question"):
        return await self.run(Ask(self.turn, request, show or self.show, purpose))

    def ask(self, *given, **options):
        return asyncio.run(self.answer(*given, **options)).response


def test_an_answer_is_shown_as_it_comes():
    calls = Calls(streams(ReasoningDelta("Hm"), UsageSoFar(BEGUN), TextDelta("He"), TextDelta("llo"), says("Hello")))
    assert calls.ask() == says("Hello")
    assert calls.shown == [ReasoningDelta("Hm"), TextDelta("He"), TextDelta("llo")]
    assert (calls.store.records, calls.events) == ([], [])
    (sent,) = calls.model.requests
    assert (sent.messages, sent.tools, sent.first_byte_seconds) == (REQUEST.messages, REQUEST.tools, None)


def test_a_request_is_made_for_its_model():
    calls = Calls(says("Hello"), max_output_tokens=500, reasoning="low", left_out={"stream_options": "no"})
    calls.ask()
    (sent,) = calls.model.requests
    assert (sent.max_output_tokens, sent.reasoning, sent.left_out) == (500, "low", {"stream_options": "no"})


def test_grouped_tools_are_called_through_the_dispatcher_of_a_model_that_wants_it():
    wrapped = ModelResponse(tool_calls=(ToolCall("c", "use_tool", '{"name":"pdf_info","arguments":{}}'),))
    dispatched, native = Calls(wrapped, tool_loading=ToolLoading.DISPATCH), Calls(wrapped)
    assert dispatched.ask().tool_calls == (ToolCall("c", "pdf_info", "{}"),)
    assert native.ask().tool_calls == wrapped.tool_calls
    assert [each.name for each in dispatched.model.requests[0].tools] == ["echo", "use_tool"]


def test_a_service_with_a_limit_of_tools_gets_the_dispatcher():
    for most, left_out, names in [
        (2, {}, ["echo", "pdf_info"]),
        (1, {}, ["echo", "use_tool"]),
        (None, {"most_tools:1": "too many"}, ["echo", "use_tool"]),
        (1, {"most_tools:2": "too many"}, ["echo", "pdf_info"]),
    ]:
        calls = Calls(says("Hello"), left_out=left_out)
        calls.model.most_tools = most
        calls.ask()
        assert [each.name for each in calls.model.requests[0].tools] == names
    # Core tools alone cannot be called through it.
    calls = Calls(says("Hello"))
    calls.model.most_tools = 0
    calls.ask(replace(REQUEST, tools=ActiveTools((ECHO,))))
    assert [each.name for each in calls.model.requests[0].tools] == ["echo"]


RETRY = RetryNotice("busy", 0)


@pytest.mark.parametrize(
    ("events", "input_tokens", "output_tokens"),
    [
        ([UsageSoFar(TokenUsage(input_tokens=7, output_tokens=3))], 7, 3),
        ([UsageSoFar(TokenUsage(input_tokens=7, output_tokens=9, is_at_least=True)), TextDelta("x" * 8)], 7, 9),
        ([UsageSoFar(BEGUN), TextDelta("x" * 8)], 7, 2),
        ([UsageSoFar(BEGUN), ReasoningDelta("x" * 4), ArgumentsDelta("x" * 4)], 7, 2),
        ([UsageSoFar(TokenUsage(output_tokens=5, is_at_least=True))], "estimated", 5),
        ([TextDelta("x" * 40)], "estimated", 10),
    ],
)
def test_an_attempt_that_is_lost_counts_as_far_as_it_came(events, input_tokens, output_tokens):
    calls = Calls(streams(*events, RETRY, says("Hello")), prices=PRICES)
    assert calls.ask() == says("Hello")
    (record,) = calls.store.records
    (event,) = calls.events
    assert event == UsageEvent("local/llama", record.usage, record.cost)
    assert (record.provider, record.model, record.prefix, record.tool_groups) == ("local", "llama", None, ())
    assert record.usage.output_tokens == output_tokens
    if input_tokens == "estimated":
        assert 20 < record.usage.input_tokens < 200
    else:
        assert record.usage.input_tokens == input_tokens
    assert record.usage.is_at_least == (events[0] != UsageSoFar(TokenUsage(input_tokens=7, output_tokens=3)))
    assert record.cost == record.usage.input_tokens + 2 * output_tokens
    assert calls.budget.spent.tokens == record.usage.input_tokens + output_tokens + 12  # of the answer
    assert calls.shown[-1] == RETRY


def test_each_lost_attempt_counts_by_itself():
    begun = [UsageSoFar(BEGUN), TextDelta("x" * 4)]
    calls = Calls(streams(*begun, RETRY, *begun, RETRY, RETRY, *begun, says("Hello")))
    calls.ask()
    assert [each.usage.input_tokens for each in calls.store.records] == [7, 7]
    assert [each.usage.output_tokens for each in calls.store.records] == [1, 1]


def test_an_attempt_that_used_nothing_is_not_recorded():
    nothing = UsageSoFar(TokenUsage(input_tokens=0, output_tokens=0))
    calls = Calls(streams(nothing, RETRY, nothing, says("Hello")), streams(RETRY, says("Hello")))
    calls.ask()
    calls.ask()
    assert (calls.store.records, calls.events) == ([], [])


@pytest.mark.parametrize(
    ("end", "raised"), [((), UnfinishedAnswerError), ((ProviderUnavailableError("away"),), ProviderUnavailableError)]
)
def test_an_answer_that_does_not_complete_counts(end, raised):
    calls = Calls(streams(UsageSoFar(BEGUN), TextDelta("Half"), *end))
    with pytest.raises(raised):
        calls.ask()
    assert [each.usage for each in calls.store.records] == [replace(BEGUN, output_tokens=1)]
    assert len(calls.events) == 1


def test_a_failure_after_a_complete_answer_is_not_counted_beside_it():
    calls = Calls(streams(UsageSoFar(BEGUN), says("Hello"), ProviderUnavailableError("away")))
    with pytest.raises(ProviderUnavailableError):
        calls.ask()
    assert calls.store.records == []


def test_a_lost_attempt_that_cannot_be_stored_is_counted_all_the_same(caplog):
    calls = Calls(streams(UsageSoFar(BEGUN), TextDelta("Half"), RETRY, says("Hello")))
    calls.store.fault = StoreError("away")
    assert calls.ask() == says("Hello")
    assert len(calls.events) == 1
    assert "the usage of an answer that broke off is not recorded" in caplog.text


def test_when_no_one_listens_any_more_the_plugins_are_told_what_was_used():
    unheard = []

    @asynccontextmanager
    async def request(sent, chosen, purpose):
        yield None

    hooks = SimpleNamespace(request=request, count_unheard=unheard.append)

    async def cancelled(calls):
        async def never():
            yield UsageSoFar(BEGUN)
            yield TextDelta("Half")
            await asyncio.sleep(60)

        calls.model.answers = [never]
        asking = asyncio.create_task(calls.answer())
        while not calls.shown:
            await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    for given in (hooks, None):
        calls = Calls(hooks=given)
        asyncio.run(cancelled(calls))
        assert (len(calls.store.records), calls.events) == (1, [])
    assert unheard == [UsageEvent("local/llama", replace(BEGUN, output_tokens=1), None)]


def test_plugins_see_each_request_with_its_purpose():
    seen = []

    @asynccontextmanager
    async def request(sent, chosen, purpose):
        seen.append((sent.model, chosen.full_name, purpose))
        yield seen.append

    calls = Calls(streams(UsageSoFar(BEGUN), says("Hello")), says("Hi"), hooks=SimpleNamespace(request=request))
    calls.ask()
    assert seen == [("llama", "local/llama", "answer"), UsageSoFar(BEGUN), says("Hello")]
    calls.ask(purpose="summary")
    assert seen[3] == ("llama", "local/llama", "summary")


def test_a_deadline_ends_a_request():
    async def never():
        await asyncio.sleep(60)
        yield says("late")

    with pytest.raises(TurnDeadlineError):
        Calls(never, deadline=0.01).ask()


def test_nothing_is_sent_once_a_limit_is_reached():
    calls = Calls(limits=[SpendingLimits(turn_max_tokens=5)])
    calls.budget.add(TokenUsage(input_tokens=5), None)
    with pytest.raises(SpendingLimitError, match="turn_max_tokens allows 5"):
        calls.ask()
    assert (calls.model.requests, calls.store.asked_since) == ([], [])


def test_what_was_spent_today_is_looked_up_for_limits_of_a_day_alone():
    calls = Calls(says("Hello"), limits=[SpendingLimits(day_max_tokens=5)])
    calls.ask()
    calls.store.spent = Spending(tokens=5)
    with pytest.raises(SpendingLimitError, match="day_max_tokens allows 5"):
        calls.ask()
    assert [(each.hour, each.minute, each.second) for each in calls.store.asked_since] == [(0, 0, 0)] * 2


def test_a_limit_that_a_lost_attempt_reaches_stops_the_next():
    calls = Calls(
        streams(UsageSoFar(BEGUN), TextDelta("Half"), RETRY, says("Hello")), limits=[SpendingLimits(turn_max_tokens=8)]
    )
    with pytest.raises(SpendingLimitError):
        calls.ask()
    assert calls.shown == [TextDelta("Half")]


def refusal(*parts):
    error = ProviderRequestError("local refuses the request (400); it says: no such part")
    error.refused_parts = parts
    return error


LEARNED = "learned:local/llama"


def test_what_is_refused_is_left_out_and_remembered():
    calls = Calls(refusal("reasoning"), refusal("stream_options"), says("Hello"), says("Again"))
    assert calls.ask() == says("Hello")
    assert [sorted(each.left_out) for each in calls.model.requests] == [
        [],
        ["reasoning"],
        ["reasoning", "stream_options"],
    ]
    assert calls.shown[0] == RetryNotice(f"{refusal()}; left out: earlier reasoning", 0)
    assert calls.store.settings == {
        LEARNED: {
            "base_url": CONFIG.base_url,
            "left_out": {"reasoning": "no such part", "stream_options": "no such part"},
        }
    }
    calls.ask()
    assert sorted(calls.model.requests[-1].left_out) == ["reasoning", "stream_options"]


def test_what_is_refused_again_or_without_end_is_an_error():
    again = Calls(refusal("reasoning"), refusal("reasoning"))
    with pytest.raises(ProviderRequestError):
        again.ask()
    assert (len(again.model.requests), again.store.settings) == (2, {})

    endless = Calls(*(refusal(f"file:{number}") for number in range(20)))
    with pytest.raises(ProviderRequestError):
        endless.ask()
    assert len(endless.model.requests) == 9

    nothing = Calls(refusal())
    with pytest.raises(ProviderRequestError):
        nothing.ask()
    assert len(nothing.model.requests) == 1


def test_an_answer_that_does_not_end_teaches_nothing():
    calls = Calls(refusal("reasoning"), streams(TextDelta("Half")))
    with pytest.raises(UnfinishedAnswerError):
        calls.ask()
    assert calls.store.settings == {}


@pytest.mark.parametrize(
    ("stored", "kept"),
    [
        (None, {}),
        ("a text", {}),
        ({"base_url": "http://elsewhere", "left_out": {"tools": "no"}}, {}),
        ({"base_url": CONFIG.base_url, "left_out": {"tools": "no"}, "more": 1}, {"tools": "no"}),
    ],
)
def test_what_was_learned_of_the_same_server_is_kept(stored, kept):
    calls = Calls(refusal("reasoning"), says("Hello"))
    calls.store.settings[LEARNED] = stored
    calls.ask()
    learned = calls.store.settings[LEARNED]
    assert learned["left_out"] == {**kept, "reasoning": "no such part"}
    assert (learned["base_url"], learned.get("more")) == (CONFIG.base_url, 1 if kept else None)
    assert "tool_loading" not in learned


def test_the_newest_refusals_are_remembered():
    calls = Calls(refusal("file:new"), says("Hello"))
    known = {f"file:{number}": "old" for number in range(200)}
    calls.store.settings[LEARNED] = {"base_url": CONFIG.base_url, "left_out": known}
    calls.ask()
    kept = list(calls.store.settings[LEARNED]["left_out"])
    assert (kept[0], kept[-1], len(kept)) == ("file:1", "file:new", 200)


def test_a_way_of_loading_that_is_refused_is_not_tried_again(caplog):
    caplog.set_level(logging.INFO, "oneclaw.turn")
    refused = LoadingRefused("no such field", ToolLoading.APPEND)
    calls = Calls(streams(refused, says("Hello")), says("Again"))
    calls.ask()
    assert calls.shown == []
    assert calls.store.settings == {LEARNED: {"base_url": CONFIG.base_url, "tool_loading": "append"}}
    assert "local/llama is told loaded tool groups the append way: no such field" in caplog.text
    calls.ask()
    assert [each.tool_loading for each in calls.model.requests] == [ToolLoading.NATIVE, ToolLoading.APPEND]


@pytest.mark.parametrize(
    ("learned", "parts"),
    [({}, {}), ({"left_out": ["tools"]}, {}), ({"left_out": {"tools": None}}, {"tools": "None"})],
)
def test_what_is_stored_about_refusals_is_read_with_care(learned, parts):
    assert left_out_by(learned) == parts


USAGE = TokenUsage(input_tokens=10, output_tokens=2)


def noted(calls):
    """Return what an answer used."""
    calls.model.answers = [says("Hello")]
    return asyncio.run(calls.answer()).usage


def test_an_answer_is_priced_and_counted():
    calls = Calls(prices=PRICES)
    record = noted(calls)
    assert usage_event(record) == UsageEvent("local/llama", USAGE, 14)
    assert (record.cost, record.prefix, record.tool_groups) == (14, None, ())
    assert calls.budget.spent == Spending(tokens=12, cost=14)
    assert (calls.store.records, calls.events) == ([], [])  # its caller stores and tells it


def test_the_user_is_warned_once_that_a_limit_in_money_does_not_hold(caplog):
    calls = Calls(limits=[SpendingLimits(turn_max_cost=1)])
    noted(calls)
    noted(calls)
    assert caplog.text.count("the price of local/llama is not known") == 1
    caplog.clear()
    noted(Calls())
    noted(Calls(limits=[SpendingLimits(turn_max_cost=20)], prices=PRICES))
    assert caplog.text == ""


def test_an_answer_is_not_lost_for_want_of_its_price(monkeypatch, caplog):
    def fails(*arguments):
        raise RuntimeError("no prices")

    monkeypatch.setattr(costs_module, "cost_of", fails)
    assert noted(Calls()).cost is None
    assert "the price of local/llama cannot be found" in caplog.text


def test_prices_are_read_while_the_model_thinks(monkeypatch):
    loaded = []
    monkeypatch.setattr(costs_module, "load_prices", lambda: loaded.append(1))
    monkeypatch.setattr(costs_module, "needs_prices", lambda config, prices: not loaded and prices is None)
    calls = Calls()
    noted(calls)
    assert loaded == [1]
    noted(calls)
    assert loaded == [1]


@pytest.mark.parametrize(
    ("loading", "is_native", "are_at_front"),
    [
        (ToolLoading.NATIVE, True, False),
        (ToolLoading.NATIVE, False, True),
        (ToolLoading.APPEND, True, True),
        (ToolLoading.DISPATCH, False, False),
    ],
)
def test_a_request_is_noted_with_its_groups_and_what_it_begins_with(loading, is_native, are_at_front):
    calls = Calls(says("Hello"), tool_loading=loading)
    calls.model.loads_natively = is_native
    without = {built, new_tools_told}  # which read the session
    steps = [step for step in calls.steps if step not in without and not step.__qualname__.startswith("compacting")]
    calls.run = chain(steps, streamed)
    record = asyncio.run(calls.answer(purpose="answer")).usage
    assert record.tool_groups == ("pdf",)
    assert record.prefix == CachePrefixes().of(REQUEST, are_groups_at_front=are_at_front)


class Behind(Fallback):
    """A fallback that gives another model."""

    silence_seconds = 5.0

    def __init__(self, *models, gives_up=False):
        self.models, self.asked, self.answers, self.does_give_up = list(models), [], [], gives_up

    async def after(self, error, failed, store, *, is_final):
        self.asked.append((str(error), failed.full_name, is_final))
        if is_final or not self.models:
            raise error
        return ChosenModel(self.models.pop(0), CONFIG, ModelInfo(name="gemma"), fallback=self, prices=PRICES)

    def answered(self, model):
        self.answers.append(model)

    def gives_up(self, notice):
        return self.does_give_up


AWAY = ProviderUnavailableError("away")


def test_the_next_model_is_asked_within_its_own_terms():
    behind = Behind(ScriptedModel(says("Hello")))
    calls = Calls(AWAY, fallback=behind, left_out={"tools": "no"})
    second = behind.models[0]
    assert calls.ask(purpose="summary") == says("Hello")
    assert behind.asked == [("away", "local/llama", False)]
    assert behind.answers == ["local/gemma"]
    assert calls.events == [ModelSwitchedEvent("local/gemma", "local/llama", "away")]
    assert calls.turn.model.full_name == "local/gemma"
    (sent,) = second.requests
    assert (sent.model, sent.left_out, sent.first_byte_seconds) == ("gemma", {}, 5.0)
    assert calls.budget.spent == Spending(tokens=12, cost=14)


def test_without_another_model_the_failure_is_raised():
    calls = Calls(AWAY)
    with pytest.raises(ProviderUnavailableError, match="away"):
        calls.ask()


@pytest.mark.parametrize(
    ("events", "is_shown"),
    [([TextDelta("Half")], True), ([ReasoningDelta("Hm")], True), ([ArgumentsDelta("{")], False)],
)
def test_no_other_model_repeats_what_was_shown(events, is_shown):
    behind = Behind()
    calls = Calls(streams(*events, AWAY), fallback=behind)
    with pytest.raises(ProviderUnavailableError):
        calls.ask()
    assert behind.asked == [("away", "local/llama", is_shown)]


def test_what_an_earlier_request_showed_is_no_hindrance():
    behind = Behind(ScriptedModel(says("Hello")))
    calls = Calls(streams(TextDelta("Hi"), says("Hi")), AWAY, fallback=behind)

    calls.ask()
    assert calls.ask() == says("Hello")
    assert [is_final for _, _, is_final in behind.asked] == [False]


@pytest.mark.parametrize(
    ("gives_up", "notice", "is_left"),
    [
        (True, RetryNotice("busy", 0, AWAY), True),
        (False, RetryNotice("busy", 0, AWAY), False),
        (True, RetryNotice("busy", 0), False),
    ],
)
def test_a_model_that_is_to_be_asked_again_may_give_way(gives_up, notice, is_left):
    calls = Calls(streams(notice, says("Hello")), fallback=Behind(gives_up=gives_up))
    if is_left:
        with pytest.raises(ProviderUnavailableError, match="away"):
            calls.ask()
        assert calls.shown == []
    else:
        assert calls.ask() == says("Hello")
        assert calls.shown[0] == notice


def test_a_listener_that_waits_is_waited_for():
    calls = Calls(streams(TextDelta("Hello"), says("Hello")), refusal("tools"), says("Hello"))
    waited = []

    async def slow(event):
        await asyncio.sleep(0)
        waited.append(event)

    calls.ask(show=slow)
    calls.ask(show=slow)
    told = [type(each) for each in waited if not isinstance(each, ModelResponse)]
    assert told == [TextDelta, RetryNotice, TextDelta]


def test_a_stream_is_closed_with_its_request():
    calls = Calls(streams(TextDelta("Half"), RuntimeError("broken")))
    with pytest.raises(RuntimeError):
        calls.ask()
    assert calls.model.closed_streams == 1


@pytest.mark.parametrize(
    "about", [{}, {"is_language_model": False, "attachment_media_types": (), "loads_natively": True}]
)
def test_what_a_provider_does_not_say_of_itself_is_assumed(about):
    chosen = ChosenModel(SimpleNamespace(**about), CONFIG, ModelInfo(name="llama"))
    assert chosen.writes_summaries is not bool(about)
    assert chosen.loads_natively is bool(about)
    assert attachment_media_types(chosen) == ()
    assert chosen.full_name == "local/llama"
