"""Streams that came to harm, over real HTTP: the right answer or an error that says so, and never half a call."""

import asyncio
import json

import pytest
from how_long import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model_server import ModelServer, chunk, hang_up_after, raw, sse
from oneclaw_openai.chat import OpenAIChatProvider
from provider_session import Service, hello

from oneclaw_core.errors import ProviderError
from oneclaw_core.types.arguments import ArgumentsError, parse_arguments
from oneclaw_core.types.messages import ToolCall
from oneclaw_core.types.model_requests import ModelResponse, RetryNotice

pytestmark = pytest.mark.lowest_versions

service = Service(OpenAIChatProvider, "openai_compatible", hello("m"))
CALLS = (ToolCall("x", "move", '{"from": "/a/b", "to": [1, {"k": 2}]}'), ToolCall("y", "stop", '{"now": true}'))


def call_delta(index, arguments, call_id=None, name=None):
    function = {"arguments": arguments} | ({"name": name} if name else {})
    return chunk({"tool_calls": [{"index": index, "function": function} | ({"id": call_id} if call_id else {})]})


CHUNKS = [
    chunk({"role": "assistant", "content": "", "reasoning_content": "Let me think."}),
    chunk({"content": "Moving "}),
    chunk({"content": "it."}),
    call_delta(0, "", "x", "move"),
    call_delta(0, '{"from": "/a'),
    call_delta(0, '/b", "to": [1, '),
    call_delta(1, "", "y", "stop"),
    call_delta(1, '{"now": '),
    call_delta(0, '{"k": 2}]}'),
    call_delta(1, "true}"),
    chunk({}, "tool_calls"),
    chunk(usage={"prompt_tokens": 5, "completion_tokens": 9}),
]
EVENTS = [sse([each], done=False) for each in CHUNKS]
DONE = sse([])
STREAM = b"".join([*EVENTS, DONE])
places = st.integers(0, len(STREAM))

# Each example is an exchange over HTTP; a busy machine is no fault of the code.
patient = settings(
    deadline=None,
    max_examples=examples(25),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


class Exchange:
    """Has the provider ask for one prepared answer after the other, over one connection where that stays open."""

    def __init__(self, server, runner):
        self._server = server
        self._runner = runner
        self._provider = OpenAIChatProvider(service.config(server.url, max_retries=0, read_timeout_seconds=5))

    async def _events(self):
        async with asyncio.timeout(10):
            return [event async for event in self._provider.stream(service.request)]

    def outcome_of(self, reply):
        """The response, or the error: whatever else happens fails the test."""
        self._server.reply = reply
        try:
            events = self._runner.run(self._events())
        except ProviderError as refused:
            error = refused
        else:
            error = None
        if error is not None:
            assert len(str(error).splitlines()) == 1
            return error
        assert [type(event) for event in events].count(ModelResponse) == 1
        assert not any(isinstance(event, RetryNotice) for event in events)
        return events[-1]

    def close(self):
        self._runner.run(self._provider.aclose())


class ReplyingServer(ModelServer):
    reply = None

    def __init__(self):
        super().__init__(lambda body: self.reply)


@pytest.fixture(scope="module")
def exchange():
    with ReplyingServer() as server, asyncio.Runner() as runner:
        exchange = Exchange(server, runner)
        yield exchange
        exchange.close()


def is_executable(call):
    """Whether the executor would run the call: it refuses arguments that are no JSON object, and tools without name."""
    try:
        parse_arguments(call.arguments)
    except ArgumentsError:
        return False
    return bool(call.name)


def assert_no_half_call(outcome):
    if isinstance(outcome, ModelResponse):
        for call in outcome.tool_calls:
            damaged = "\ufffd" in call.name + call.arguments
            assert damaged or not is_executable(call) or same(call) in map(same, CALLS)


def same(call):
    return call.name, json.loads(call.arguments)


def test_the_whole_stream_gives_the_calls(exchange):
    outcome = exchange.outcome_of(raw(STREAM))
    assert outcome.text == "Moving it."
    assert outcome.tool_calls == CALLS


@patient
@given(places, st.sampled_from([raw, hang_up_after]))
def test_a_truncated_stream_is_an_error_unless_the_model_was_done(exchange, place, ending):
    outcome = exchange.outcome_of(ending(STREAM[:place]))
    # The last line of an event needs no end where the stream ends.
    is_done = place >= sum(map(len, EVENTS[:-1])) - len(b"\n\n")
    if is_done:
        assert (outcome.text, outcome.tool_calls) == ("Moving it.", CALLS)
    else:
        assert isinstance(outcome, ProviderError)


def test_pieces_that_come_before_the_name_of_their_call_are_not_those_of_another(exchange):
    calls = [event for event in EVENTS if b"tool_calls" in event and b'"finish_reason": null' in event]
    begins = [event for event in calls if b'"name": ' in event]
    assert len(begins) == 2
    pieces = [event for event in calls if event not in begins]
    outcome = exchange.outcome_of(raw(b"".join([begins[1], *pieces, begins[0], EVENTS[-2], EVENTS[-1], DONE])))
    assert {each.id: each.arguments for each in outcome.tool_calls} == {each.id: each.arguments for each in CALLS}


def test_pieces_of_a_call_without_a_beginning_are_not_those_of_another(exchange):
    calls = [event for event in EVENTS if b"tool_calls" in event and b'"finish_reason": null' in event]
    others = [event for event in calls if b'"index": 1, "function"' in event and b'"name": ' not in event]
    assert len(others) == 2
    outcome = exchange.outcome_of(raw(b"".join([calls[0], *others, EVENTS[-2], EVENTS[-1], DONE])))
    assert isinstance(outcome, ProviderError)


@patient
@given(st.permutations(EVENTS))
def test_reordered_events_give_no_half_call(exchange, events):
    assert_no_half_call(exchange.outcome_of(raw(b"".join([*events, DONE]))))


@patient
@given(st.lists(st.sampled_from([*EVENTS, DONE]), max_size=16))
def test_missing_events_without_a_reason_give_no_half_call(exchange, events):
    without_reason = [event for event in events if b'finish_reason": "tool_calls' not in event]
    assert_no_half_call(exchange.outcome_of(raw(b"".join([*without_reason, DONE]))))


@patient
@given(st.lists(st.integers(1, 2), min_size=len(EVENTS), max_size=len(EVENTS)))
def test_duplicated_events_give_no_half_call(exchange, times):
    stream = b"".join(event * count for event, count in zip(EVENTS, times, strict=True)) + DONE
    assert_no_half_call(exchange.outcome_of(raw(stream)))


@patient
@given(places, st.integers(1, 30))
def test_bytes_that_were_overwritten_give_no_half_call(exchange, place, length):
    stream = bytearray(STREAM)
    stream[place : place + length] = b"\xff" * len(stream[place : place + length])
    assert_no_half_call(exchange.outcome_of(raw(bytes(stream))))


@patient
@given(st.binary(max_size=400), places)
def test_foreign_bytes_in_the_stream_are_an_error_or_passed_over(exchange, noise, place):
    outcome = exchange.outcome_of(raw(STREAM[:place] + noise + STREAM[place:]))
    assert isinstance(outcome, ProviderError | ModelResponse)
