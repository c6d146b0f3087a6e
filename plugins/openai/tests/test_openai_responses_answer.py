import pytest
from how_long import examples
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from oneclaw_http_providers.answer import END_OF_STREAM, AnswerCutError, AnswerFailedError
from oneclaw_openai.responses_answer import ResponsesAnswer
from responses_stream import call, message, reasoning, response, stream

from oneclaw_core.types.messages import TokenUsage, ToolCall
from oneclaw_core.types.model_requests import ReasoningDelta, TextDelta

FIND = call("find", {"q": "ä"}, call_id="call_a")
READ = call("read", '{"path": "x"}', call_id="call_b", namespace="read")


def answer_to(events):
    answer = ResponsesAnswer("http://a")
    shown = [event for each in events for event in answer.add(each)]
    return answer, shown


def texts_of(shown, kind=TextDelta):
    return [event.text for event in shown if isinstance(event, kind)]


def without(events, *kinds):
    return [event for event in events if event["type"] not in kinds]


def calls_of(events):
    answer, _ = answer_to(events)
    assert answer.is_complete
    return [(each.id, each.name, each.arguments) for each in answer.response().tool_calls]


def test_text_is_shown_as_it_comes():
    answer, shown = answer_to(stream(message("Hello")))
    assert texts_of(shown) == ["He", "llo"]
    assert answer.is_complete
    assert (answer.response().text, answer.response().stop_reason) == ("Hello", "complete")


def test_a_refusal_is_text():
    answer, shown = answer_to(stream(message("I will not.", refusal=True)))
    assert "".join(texts_of(shown)) == answer.response().text == "I will not."


def test_messages_of_one_answer_are_paragraphs():
    items = message("I look.", phase="commentary"), message("Done.", item_id="msg_2", phase="final_answer")
    answer, shown = answer_to(stream(*items))
    assert "".join(texts_of(shown)) == answer.response().text == "I look.\n\nDone."


def test_summaries_of_reasoning_are_shown_and_are_no_text():
    answer, shown = answer_to(stream(reasoning("First.", "Then."), message("4")))
    assert "".join(texts_of(shown, ReasoningDelta)) == "First.\n\nThen."
    assert answer.response().text == "4"


def test_reasoning_that_is_shown_as_it_is():
    _, shown = answer_to([{"type": "response.reasoning_text.delta", "delta": "Hm"}])
    assert shown == [ReasoningDelta("Hm")]


@pytest.mark.parametrize("is_listed", [True, False])
def test_parallel_calls_come_whole_and_in_order(is_listed):
    assert calls_of(stream(reasoning(), FIND, READ, is_listed=is_listed)) == [
        ("call_a", "find", '{"q": "\\u00e4"}'),
        ("call_b", "read", '{"path": "x"}'),
    ]


def test_the_done_item_is_believed_and_not_the_fragments():
    events = stream(FIND, is_listed=False)
    for event in events:
        if event["type"] == "response.function_call_arguments.delta":
            event["delta"] = "?"
    assert calls_of(events) == [("call_a", "find", '{"q": "\\u00e4"}')]


def test_all_items_are_kept_to_be_sent_back_as_they_are_done():
    items = [reasoning("Hm.", encrypted="gAAAA-whole"), message("I look.", phase="commentary"), FIND, READ]
    answer, _ = answer_to(stream(*items, is_listed=False))
    assert answer.response().provider_data == {"openai": {"server": "http://a", "output": items}}


def test_an_item_is_believed_as_it_was_done_and_not_as_the_list_at_the_end_has_it():
    events = stream(reasoning(encrypted="gAAAA-whole"), FIND)
    events[-1]["response"]["output"] = [reasoning(encrypted="gA"), FIND]
    answer, _ = answer_to(events)
    assert answer.response().provider_data["openai"]["output"][0]["encrypted_content"] == "gAAAA-whole"


def test_an_answer_without_items_keeps_nothing():
    answer, _ = answer_to(stream())
    assert answer.response().provider_data is None


def test_usage_is_counted_with_what_the_cache_did():
    answer, _ = answer_to(stream(message("x")))
    assert answer.response().usage == TokenUsage(
        input_tokens=100, cached_input_tokens=64, cache_write_tokens=32, output_tokens=20, reasoning_tokens=15
    )


def test_usage_that_makes_no_sense_counts_as_not_said():
    usage = {"input_tokens": -1, "output_tokens": True, "input_tokens_details": [], "output_tokens_details": None}
    for nonsense in (usage, [], None):
        answer, _ = answer_to([{"type": "response.completed", "response": {"usage": nonsense}}])
        assert answer.response().usage == TokenUsage()


def test_a_whole_body_of_a_server_that_does_not_stream():
    answer, shown = answer_to([response(message("Look:"), FIND)])
    assert answer.is_complete
    assert texts_of(shown) == ["Look:"]
    assert (answer.response().text, answer.response().tool_calls[0].id) == ("Look:", "call_a")


def test_text_that_came_in_no_delta_is_shown_when_its_item_is_done_or_at_the_end():
    events = without(stream(message("Hello")), "response.output_text.delta")
    assert texts_of(answer_to(events)[1]) == ["Hello"]
    answer, shown = answer_to(events[-1:])
    assert texts_of(shown) == ["Hello"]
    assert answer.response().text == "Hello"


def test_a_lost_last_delta_is_made_up_for():
    events = stream(message("Hello"))
    events.pop(3)
    assert texts_of(answer_to(events)[1]) == ["He", "llo"]


def test_text_of_a_server_without_done_items_is_what_was_shown():
    events = without(stream(message("Hello"), is_listed=False), "response.output_item.done")
    answer, _ = answer_to(events)
    assert answer.response().text == "Hello"
    assert answer.response().provider_data is None


def test_lost_items_are_taken_from_the_list_at_the_end():
    assert len(calls_of(without(stream(FIND, READ), "response.output_item.done"))) == 2


def test_a_call_is_not_complete_before_it_is_done_even_if_its_fragments_could_be_read():
    events = without(stream(FIND, is_listed=False), "response.output_item.done")
    answer, _ = answer_to(events)
    assert not answer.is_complete
    answer.add({"type": "response.output_item.done", "output_index": 0, "item": FIND})
    assert answer.is_complete


def test_only_the_services_own_last_event_completes_an_answer():
    answer, _ = answer_to([*stream(message("Hello"))[:-1], END_OF_STREAM])
    assert not answer.is_complete


def cut_answers(reason):
    """Answers whose second call was cut, as servers tell it."""
    ending = {"status": "incomplete", "reason": reason}
    half = READ | {"arguments": '{"path": "/et', "status": "incomplete"}
    for events in (
        stream(FIND, half=READ, **ending),
        stream(FIND, half=READ, is_listed=False, **ending),
        stream(FIND, half, **ending),
        stream(FIND, half | {"status": "completed"}, is_listed=False, **ending),
        stream(FIND, half | {"arguments": ""}, **ending),
    ):
        answer, _ = answer_to(events)
        assert answer.is_complete
        yield answer


def test_a_call_that_a_content_filter_cut_is_never_given_out():
    for answer in cut_answers("content_filter"):
        with pytest.raises(AnswerCutError, match="filter"):
            answer.response()


def test_a_call_that_the_token_limit_cut_is_told_beside_the_others():
    for answer in cut_answers("max_output_tokens"):
        response = answer.response()
        assert [each.id for each in response.tool_calls] == [FIND["call_id"]]
        assert [(each.id, each.name) for each in response.cut_calls] == [(READ["call_id"], READ["name"])]
        # Sent back with the arguments of the history; a half would be refused.
        *_, sent_back = response.provider_data["openai"]["output"]
        assert sent_back == {"type": "function_call", "id": READ["id"], "name": "read", "namespace": "read"}


def test_a_call_that_is_said_to_be_incomplete_is_never_given_out():
    answer, _ = answer_to(stream(FIND | {"status": "incomplete"}))
    with pytest.raises(AnswerCutError, match="the service"):
        answer.response()


def test_whole_calls_and_text_before_the_token_limit_are_kept():
    answer, _ = answer_to(stream(message("Lo"), FIND, status="incomplete", reason="max_output_tokens"))
    found = answer.response()
    assert (found.text, len(found.tool_calls), found.stop_reason) == ("Lo", 1, "length_limit")


@pytest.mark.parametrize(
    ("reason", "stop_reason"), [("content_filter", "content_filter"), ("steered", "other"), (None, "other")]
)
def test_an_answer_that_is_incomplete_says_why(reason, stop_reason):
    answer, _ = answer_to(stream(message("Lo"), status="incomplete", reason=reason))
    assert (answer.response().text, answer.response().stop_reason) == ("Lo", stop_reason)


def test_a_refusal_is_the_text_and_the_reason():
    refused = message("") | {"content": [{"type": "refusal", "refusal": "I will not."}]}
    answer, _ = answer_to([{"type": "response.completed", "response": {"status": "completed", "output": [refused]}}])
    assert (answer.response().text, answer.response().stop_reason) == ("I will not.", "refusal")


def test_a_failed_answer_says_why():
    error = {"code": "server_error", "message": "The model crashed"}
    with pytest.raises(AnswerFailedError) as caught:
        answer_to(stream(message("Hel"), status="failed", error=error))
    assert caught.value.error == error


def test_a_prompt_that_the_service_refuses_is_told_from_a_fault_of_the_service():
    error = {"code": "invalid_prompt", "message": "No."}
    with pytest.raises(AnswerFailedError) as caught:
        answer_to(stream(status="failed", error=error))
    assert caught.value.error == error | {"type": "invalid_request_error"}


def test_an_error_event_ends_the_answer():
    with pytest.raises(AnswerFailedError) as caught:
        answer_to([{"type": "error", "code": "rate_limit_exceeded", "message": "Slow down", "param": None}])
    assert caught.value.error == {"code": "rate_limit_exceeded", "message": "Slow down"}


def test_missing_and_repeated_ids_are_replaced_and_arguments_may_be_an_object_or_nothing():
    items = [FIND, FIND | {"arguments": {"q": "ä"}}, FIND | {"call_id": "", "arguments": ""}]
    (first, *_), (second, _, written), (third, _, nothing) = calls_of([response(*items)])
    assert first == "call_a"
    assert len({first, second, third}) == 3
    assert all(each.startswith("call_") and len(each) == 37 for each in (second, third))
    assert (written, nothing) == ('{"q":"ä"}', "{}")


def test_characters_split_between_deltas_are_whole():
    events = stream(message("a🙂b"))
    events[2]["delta"], events[3]["delta"] = "a\ud83d", "\ude42b"
    answer, shown = answer_to(events)
    assert texts_of(shown) == ["a", "🙂b"]
    assert answer.response().text == "a🙂b"


def test_a_paragraph_may_begin_with_half_a_character():
    events = stream(message("One"), message("🙂b", item_id="msg_2"))
    second = [event for event in events if event["type"] == "response.output_text.delta"][2:]
    second[0]["delta"], second[1]["delta"] = "\ud83d", "\ude42b"
    answer, shown = answer_to(events)
    assert "".join(texts_of(shown)) == answer.response().text == "One\n\n🙂b"


# A busy machine is no fault of the code.
patient = settings(deadline=None, max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow])

SECRET = call("pay", {"amount": 1234}, call_id="call_c")
ITEMS = (reasoning("Hm.", "So."), message("I look 🙂.", phase="commentary"), FIND, READ, SECRET)
WHOLE = [
    ToolCall("call_a", "find", '{"q": "\\u00e4"}'),
    ToolCall("call_b", "read", '{"path": "x"}'),
    ToolCall("call_c", "pay", '{"amount": 1234}'),
]
LENGTH = len(stream(*ITEMS))


def outcome(events):
    """The response, or ``None`` where the answer counts as broken off."""
    answer, _ = answer_to(events)
    return answer.response() if answer.is_complete else None


@patient
@given(st.booleans(), st.integers(0, LENGTH - 1))
def test_a_truncated_stream_counts_as_broken_off(is_listed, end):
    assert outcome(stream(*ITEMS, is_listed=is_listed)[:end]) is None


@patient
@given(st.booleans(), st.lists(st.integers(1, 3), min_size=LENGTH, max_size=LENGTH))
def test_repeated_events_change_nothing(is_listed, times):
    events = stream(*ITEMS, is_listed=is_listed)
    repeated = [event for event, count in zip(events, times, strict=True) for _ in range(count)]
    assert outcome(repeated) == outcome(events)
    assert texts_of(answer_to(repeated)[1]) == texts_of(answer_to(events)[1])


@patient
@given(st.booleans(), st.permutations(range(LENGTH)))
def test_events_out_of_order_give_the_right_answer(is_listed, order):
    events = stream(*ITEMS, is_listed=is_listed)
    # What comes after the last event of an answer is not read for more than a moment, and then only for its counts.
    found = outcome([events[place] for place in order])
    assert found is not None
    assert found == outcome(events)


@patient
@given(st.booleans(), st.sets(st.integers(0, LENGTH - 2)))
@example(False, {LENGTH - 2})
def test_with_lost_events_every_call_that_is_given_out_is_whole(is_listed, lost):
    events = [event for place, event in enumerate(stream(*ITEMS, is_listed=is_listed)) if place not in lost]
    found = outcome(events)
    if found is None:
        assert not is_listed
        return
    assert set(found.tool_calls) <= set(WHOLE)
    if is_listed:
        assert list(found.tool_calls) == WHOLE


WORDS = (
    *("type", "response", "output", "item", "item_id", "output_index", "sequence_number", "delta", "arguments"),
    *("call_id", "name", "id", "status", "content", "text", "refusal", "usage", "input_tokens", "reason", "object"),
    *("incomplete_details", "function_call", "message", "completed", "incomplete"),
)
KINDS = sorted({event["type"] for event in stream(*ITEMS)} | {"response.incomplete", "response.refusal.delta", "x"})
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from([*WORDS, "", "\ud83d"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=20,
)
chunks = st.builds(
    lambda kind, rest: {**rest, "type": kind}, st.sampled_from(KINDS), st.dictionaries(st.sampled_from(WORDS), values)
)


@pytest.mark.long
@patient
@given(st.lists(chunks, max_size=6))
def test_no_event_breaks_the_answer(events):
    answer, shown = answer_to(events)
    if not answer.is_complete:
        return
    try:
        found = answer.response()
    except AnswerCutError:
        return
    assert all(isinstance(event, TextDelta | ReasoningDelta) and event.text for event in shown)
    assert len({each.id for each in found.tool_calls}) == len(found.tool_calls)


@patient
@given(st.data())
def test_garbled_fields_never_make_half_a_call(data):
    events = stream(*ITEMS, is_listed=data.draw(st.booleans()))
    for place in data.draw(st.sets(st.integers(0, LENGTH - 2), max_size=5)):
        key = data.draw(st.sampled_from(sorted(events[place])))
        if key != "item":  # what an item says when it is done is the service's word
            events[place] = events[place] | {key: data.draw(values)}
    try:
        found = outcome(events)
    except (AnswerCutError, AnswerFailedError):
        return
    if found is not None:
        assert {(each.name, each.arguments) for each in found.tool_calls} <= {
            (each.name, each.arguments) for each in WHOLE
        }


def test_items_are_told_apart_by_their_places_or_by_their_ids():
    events = stream(*ITEMS, is_listed=False)
    for missing in ("item_id", "output_index"):
        partial = [{key: value for key, value in event.items() if key != missing} for event in events]
        assert outcome(partial) == outcome(events)
