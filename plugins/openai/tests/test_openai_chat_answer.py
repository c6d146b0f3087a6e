import json

import pytest
from how_long import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model_server import chunk
from oneclaw_http_providers.answer import END_OF_STREAM, AnswerCutError
from oneclaw_openai.chat_answer import ChatAnswer

from oneclaw_core.types.messages import TokenUsage, ToolCall
from oneclaw_core.types.model_requests import ReasoningDelta, TextDelta


def events_of(*chunks):
    answer = ChatAnswer("http://a")
    return answer, [event for each in chunks for event in answer.add(each)]


def answer_to(*chunks):
    answer, events = events_of(*chunks)
    return answer, "".join(event.text for event in events if isinstance(event, TextDelta))


def fragment(arguments=None, *, name=None, **more):
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {"function": function} | more


def calls_of(*deltas, reason="tool_calls"):
    answer, _ = answer_to(*(chunk({"tool_calls": list(delta)}) for delta in deltas), chunk({}, reason))
    return [(call.id, call.name, call.arguments) for call in answer.response().tool_calls]


def test_text_is_shown_as_it_comes():
    answer, shown = answer_to(chunk({"role": "assistant"}), chunk({"content": "Hel"}), chunk({"content": "lo"}, "stop"))
    assert shown == "Hello"
    assert answer.is_complete
    assert (answer.response().text, answer.response().stop_reason) == ("Hello", "complete")


def test_a_refusal_and_text_parts_are_text_thinking_parts_are_not():
    parts = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Yes."}, "?", {"type": "text", "text": 3}]
    answer, shown = answer_to(chunk({"content": parts}), chunk({"refusal": " I will not."}, "stop"))
    assert shown == answer.response().text == "Yes. I will not."


def test_fragments_of_parallel_calls_are_joined_by_index():
    assert calls_of(
        [fragment("", name="a", index=0, id="x")],
        [fragment("", name="b", index=1, id="y")],
        [fragment('{"n"', index=0), fragment('{"m":', index=1)],
        [fragment(":1}", index=0)],
        [fragment("2}", index=1)],
    ) == [("x", "a", '{"n":1}'), ("y", "b", '{"m":2}')]


def test_another_id_at_the_same_index_is_another_call():
    assert calls_of(
        [fragment('{"n":1}', name="a", index=0, id="x")],
        [fragment('{"n":', name="a", index=0, id="y")],
        [fragment("2}", index=0)],
    ) == [("x", "a", '{"n":1}'), ("y", "a", '{"n":2}')]


def test_an_id_and_a_name_repeated_in_each_fragment_are_one_call():
    assert calls_of([fragment('{"n"', name="a", index=0, id="x")], [fragment(":1}", name="a", index=0, id="x")]) == [
        ("x", "a", '{"n":1}')
    ]


def test_a_name_repeated_in_each_fragment_without_id_is_one_call():
    found = calls_of([fragment('{"n"', name="a", index=0)], [fragment(":1}", name="a", index=0)])
    assert [(name, arguments) for _, name, arguments in found] == [("a", '{"n":1}')]


def test_fragments_without_index_belong_to_the_call_of_their_id_or_to_the_last():
    assert calls_of(
        [fragment('{"n":', name="a", id="x"), fragment("{", name="b", id="y")],
        [fragment("}")],
        [fragment("1}", id="x")],
    ) == [("x", "a", '{"n":1}'), ("y", "b", "{}")]


def test_whole_calls_without_ids_at_one_index_are_told_apart_and_get_ids():
    found = calls_of([fragment("{}", name="a", index=0)], [fragment('{"n":1}', name="b", index=0)])
    assert [(name, arguments) for _, name, arguments in found] == [("a", "{}"), ("b", '{"n":1}')]
    ids = [call_id for call_id, *_ in found]
    assert len(set(ids)) == 2
    assert all(call_id.startswith("call_") and len(call_id) == 37 for call_id in ids)


def test_a_repeated_id_is_replaced():
    found = calls_of([fragment("{}", name="a", index=0, id="x")], [fragment("{}", name="b", index=1, id="x")])
    assert found[0][0] == "x"
    assert found[1][0] not in ("", "x")


def test_empty_arguments_are_an_empty_object_and_malformed_ones_stay_as_they_are():
    assert calls_of([fragment(name="a", index=0, id="x")], [fragment("{oops", name="b", index=1, id="y")]) == [
        ("x", "a", "{}"),
        ("y", "b", "{oops"),
    ]


WHOLE = '{"n": 1}'


@pytest.mark.parametrize(
    "deltas",
    [
        [[fragment("{}", name="a", index=0, id="x")], [fragment(WHOLE[:3], index=0)], [fragment(WHOLE[3:], index=0)]],
        [[fragment(WHOLE[:n], name="a", index=0, id="x")] for n in (3, 6, 8)],
        [[fragment(WHOLE, name="a", index=0, id="x")]] * 2,
        [[fragment(WHOLE, name="a", index=0, id="x")], [fragment("", name="a", index=0, id="y")]],
        [[fragment(WHOLE[:3], name="a", index=0, id="x")], [fragment(WHOLE[3:], name="a", index=0, id="y")]],
        [[fragment(index=0, id="x")], [fragment(name="a", index=0)], [fragment(WHOLE, index=0)]],
        [[fragment(WHOLE, name="a", index="0", id="x")], [fragment(index=1), fragment("", index=2)]],
    ],
    ids=["placeholder", "all so far", "twice", "echo", "new ids", "id first", "nothing more"],
)
def test_a_call_is_told_by_its_place_and_its_name(deltas):
    assert calls_of(*deltas) == [("x", "a", WHOLE)]


def test_messages_may_come_in_place_of_deltas():
    words = ["The ", "sky ", "is blue."]
    messages = [{"choices": [{"index": 0, "message": {"content": each}}]} for each in words]
    messages[-1]["choices"][0]["finish_reason"] = "stop"
    answer, shown = answer_to(*messages)
    assert (shown, answer.response().text) == ("The sky is blue.",) * 2
    assert not answer_to(*messages[:2])[0].is_complete


def test_counts_of_nothing_replace_no_others():
    counts = ({"prompt_tokens": 12, "completion_tokens": 0}, {"prompt_tokens": 0, "completion_tokens": 3})
    answer, _ = answer_to(chunk(usage=counts[0]), chunk({"content": "x"}, "stop"), chunk(usage=counts[1]))
    assert answer.response().usage == TokenUsage(input_tokens=12, output_tokens=3)


def test_calls_run_whatever_reason_a_server_gives_for_the_end():
    assert calls_of([fragment(WHOLE, name="a", index=0, id="x")], reason="stop") == [("x", "a", WHOLE)]


def test_arguments_that_are_an_object_are_written_as_json():
    assert calls_of([fragment({"n": "ä"}, name="a", index=0, id="x")]) == [("x", "a", '{"n":"ä"}')]


@pytest.mark.parametrize("arguments", ['{"path": "/etc', ""])
def test_a_call_that_a_content_filter_cut_is_never_given_out(arguments):
    with pytest.raises(AnswerCutError):
        calls_of([fragment(arguments, name="a", index=0, id="x")], reason="content_filter")


@pytest.mark.parametrize(("arguments", "came"), [('{"path": "/etc', '{"path": "/etc'), ("", "{}")])
def test_a_call_that_the_token_limit_cut_is_told_beside_the_others(arguments, came):
    fragments = [fragment("{}", name="a", index=0, id="x"), fragment(arguments, name="b", index=1, id="y")]
    answer, _ = answer_to(chunk({"content": "Both.", "tool_calls": fragments}), chunk({}, "length"))
    response = answer.response()
    assert (response.text, response.stop_reason) == ("Both.", "length_limit")
    assert response.tool_calls == (ToolCall("x", "a", "{}"),)
    assert response.cut_calls == (ToolCall("y", "b", came),)


@pytest.mark.parametrize("arguments", ['{"path": "/etc', ""])
def test_a_call_that_is_not_whole_is_not_given_out_when_the_stream_ends_without_a_reason(arguments):
    answer, _ = answer_to(chunk({"tool_calls": [fragment(arguments, name="a", index=0, id="x")]}), END_OF_STREAM)
    with pytest.raises(AnswerCutError, match="the end of the stream"):
        answer.response()


def test_whole_calls_before_the_token_limit_are_kept():
    assert calls_of([fragment("{}", name="a", index=0, id="x")], reason="length") == [("x", "a", "{}")]


def test_a_whole_body_of_a_server_that_does_not_stream():
    message = {
        "role": "assistant",
        "content": "Look:",
        "tool_calls": [fragment("{}", name="a"), fragment('{"n":1}', name="b", id="y")],
    }
    answer, shown = answer_to(
        {"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 5}}
    )
    assert answer.is_complete
    response = answer.response()
    assert (shown, response.text) == ("Look:", "Look:")
    assert [(call.name, call.arguments) for call in response.tool_calls] == [("a", "{}"), ("b", '{"n":1}')]
    assert response.usage == TokenUsage(input_tokens=5)


def test_usage_comes_in_a_chunk_without_choices():
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 6},
        "completion_tokens_details": {"reasoning_tokens": 15},
    }
    answer, _ = answer_to(chunk({"content": "x"}, "stop"), chunk(usage=usage), chunk(usage=None))
    assert answer.response().usage == TokenUsage(
        input_tokens=10, cached_input_tokens=4, cache_write_tokens=6, output_tokens=20, reasoning_tokens=15
    )


def test_usage_that_makes_no_sense_counts_as_not_said():
    usage = {
        "prompt_tokens": -1,
        "completion_tokens": "9",
        "prompt_tokens_details": [],
        "prompt_cache_hit_tokens": True,
    }
    answer, _ = answer_to(chunk({}, "stop"), chunk(usage=usage))
    assert answer.response().usage == TokenUsage()


def test_only_the_end_of_stream_completes_an_answer_without_reason():
    answer, _ = answer_to(chunk({"content": "x"}), chunk({"content": "y"}, ""))
    assert not answer.is_complete
    answer.add(END_OF_STREAM)
    assert answer.is_complete
    assert answer.response().stop_reason == "complete"


@pytest.mark.parametrize(
    ("word", "stop_reason"),
    [
        ("stop", "complete"),
        ("tool_calls", "complete"),
        ("eos", "complete"),  # one of the many words that servers have for an end like any other
        ("length", "length_limit"),
        ("MAX_TOKENS", "length_limit"),
        ("model_length", "length_limit"),
        ("content_filter", "content_filter"),
        ("error", "other"),
        ("insufficient_system_resource", "other"),
    ],
)
def test_an_answer_says_why_it_ends_in_the_same_words_whatever_the_server(word, stop_reason):
    answer, _ = answer_to(chunk({"content": "Half of"}), chunk({}, word))
    assert answer.is_complete
    assert (answer.response().text, answer.response().stop_reason) == ("Half of", stop_reason)


def test_a_refusal_is_the_text_and_the_reason():
    answer, shown = answer_to(chunk({"refusal": "I will"}), chunk({"refusal": " not."}), chunk({}, "stop"))
    assert (shown, answer.response().text, answer.response().stop_reason) == ("I will not.", "I will not.", "refusal")
    answer, _ = answer_to(chunk({"refusal": "I will"}), chunk({}, "length"))
    assert answer.response().stop_reason == "length_limit"


def test_reasoning_is_kept_for_the_server_that_sent_it():
    answer, shown = answer_to(
        chunk({"reasoning_content": "Let me ", "reasoning": "Let me "}),
        chunk({"reasoning_content": "see.", "reasoning": "see."}),
        chunk({"content": "4"}, "stop"),
    )
    assert shown == "4"
    assert answer.response().provider_data == {
        "openai_compatible": {"server": "http://a", "reasoning_content": "Let me see."}
    }


def test_a_character_of_the_reasoning_that_comes_in_two_halves_goes_back_as_one():
    halves = (chunk({"reasoning_content": "Hm \ud83d"}), chunk({"reasoning_content": "\ude00"}))
    answer, _ = answer_to(*halves, chunk({"content": "4"}, "stop"))
    assert answer.response().provider_data["openai_compatible"]["reasoning_content"] == "Hm \U0001f600"


@pytest.mark.parametrize(
    "said",
    [
        {"reasoning_content": "Hm. "},
        {"reasoning": "Hm. "},
        {"reasoning_content": "Hm. ", "reasoning": "Hm. "},
        {"reasoning": "Hm. ", "reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "Hm. "}]},
        {"reasoning_details": [{"type": "reasoning.summary", "index": 0, "summary": "Hm. "}]},
    ],
)
def test_reasoning_is_shown_once_and_before_the_text_of_the_same_chunk(said):
    _, events = events_of(chunk(said), chunk(said | {"content": "4"}, "stop"))
    assert events == [ReasoningDelta("Hm. "), ReasoningDelta("Hm. "), TextDelta("4")]


THINK_BLOCKS = {
    "<think>\nHm. 2 < 3.\n</think>\n\n4": ("\nHm. 2 < 3.\n", "4"),
    "\n<thinking>Hm.</thinking>4": ("Hm.", "4"),
    "<think>\n\n</think>\n\n4": ("\n\n", "4"),
    "<think>a</think>\n<think>b</think>4": ("ab", "4"),
    "<think>Without end </th": ("Without end </th", ""),
    "<think>Nothing to say</think>\n": ("Nothing to say", ""),
    "Write <think>like this</think>.": ("", "Write <think>like this</think>."),
    "<thin": ("", "<thin"),
    " <b>4</b>": ("", " <b>4</b>"),
    "<thinker>4": ("", "<thinker>4"),
}


@pytest.mark.parametrize("content", THINK_BLOCKS)
@pytest.mark.parametrize("size", [1, 3, 100])
def test_thoughts_in_the_text_are_reasoning_however_they_are_cut(content, size):
    pieces = [content[place : place + size] for place in range(0, len(content), size)]
    answer, events = events_of(*(chunk({"content": each}) for each in pieces), chunk({}, "stop"))

    thoughts, text = THINK_BLOCKS[content]
    assert "".join(event.text for event in events if isinstance(event, ReasoningDelta)) == thoughts
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == answer.response().text == text


def test_a_whole_body_with_thoughts_in_the_text():
    answer, events = events_of({"choices": [{"message": {"content": "<think>Hm.</think>4"}, "finish_reason": "stop"}]})

    assert events == [ReasoningDelta("Hm."), TextDelta("4")]
    assert answer.response().text == "4"


def test_encrypted_reasoning_is_kept_but_not_shown():
    answer, events = events_of(chunk({"reasoning_details": [{"type": "reasoning.encrypted", "data": "AA"}]}, "stop"))
    assert events == []
    assert answer.response().provider_data["openai_compatible"]["reasoning_details"][0]["data"] == "AA"


def test_characters_of_reasoning_split_between_chunks_are_whole():
    halves = [json.loads(f'"{half}"') for half in ("a\\ud83d", "\\ude42b")]
    _, events = events_of(*(chunk({"reasoning": half}) for half in halves))
    assert [event.text for event in events] == ["a", "🙂b"]


def test_reasoning_details_are_joined_piece_by_piece():
    pieces = [
        {"type": "reasoning.text", "index": 0, "text": "Let ", "signature": None},
        {"type": "reasoning.text", "index": 0, "text": "me", "signature": "sig"},
        {"type": "reasoning.encrypted", "index": 1, "data": "AA"},
    ]
    chunks = [chunk({"reasoning": "Let me", "reasoning_details": [piece]}) for piece in pieces]
    answer, _ = answer_to(*chunks, chunk({}, "stop"))
    assert answer.response().provider_data == {
        "openai_compatible": {
            "server": "http://a",
            "reasoning_details": [
                {"type": "reasoning.text", "index": 0, "text": "Let me", "signature": "sig"},
                {"type": "reasoning.encrypted", "index": 1, "data": "AA"},
            ],
        }
    }
    assert pieces[0]["text"] == "Let "


def test_characters_split_between_chunks_are_whole_and_lone_halves_are_replaced():
    halves = [json.loads(f'"{half}"') for half in ("a\\ud83d", "\\ude42b", "\\ud83d")]
    answer, shown = answer_to(*(chunk({"content": half}) for half in halves), chunk({}, "stop"))
    assert shown == "a🙂b"
    assert answer.response().text == "a🙂b\ufffd"


# A busy machine is no fault of the code.
patient = settings(deadline=None, max_examples=examples(30), suppress_health_check=[HealthCheck.too_slow])

WORDS = """choices delta message tool_calls function arguments name id index content refusal usage finish_reason
reasoning reasoning_details prompt_tokens text type"""
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS.split()), inner, max_size=4),
    max_leaves=20,
)


@patient
@given(st.lists(st.dictionaries(st.sampled_from(["choices", "usage", "x"]), json_values), max_size=4))
def test_no_chunk_breaks_the_answer(chunks):
    answer, shown = answer_to(*chunks)
    try:
        response = answer.response()
    except AnswerCutError:
        return
    assert response.text.startswith(shown)
    assert len({call.id for call in response.tool_calls}) == len(response.tool_calls)
