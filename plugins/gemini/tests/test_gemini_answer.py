import json

import pytest
from gemini_types import checked_gemini_chunk, without_none
from how_long import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from oneclaw_gemini.answer import GeminiAnswer
from oneclaw_gemini.contents import is_acceptable
from oneclaw_http_providers.answer import AnswerCutError, AnswerGarbledError
from oneclaw_http_providers.retry import AttemptFailed

from oneclaw_core.errors import ProviderRequestError, ProviderUnavailableError, UnreadableCallError
from oneclaw_core.types.messages import TokenUsage
from oneclaw_core.types.model_requests import ReasoningDelta, TextDelta

SERVER = "https://gemini.test"


def written(*parts, reason=None, usage=None, **candidate):
    content = {"role": "model", "parts": list(parts)}
    return without_none(
        {"candidates": [{"content": content, "finishReason": reason} | candidate], "usageMetadata": usage}
    )


def chunk(*parts, **more):
    """One chunk, which the vendor's own types take, so that no test invents a field."""
    return checked_gemini_chunk(written(*parts, **more))


def text(content, **more):
    return {"text": content} | more


def call(name="find", call_id=None, signature=None, **args):
    part = {"functionCall": {"name": name, "args": args} | ({"id": call_id} if call_id else {})}
    return part | ({"thoughtSignature": signature} if signature else {})


def answer_to(*chunks):
    answer = GeminiAnswer(SERVER, "gemini")
    events = [event for each in chunks for event in answer.add(each)]
    return answer, events


def response_to(*chunks):
    return answer_to(*chunks)[0].response()


def failure_of(*chunks):
    answer, _ = answer_to(*chunks)
    assert answer.is_complete
    with pytest.raises(AttemptFailed) as caught:
        answer.response()
    message = str(caught.value.error)
    assert message.startswith("gemini ")
    assert message.isprintable()
    return caught.value, message


def echoed(response):
    assert response.provider_data["gemini"]["server"] == SERVER
    return response.provider_data["gemini"]["parts"]


# Text and thoughts


@pytest.mark.long
def test_text_is_shown_as_it_comes_and_needs_no_echo():
    answer, events = answer_to(chunk(text("The capital")), chunk(text(" is Paris.")), chunk(text(""), reason="STOP"))
    assert events == [TextDelta("The capital"), TextDelta(" is Paris.")]
    assert answer.is_complete
    response = answer.response()
    assert (response.text, response.stop_reason, response.provider_data) == ("The capital is Paris.", "complete", None)


def test_thoughts_are_shown_as_thoughts_and_are_no_text():
    answer, events = answer_to(
        chunk(text("**Plan** ", thought=True), text("look", thought=True)), chunk(text("Done."), reason="STOP")
    )
    assert events == [ReasoningDelta("**Plan** "), ReasoningDelta("look"), TextDelta("Done.")]
    assert answer.response().text == "Done."


def test_parts_with_signatures_are_kept_apart_and_in_their_places():
    response = response_to(
        chunk(text("a", thought=True)),
        chunk(text("b", thought=True)),
        chunk(text("c")),
        chunk(text("d")),
        chunk(text("e", thoughtSignature="c2ln")),
        chunk(text("f")),
        chunk(text("")),
        chunk(text("", thoughtSignature="ZW5k"), reason="STOP"),
    )
    assert response.text == "cdef"
    assert echoed(response) == [
        text("ab", thought=True),
        text("cd"),
        text("e", thoughtSignature="c2ln"),
        text("f"),
        text("", thoughtSignature="ZW5k"),
    ]


def test_parts_of_other_kinds_go_back_as_they_came():
    code = {"executableCode": {"code": "1+1", "language": "PYTHON"}}
    assert echoed(response_to(chunk(code), chunk(text("2"), reason="STOP"))) == [code, text("2")]


def test_other_candidates_are_passed_over():
    other = {"index": 1, "content": {"parts": [text("no")]}, "finishReason": "STOP"}
    answer, events = answer_to(
        {"candidates": [other, {"index": 0, "content": {"parts": [text("yes")]}}]}, {"candidates": [other]}
    )
    assert events == [TextDelta("yes")]
    assert not answer.is_complete


def test_lone_surrogates_and_nul_are_replaced():
    _, events = answer_to({"candidates": [{"content": {"parts": [text("a\ud83d\x00")]}}]})
    assert events == [TextDelta("a?\ufffd")]


# Calls


def test_a_call_comes_whole_and_its_signature_goes_back():
    # As recorded: the call in one chunk, an empty text with the reason in the next.
    response = response_to(
        chunk(call("get_country", signature="RXB3SQ==", place="Mexico")), chunk(text(""), reason="STOP")
    )
    [found] = response.tool_calls
    assert (found.name, json.loads(found.arguments)) == ("get_country", {"place": "Mexico"})
    assert found.id.startswith("call_")
    assert echoed(response) == [call("get_country", signature="RXB3SQ==", place="Mexico")]


def test_parallel_calls_keep_the_ids_the_service_gave_and_get_one_where_it_gave_none():
    response = response_to(chunk(call("a", "x", "c2ln"), call("b")), chunk(call("b"), call("c", "y"), reason="STOP"))
    ids = [each.id for each in response.tool_calls]
    assert [each.name for each in response.tool_calls] == ["a", "b", "b", "c"]
    assert (ids[0], ids[3]) == ("x", "y")
    assert len(set(ids)) == 4
    assert echoed(response) == [call("a", "x", "c2ln"), call("b"), call("b"), call("c", "y")]


def test_a_call_repeated_under_its_id_is_run_once():
    response = response_to(chunk(call("rm", "x", path="a")), chunk(call("rm", "x", path="a"), reason="STOP"))
    assert len(response.tool_calls) == 1
    assert echoed(response) == [call("rm", "x", path="a")]


def test_two_calls_under_one_id_are_two_calls_that_do_not_go_back_as_they_came():
    response = response_to(chunk(call("rm", "x", path="a")), chunk(call("rm", "x", path="b"), reason="STOP"))
    assert [json.loads(each.arguments)["path"] for each in response.tool_calls] == ["a", "b"]
    assert len({each.id for each in response.tool_calls}) == 2
    assert response.provider_data is None


@pytest.mark.parametrize(
    "fault",
    [
        {"args": {}},
        {"name": "", "args": {}},
        {"name": "rm -rf"},
        {"name": 7},
        {"name": "find", "args": ["x"]},
        {"name": "find", "args": {"x": float("inf")}},
        {"name": "find", "args": {"x": "\ud83d"}},
        {"name": "find", "id": 5},
    ],
)
def test_a_call_that_the_service_would_not_take_back_is_given_out_and_does_not_go_back(fault):
    answer, _ = answer_to({"candidates": [{"content": {"parts": [{"functionCall": fault}]}, "finishReason": "STOP"}]})
    response = answer.response()
    assert len(response.tool_calls) == 1
    assert response.tool_calls[0].arguments.encode()
    assert response.provider_data is None


def test_a_call_nested_too_deeply_is_refused():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(AnswerGarbledError):
        answer_to({"candidates": [{"content": {"parts": [{"functionCall": {"name": "a", "args": {"x": deep}}}]}}]})


PIECE = {"functionCall": {"name": "rm", "partialArgs": [{"jsonPath": "$.path", "stringValue": "/ho"}]}}


def test_a_call_in_pieces_is_never_given_out():
    answer, _ = answer_to(chunk(text("I remove it.")), chunk(PIECE, reason="STOP"))
    with pytest.raises(AnswerCutError, match="the service"):
        answer.response()


def test_a_call_in_pieces_that_the_token_limit_cut_is_told_beside_the_others():
    more = {"functionCall": {"willContinue": True, "partialArgs": []}}
    response = response_to(chunk(text("I remove it."), call()), chunk(PIECE), chunk(more, reason="MAX_TOKENS"))
    assert (response.text, len(response.tool_calls)) == ("I remove it.", 1)
    assert [each.name for each in response.cut_calls] == ["rm"]


# Ends


def test_without_a_reason_an_answer_is_not_complete():
    answer, _ = answer_to(chunk(call()), {"usageMetadata": {"promptTokenCount": 1}})
    assert answer.has_begun
    assert not answer.is_complete


def test_an_end_that_comes_too_early_is_none():
    too_early = {"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}]}
    answer, _ = answer_to(too_early)
    assert not answer.is_complete
    answer.add(chunk(text("Hello")))
    assert not answer.is_complete
    answer.add(too_early)
    assert answer.is_complete
    assert answer.response().text == "Hello"


@pytest.mark.parametrize(
    ("reason", "stop_reason"),
    [
        ("MAX_TOKENS", "length_limit"),
        ("SAFETY", "content_filter"),
        ("RECITATION", "content_filter"),
        ("OTHER", "other"),
        ("NEW_IN_2027", "other"),
    ],
)
def test_what_was_said_before_the_model_was_stopped_is_the_answer(reason, stop_reason):
    answer, _ = answer_to(
        {"candidates": [{"content": {"parts": [text("Half of"), call()]}}]}, {"candidates": [{"finishReason": reason}]}
    )
    response = answer.response()
    assert (response.text, response.stop_reason, len(response.tool_calls)) == ("Half of", stop_reason, 1)


@pytest.mark.parametrize("reason", ["SAFETY", "PROHIBITED_CONTENT", "SPII", "BLOCKLIST", "RECITATION", "LANGUAGE", "X"])
def test_a_model_stopped_before_it_said_anything_is_an_error_with_the_reason(reason):
    failure, message = failure_of({"candidates": [{"finishReason": reason}]})
    assert f"({reason})" in message
    assert type(failure.error) is ProviderRequestError
    assert not failure.is_retryable


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"])
def test_a_call_that_went_wrong_is_worth_another_try_and_gives_out_no_other(reason):
    failure, message = failure_of(chunk(text("I look."), call()), chunk(reason=reason, finishMessage="\x1b secret"))
    assert f"({reason})" in message
    assert "secret" not in message
    assert isinstance(failure.error, ProviderUnavailableError)
    # The turn asks again for a call, and tells the model so.
    assert failure.is_retryable == (reason == "MALFORMED_RESPONSE")
    assert isinstance(failure.error, UnreadableCallError) == (reason != "MALFORMED_RESPONSE")


@pytest.mark.parametrize("reason", ["TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE"])
def test_a_fault_of_the_request_is_not_tried_again(reason):
    failure, message = failure_of({"candidates": [{"finishReason": reason}]})
    assert f"({reason})" in message
    assert not failure.is_retryable


@pytest.mark.parametrize(("reason", "stop_reason"), [("STOP", "complete"), ("MAX_TOKENS", "length_limit")])
def test_an_answer_of_nothing_is_an_empty_one(reason, stop_reason):
    for parts in ([text("")], [text(" \n")], [text("hm", thought=True)]):
        response = response_to(chunk(*parts, reason=reason))
        assert (response.text.strip(), response.tool_calls) == ("", ())
        assert (response.stop_reason, response.finish_reason) == (stop_reason, reason)


def test_a_refused_conversation_is_said_to_be_refused():
    failure, message = failure_of({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {}})
    assert "refuses the conversation (PROHIBITED_CONTENT)" in message
    assert not failure.is_retryable


@pytest.mark.parametrize("reason", ["\x1b[31m", "x" * 999, ["SAFETY"], "STOP NOW"])
def test_a_reason_that_is_no_word_is_not_shown(reason):
    _, message = failure_of({"candidates": [{"finishReason": reason}]})
    assert "unknown reason" in message


# Token counts


def test_counts_are_the_last_ones_said_of_each_kind():
    response = response_to(
        chunk(text("a"), usage={"promptTokenCount": 55, "thoughtsTokenCount": 202, "cachedContentTokenCount": 40}),
        chunk(text("b"), reason="STOP", usage={"promptTokenCount": 257, "candidatesTokenCount": 8}),
    )
    assert response.usage == TokenUsage(
        input_tokens=257, cached_input_tokens=40, output_tokens=210, reasoning_tokens=202
    )


def test_tokens_of_the_services_own_tools_are_input():
    response = response_to(chunk(text("a"), reason="STOP", usage={"promptTokenCount": 5, "toolUsePromptTokenCount": 7}))
    assert response.usage == TokenUsage(input_tokens=12)


@pytest.mark.parametrize(
    "usage", [None, [], {"promptTokenCount": "5"}, {"promptTokenCount": -1}, {"promptTokenCount": True}]
)
def test_counts_that_are_none_are_unknown(usage):
    answer, _ = answer_to(chunk(text("a"), reason="STOP") | {"usageMetadata": usage})
    assert answer.response().usage == TokenUsage()


# Broken streams


WHOLE = [
    written(text("hm", thought=True)),
    written(text("I look. ")),
    written(call("find", "c1", "c2ln", q="ä"), call("read", path="x")),
    written(call("find", "c2", q="b")),
    written(text(""), reason="STOP", usage={"promptTokenCount": 3}),
]
CALLS = {("find", '{"q":"ä"}'), ("read", '{"path":"x"}'), ("find", '{"q":"b"}')}
KEYS = (
    *("candidates", "content", "parts", "text", "thought", "thoughtSignature", "functionCall", "name", "args", "id"),
    *("index", "finishReason", "usageMetadata", "promptFeedback", "blockReason"),
)
GARBAGE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)
GARBLED_CHUNKS = st.dictionaries(st.sampled_from(["candidates", "usageMetadata", "promptFeedback"]), GARBAGE)


def test_the_whole_stream_is_one_that_gemini_sends():
    for each in WHOLE:
        checked_gemini_chunk(each)


def outcome(chunks):
    """What comes of a stream: the response, or nothing where the stream is no complete answer."""
    answer, events = answer_to(*chunks)
    if not answer.is_complete:
        return None
    try:
        response = answer.response()
    except (AttemptFailed, AnswerCutError):
        return None
    assert response.text == "".join(event.text for event in events if isinstance(event, TextDelta))
    assert len({each.id for each in response.tool_calls}) == len(response.tool_calls)
    for part in response.provider_data["gemini"]["parts"] if response.provider_data else ():
        assert is_acceptable(part)
        json.dumps(part, allow_nan=False).encode()
    return response


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.integers(0, len(WHOLE) - 1), max_size=9))
def test_chunks_lost_repeated_or_out_of_order_never_make_up_a_call(places):
    response = outcome([WHOLE[place] for place in places])
    if response is not None:
        found = [(each.name, each.arguments) for each in response.tool_calls]
        assert set(found) <= CALLS
        assert found.count(("find", '{"q":"ä"}')) <= 1


@pytest.mark.long
@settings(max_examples=examples(40), deadline=None)
@given(st.lists(GARBLED_CHUNKS, max_size=3), st.booleans())
def test_garbage_is_an_error_or_an_answer_but_never_a_crash(chunks, is_ended):
    outcome([*chunks, *([chunk(text("x"), reason="STOP")] if is_ended else [])])


@settings(max_examples=examples(30), deadline=None)
@given(GARBAGE)
def test_garbage_in_the_place_of_parts_is_passed_over(garbage):
    for part in ({"functionCall": garbage}, {"text": garbage}, garbage):
        outcome([{"candidates": [{"content": {"parts": [part]}}]}, chunk(text("x"), reason="STOP")])
