"""Events that plugins get of a turn and of its requests to models."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest
from stage import says

from oneclaw_core import TurnFinishedEvent, TurnRefusedError, UsageEvent
from oneclaw_core.contract.arguments import SessionInfo, TurnInfo
from oneclaw_core.providers import ModelInfo, ProviderConfig
from oneclaw_core.turn import turn_hooks
from oneclaw_core.turn.model import ChosenModel
from oneclaw_core.turn.turn_hooks import TurnHooks, marked_context
from oneclaw_core.types.messages import TokenUsage
from oneclaw_core.types.model_requests import RetryNotice, TextDelta

INFO = TurnInfo(id="t", session=SessionInfo(id="s", agent="Author"), agent="Author", model="local/llama", text="Hi")
CHOSEN = ChosenModel(None, ProviderConfig("local", "openai"), ModelInfo(name="llama"))
REQUEST = object()
ALL = frozenset(
    {
        "around",
        "after_model_response",
        "before_model_request",
        "history_compacted",
        "message_context",
        "turn_finished",
        "turn_started",
    }
)


class NotedPlugins:
    """Plugins at work that note what they are told."""

    def __init__(self, hooks=ALL, refuses=None):
        self.hooks, self.told, self.works, self.results, self.asked = hooks, [], [], [], []
        self._refuses = refuses

    async def before_turn(self, info):
        self.asked.append(info)
        return self._refuses and SimpleNamespace(reason=self._refuses)

    async def message_context(self, info):
        return [("weather", "It rains."), ("mail", "You have mail.")]

    def observe(self, hook, **arguments):
        self.told.append((hook, arguments))

    @asynccontextmanager
    async def around(self, work):
        self.works.append(work)
        yield SimpleNamespace(set_result=self.results.append)

    def of(self, hook):
        return [arguments for name, arguments in self.told if name == hook]


def observed(*events, plugins=None, error=None, unheard=()):
    """Observe a turn with events; return its outcome."""
    plugins = plugins or NotedPlugins()
    hooks = TurnHooks(plugins, INFO)

    async def run():
        async with hooks.turn() as observe:
            for event in events:
                observe(event)
            for event in unheard:
                hooks.count_unheard(event)
            if error is not None:
                raise error

    if error is None:
        asyncio.run(run())
    else:
        with pytest.raises(type(error)):
            asyncio.run(run())
    (finished,) = plugins.of("turn_finished")
    assert finished["turn"] is INFO
    assert plugins.of("turn_started") == [{"turn": INFO}]
    assert plugins.results == [finished["outcome"]]
    assert [each.turn for each in plugins.works] == [INFO]
    return finished["outcome"]


def used(cost=None, **usage):
    return UsageEvent("local/llama", TokenUsage(**usage), cost)


def test_an_outcome_has_the_text_and_the_sums_of_all_requests():
    outcome = observed(
        used(1.0, input_tokens=1, output_tokens=2, cached_input_tokens=3),
        TextDelta("no event of a turn"),
        used(0.5, input_tokens=10, output_tokens=20, cache_write_tokens=4, reasoning_tokens=5),
        TurnFinishedEvent("story", "Done."),
        unheard=[used(0.25, input_tokens=100)],
    )
    assert (outcome.text, outcome.error, outcome.is_interrupted) == ("Done.", None, False)
    assert outcome.usage == TokenUsage(
        input_tokens=111, output_tokens=22, cached_input_tokens=3, cache_write_tokens=4, reasoning_tokens=5
    )
    assert outcome.cost == 1.75


def test_what_is_not_known_of_a_request_is_not_known_of_the_turn():
    outcome = observed(used(1.0, input_tokens=1), used(None, input_tokens=2, is_at_least=True), used(2.0))
    assert outcome.usage == TokenUsage(input_tokens=3, is_at_least=True)
    assert outcome.cost is None
    nothing = observed()
    assert (nothing.text, nothing.usage, nothing.cost) == ("", TokenUsage(), 0.0)


def test_a_turn_that_is_left_before_its_answer_is_interrupted():
    error = asyncio.CancelledError()
    assert observed(error=error).is_interrupted
    outcome = observed(TurnFinishedEvent("story", "Done."), error=error)
    assert (outcome.is_interrupted, outcome.text, outcome.error) == (False, "Done.", None)


def test_a_turn_that_fails_says_why():
    outcome = observed(error=ValueError("broken"))
    assert (outcome.error, outcome.is_interrupted) == ("ValueError: broken", False)


def test_gates_see_the_message_that_begins_a_turn_or_comes_during_it():
    plugins = NotedPlugins()
    hooks = TurnHooks(plugins, INFO)
    asyncio.run(hooks.check())
    asyncio.run(hooks.check("Wait"))
    assert plugins.asked == [INFO, replace(INFO, text="Wait")]
    with pytest.raises(TurnRefusedError, match=r"^too late$"):
        asyncio.run(TurnHooks(NotedPlugins(refuses="too late"), INFO).check())


def test_texts_of_plugins_follow_the_message():
    assert asyncio.run(TurnHooks(NotedPlugins(), INFO).with_context("Hi")) == (
        'Hi\n\n<context plugin="weather">\nIt rains.\n</context>\n\n<context plugin="mail">\nYou have mail.\n</context>'
    )
    assert asyncio.run(TurnHooks(NotedPlugins(frozenset()), INFO).with_context("Hi")) == "Hi"


def test_a_text_cannot_end_its_mark():
    assert marked_context("oneclaw", " \nnews </context> more\n") == (
        '<context plugin="oneclaw">\nnews <\\/context> more\n</context>'
    )


def test_a_summary_is_told_with_its_session():
    plugins = NotedPlugins()
    TurnHooks(plugins, INFO).compacted("They counted.")
    assert plugins.told == [("history_compacted", {"session": INFO.session, "summary": "They counted."})]


def test_only_hooks_that_plugins_have_are_called():
    plugins = NotedPlugins(frozenset({"turn_finished"}))

    async def run():
        hooks = TurnHooks(plugins, INFO)
        hooks.compacted("They counted.")
        async with hooks.turn():
            pass
        async with hooks.request(REQUEST, CHOSEN, "answer") as observe:
            return observe

    assert asyncio.run(run()) is None
    assert [hook for hook, _ in plugins.told] == ["turn_finished"]
    assert plugins.works == []


@pytest.mark.parametrize("hook", ["around", "before_model_request", "after_model_response"])
def test_each_hook_on_requests_is_enough_to_observe_them(hook):
    async def run(plugins):
        async with TurnHooks(plugins, INFO).request(REQUEST, CHOSEN, "summary") as observe:
            observe(says("Hello"))

    plugins = NotedPlugins(frozenset({hook}))
    asyncio.run(run(plugins))
    assert [name for name, _ in plugins.told] == ([] if hook == "around" else [hook])
    assert len(plugins.works) == (hook == "around")


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on by a quarter of a second whenever it is looked at."""
    times = iter(number / 4 for number in range(100, 200))
    monkeypatch.setattr(turn_hooks.time, "perf_counter", lambda: next(times))


def requested(*events, error=None):
    plugins = NotedPlugins()

    async def run():
        async with TurnHooks(plugins, INFO).request(REQUEST, CHOSEN, "summary") as observe:
            for event in events:
                observe(event)
            if error is not None:
                raise error

    if error is None:
        asyncio.run(run())
    else:
        with pytest.raises(type(error)):
            asyncio.run(run())
    (work,) = plugins.works
    call = work.request
    assert (call.model, call.provider_type, call.purpose, call.request) == ("local/llama", "openai", "summary", REQUEST)
    assert work.turn is INFO
    told = plugins.of("after_model_response")
    assert all((each["turn"], each["request"]) == (INFO, call) for each in told)
    assert plugins.of("before_model_request") == [{"turn": INFO, "request": call}] * len(told)
    answers = [each["response"] for each in told]
    assert plugins.results == answers[-1:]
    return [
        (each.response and each.response.text, each.error, each.error_type, each.duration_ms, each.first_chunk_ms)
        for each in answers
    ]


def test_an_answer_is_told_with_its_duration_and_the_time_to_its_first_part(clock):
    assert requested(TextDelta("He"), says("Hello")) == [("Hello", None, None, 500.0, 250.0)]
    assert requested(says("Hello")) == [("Hello", None, None, 250.0, 250.0)]


def test_a_failure_is_told_with_its_kind(clock):
    assert requested(error=ValueError("broken")) == [(None, "ValueError: broken", "ValueError", 250.0, None)]


def test_an_attempt_that_is_repeated_is_told_by_itself(clock):
    assert requested(TextDelta("He"), RetryNotice("busy", 1), RetryNotice("still busy", 1), says("Hello")) == [
        (None, "busy", "retried", 500.0, 250.0),
        (None, "still busy", "retried", 250.0, None),
        ("Hello", None, None, 250.0, 250.0),
    ]


def test_a_request_that_is_left_was_interrupted(clock):
    for error in (None, asyncio.CancelledError()):
        assert requested(error=error) == [(None, "the request was interrupted", "interrupted", 0.0, None)]
