import copy
import itertools
import json

import pytest
from how_long import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from messages_stream import call, events, redacted, text, thinking
from oneclaw_anthropic.answer import MessagesAnswer
from oneclaw_http_providers.answer import (
    END_OF_STREAM,
    AnswerFailedError,
    AnswerGarbledError,
)

from oneclaw_core.types.messages import TokenUsage, ToolCall
from oneclaw_core.types.model_requests import ReasoningDelta, TextDelta
from oneclaw_core.types.tools import ToolDefinition

SERVER = "https://api.anthropic.com"
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
STREAM = events(
    thinking("hm", "c2ln"),
    text("I look."),
    call("find", {"q": "ä", "a": [1]}, call_id="toolu_1"),
    call("read", {"path": "/x"}, call_id="toolu_2"),
    stop_reason="tool_use",
)


def answer_to(*chunks, tools=()):
    answer = MessagesAnswer(SERVER, "claude-test", tools)
    return answer, [event for chunk in copy.deepcopy(chunks) for event in answer.add(chunk)]


def response_to(*chunks, tools=()):
    answer, _ = answer_to(*chunks, tools=tools)
    assert answer.is_complete
    return answer.response()


def content_of(response):
    return response.provider_data["anthropic"]["content"]


def test_text_is_shown_as_it_comes_and_plain_text_needs_no_echo():
    answer, shown = answer_to(*events(text("Hello")))
    assert shown == [TextDelta("He"), TextDelta("llo")]
    assert answer.is_complete
    response = answer.response()
    assert (response.text, response.stop_reason, response.provider_data) == ("Hello", "complete", None)


def test_thinking_is_shown_as_such_and_kept_verbatim_in_its_place():
    answer, shown = answer_to(*STREAM)
    assert shown[:2] == [ReasoningDelta("h"), ReasoningDelta("m")]
    response = answer.response()
    assert response.text == "I look."
    assert response.provider_data == {
        "anthropic": {
            "server": SERVER,
            "model": "claude-test",
            "content": [
                THOUGHT,
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "name": "find"},  # the rest is the stored call's
                {"type": "tool_use", "name": "read"},
            ],
        }
    }


def test_thinking_without_text_and_redacted_thinking_are_kept_too():
    response = response_to(*events(thinking("", "c2ln"), redacted("ZGF0YQ=="), text("Yes.")))
    assert content_of(response) == [
        {"type": "thinking", "thinking": "", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "ZGF0YQ=="},
        {"type": "text", "text": "Yes."},
    ]


def test_fragments_of_parallel_calls_are_joined_as_they_were_written():
    assert response_to(*STREAM).tool_calls == (
        ToolCall("toolu_1", "find", json.dumps({"q": "ä", "a": [1]})),
        ToolCall("toolu_2", "read", '{"path": "/x"}'),
    )


def test_calls_whose_fragments_come_mixed_are_told_apart_by_index():
    first, second = ([event for event in STREAM if event.get("index") == index] for index in (2, 3))
    mixed = [event for pair in itertools.zip_longest(first, second) for event in pair if event]
    rest = [event for event in STREAM if event.get("index") not in (2, 3)]
    assert response_to(*rest[:-2], *mixed, *rest[-2:]) == response_to(*STREAM)


def test_a_call_without_arguments_has_an_empty_object():
    assert response_to(*events(call("now"), stop_reason="tool_use")).tool_calls[0].arguments == "{}"


def test_what_a_call_carries_beside_its_arguments_is_kept():
    response = response_to(*events(call("find", {}, caller={"type": "direct"}), stop_reason="tool_use"))
    assert content_of(response) == [{"type": "tool_use", "name": "find", "caller": {"type": "direct"}}]


def test_missing_and_repeated_ids_are_replaced():
    blocks = (call("a", {}, call_id="x"), call("b", {}, call_id="x"), call("c", {}, call_id=""))
    ids = [each.id for each in response_to(*events(*blocks, stop_reason="tool_use")).tool_calls]
    assert ids[0] == "x"
    assert len(set(ids)) == 3
    assert all(each.startswith("call_") for each in ids[1:])


def test_parameters_that_were_shown_under_another_name_get_their_own_back():
    tool = ToolDefinition("list", "Lists.", {"type": "object", "properties": {"$top": {}, "_top": {}, "q": {}}})
    stream = events(call("list", {"q": 1, "_top_2": 5, "_top": 6}), stop_reason="tool_use")
    assert response_to(*stream, tools=[tool]).tool_calls[0].arguments == '{"q":1,"$top":5,"_top":6}'


def test_input_tokens_are_all_of_them():
    assert response_to(*STREAM).usage == TokenUsage(
        input_tokens=240, cached_input_tokens=200, cache_write_tokens=30, output_tokens=42, reasoning_tokens=7
    )


def test_counts_at_the_end_replace_those_at_the_start_and_nothing_said_is_nothing_known():
    stream = events(text("x"))
    stream[-2]["usage"] = {"input_tokens": 11, "output_tokens": 3, "cache_read_input_tokens": None}
    assert response_to(*stream).usage == TokenUsage(
        input_tokens=241, cached_input_tokens=200, cache_write_tokens=30, output_tokens=3
    )
    stream[-2]["usage"] = {"output_tokens": True, "input_tokens": -1}
    del stream[0]["message"]["usage"]
    assert response_to(*stream).usage == TokenUsage()


@pytest.mark.parametrize(("arguments", "came"), [('{"path": "/etc', '{"path": "/etc'), ("", "{}")])
def test_a_call_that_the_token_limit_cut_is_told_beside_the_others(arguments, came):
    stream = events(call("find", {"q": 1}), call("read", arguments), stop_reason="max_tokens")
    for chunks in (stream, [event for event in stream if event["type"] != "content_block_stop"]):
        answer, _ = answer_to(*chunks)
        assert answer.is_complete
        response = answer.response()
        assert [(each.name, each.arguments) for each in response.tool_calls] == [("find", '{"q": 1}')]
        assert [(each.name, each.arguments) for each in response.cut_calls] == [("read", came)]


def test_whole_calls_and_text_before_the_token_limit_are_kept():
    assert response_to(*events(call("find", {}), stop_reason="max_tokens")).tool_calls[0].name == "find"
    assert response_to(*events(text("Hel"), stop_reason="max_tokens")).stop_reason == "length_limit"


def test_malformed_arguments_stay_as_they_are_for_the_engine_to_refuse():
    stream = events(call("find", "{oops"), stop_reason="tool_use")
    assert response_to(*stream).tool_calls[0].arguments == "{oops"


def test_a_paused_answer_is_complete():
    assert response_to(*events(text("So far."), stop_reason="pause_turn")).stop_reason == "other"


@pytest.mark.parametrize("reason", ["end_turn", "stop_sequence", "tool_use"])
def test_a_model_that_was_done_leaves_nothing_out(reason):
    assert response_to(*events(text("So."), stop_reason=reason)).stop_reason == "complete"


def test_a_refusal_is_an_error_that_says_why():
    details = {"type": "refusal", "category": "cyber", "explanation": "It would harm."}
    with pytest.raises(AnswerFailedError) as caught:
        answer_to(*events(text("I"), stop_reason="refusal", stop_details=details))
    assert caught.value.error == {
        "type": "invalid_request_error",
        "message": "the model declines to answer this (cyber): It would harm.",
    }
    with pytest.raises(AnswerFailedError):
        answer_to(*events(stop_reason="refusal"))


def test_a_full_context_window_is_an_error():
    with pytest.raises(AnswerFailedError) as caught:
        answer_to(*events(text("I"), stop_reason="model_context_window_exceeded"))
    assert caught.value.error == {"type": "context_length_exceeded"}


def test_a_whole_body_of_a_server_that_does_not_stream():
    content = [THOUGHT, {"type": "text", "text": "Hi"}, {"type": "tool_use", "id": "x", "name": "a", "input": {"n": 1}}]
    body = {"type": "message", "content": content, "stop_reason": "tool_use", "usage": {"input_tokens": 3}}
    answer, shown = answer_to(body)
    assert shown == [ReasoningDelta("hm"), TextDelta("Hi")]
    response = answer.response()
    assert response.tool_calls == (ToolCall("x", "a", '{"n":1}'),)
    assert response.usage.input_tokens == 3
    assert content_of(response)[0] == THOUGHT


def test_what_is_unknown_is_passed_over_and_unknown_blocks_are_kept():
    stream = events(text("Hi"))
    block = {"type": "new_block", "data": [1]}
    extra = [
        {"type": "new_event"},
        {},
        END_OF_STREAM,
        {"type": "content_block_start", "index": 1, "content_block": block},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "new_delta", "x": 1}},
        {"type": "content_block_stop", "index": 1},
    ]
    response = response_to(*stream[:-2], *extra, *stream[-2:])
    assert response.text == "Hi"
    assert content_of(response) == [{"type": "text", "text": "Hi"}, block]


def test_citations_stay_with_their_text():
    stream = events(text("Hi"))
    citation = {"type": "page_location", "cited_text": "x"}
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": citation}}
    response = response_to(*stream[:-3], delta, *stream[-3:])
    assert content_of(response) == [{"type": "text", "text": "Hi", "citations": [citation]}]


def test_an_error_event_without_an_error_is_one_all_the_same():
    with pytest.raises(AnswerFailedError):
        answer_to(STREAM[0], {"type": "error"})


def test_a_ping_is_no_beginning():
    answer, _ = answer_to({"type": "ping"})
    assert not answer.has_begun
    answer, _ = answer_to(STREAM[0])
    assert answer.has_begun


def test_no_stop_reason_is_no_end():
    stream = [event for event in STREAM if event["type"] != "message_delta"]
    assert not answer_to(*stream)[0].is_complete


def test_a_call_left_open_is_never_given_out():
    stream = list(STREAM)
    stream.remove({"type": "content_block_stop", "index": 3})
    assert not answer_to(*stream)[0].is_complete


def test_an_end_that_is_said_twice_changes_nothing_and_another_block_after_it_is_refused():
    another_end = {"type": "message_delta", "delta": {"stop_reason": "refusal"}, "usage": {}}
    assert response_to(*STREAM, another_end, *STREAM[-2:]) == response_to(*STREAM)
    more = {"type": "content_block_start", "index": 9, "content_block": {"type": "tool_use", "id": "y", "name": "x"}}
    with pytest.raises(AnswerGarbledError):
        answer_to(*STREAM, more)


@pytest.mark.parametrize(
    "chunk",
    [
        {"type": "content_block_start", "index": 1, "content_block": None},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": float("nan")}},
        {"type": "content_block_start", "index": 1, "content_block": {}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": ["text"], "text": ""}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": 5}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "y", "name": ["x"]}},
        {"type": "content_block_delta", "index": 0, "delta": None},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": 5}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": 5}},
        {"type": "content_block_delta", "index": 7, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
    ],
)
def test_events_that_cannot_follow_are_refused(chunk):
    begun = events(text("Hi"))[:3]
    with pytest.raises(AnswerGarbledError):
        answer_to(*begun, chunk)


def test_halves_of_characters_are_replaced_everywhere():
    broken = events(thinking("x", "\ud83d"), text("a\ud83d"), call("f", '{"q": "\ud83d"}'), stop_reason="tool_use")
    response = response_to(*broken)
    json.dumps([response.text, response.tool_calls[0].arguments, response.provider_data], ensure_ascii=False).encode()


@given(st.integers(0, len(STREAM) - 1))
def test_a_truncated_stream_gives_no_answer_before_its_end(end):
    answer, _ = answer_to(*STREAM[:end])
    assert answer.is_complete == (STREAM[end - 1]["type"] == "message_delta" and end > 0)


places = st.integers(0, len(STREAM) - 2)


@given(st.lists(places, max_size=3), st.lists(places, max_size=6))
@settings(max_examples=examples(60), deadline=None)
def test_duplicated_and_reordered_events_give_the_right_answer_or_none(repeated, swapped):
    # Fragments of one text that are repeated or change places cannot be told from what was meant.
    stream = [
        event for place, event in enumerate(STREAM) for _ in range(1 + _is_no_fragment(event) * (place in repeated))
    ]
    for place in swapped:
        first, second = stream[place : place + 2]
        if _is_no_fragment(first) or _is_no_fragment(second) or first["index"] != second["index"]:
            stream[place : place + 2] = second, first
    answer = MessagesAnswer(SERVER, "claude-test")
    try:
        for event in copy.deepcopy(stream):
            answer.add(event)
    except AnswerGarbledError:
        return
    if answer.is_complete:
        assert {each.id: json.loads(each.arguments) for each in answer.response().tool_calls} == {
            "toolu_1": {"q": "ä", "a": [1]},
            "toolu_2": {"path": "/x"},
        }


def _is_no_fragment(event):
    return event["type"] != "content_block_delta"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from(["type", "index", "content_block", "delta", "message", "usage", "text", "partial_json", "input"])


@pytest.mark.long
@given(st.lists(st.tuples(st.integers(0, len(STREAM) - 1), keys, json_values), min_size=1, max_size=4))
@settings(max_examples=examples(60), deadline=None)
def test_garbled_events_never_break_anything_but_the_answer(changes):
    stream = copy.deepcopy(STREAM)
    for place, key, value in changes:
        event = stream[place]
        target = next((event[name] for name in ("delta", "content_block") if isinstance(event.get(name), dict)), event)
        (target if key in target else event)[key] = value
    answer = MessagesAnswer(SERVER, "claude-test")
    try:
        for event in stream:
            answer.add(event)
        if answer.is_complete:
            response = answer.response()
            json.dumps(response.provider_data, allow_nan=False)
    except (AnswerGarbledError, AnswerFailedError):
        pass
