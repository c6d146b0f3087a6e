"""The estimate of what a request costs in tokens."""

from dataclasses import replace

import pytest

from oneclaw_core import Attachment, Message, MessageType, ToolCallStatus, ToolDefinition
from oneclaw_core.compaction.estimate import (
    TOKENS_PER_IMAGE,
    TOKENS_PER_PAGE,
    Estimator,
    attachment_tokens,
    definition_tokens,
    message_tokens,
    text_tokens,
)
from oneclaw_core.providers import ModelRequest
from oneclaw_core.tools import ActiveTools


def user(text="", **fields):
    return Message(type=MessageType.USER, content=text, **fields)


def assistant(text):
    return Message(type=MessageType.ASSISTANT, content=text)


def result(text, **fields):
    return Message(
        type=MessageType.TOOL_RESULT,
        content=text,
        tool_call_id="c",
        tool_name="echo",
        tool_status=ToolCallStatus.SUCCESS,
        **fields,
    )


def request(*messages, system_prompt="", tools=()):
    return ModelRequest(
        model="m", system_prompt=system_prompt, messages=messages, tools=ActiveTools(tuple(tools)), session_id="s"
    )


ECHO = ToolDefinition("echo", "Gives back a text.")


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("Grüße", 2), ("日本語です", 4), ("\ud800", 1)]
)
def test_a_text_is_estimated_from_its_bytes(text, tokens):
    assert text_tokens(text) == tokens


def test_every_part_of_a_request_counts():
    empty = Estimator().raw(request())
    assert empty == 0
    assert Estimator().raw(request(system_prompt="x" * 400)) == 100
    assert Estimator().raw(request(tools=[ECHO])) == definition_tokens(ECHO) > len(ECHO.description) / 4
    assert Estimator().raw(request(user("x" * 400))) >= 100
    whole = request(user("x" * 400), system_prompt="x" * 400, tools=[ECHO])
    assert Estimator().raw(whole) == 100 + definition_tokens(ECHO) + message_tokens(user("x" * 400))


@pytest.mark.parametrize(
    "longer",
    [
        {"content": "x" * 4000},
        {"tool_input": "x" * 4000},
        {"provider_data": {"anthropic": {"thinking": "x" * 4000}}},
        {"attachments": (Attachment("a.png", "image/png", b""),)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_all_that_a_message_carries_counts(longer):
    call = Message(type=MessageType.TOOL_CALL, tool_call_id="c", tool_name="echo", tool_input="{}")
    assert message_tokens(replace(call, **longer)) - message_tokens(call) >= 990


def test_what_a_wire_format_echoes_is_not_counted_beside_the_text_that_it_repeats():
    echoed = {"openai": {"output": [{"text": "x" * 4000}]}}
    message = Message(type=MessageType.ASSISTANT, content="x" * 4000, provider_data=echoed)
    assert message_tokens(message) == pytest.approx(1000, rel=0.03)


def test_of_a_long_result_only_what_is_shown_counts():
    assert message_tokens(result("x" * 40_000, shown_characters=400)) == message_tokens(result("x" * 400))


@pytest.mark.parametrize(
    ("media_type", "data", "tokens"),
    [
        ("image/png", b"x" * 5_000_000, TOKENS_PER_IMAGE),
        ("image/jpeg", b"", TOKENS_PER_IMAGE),
        ("text/plain", b"x" * 400, 100),
        (
            "application/pdf",
            b"<</Type /Pages/Count 2>> <</Type /Page>> <</Type/Page/Parent 1 0 R>>",
            2 * TOKENS_PER_PAGE,
        ),
        ("application/pdf", b"compressed", TOKENS_PER_PAGE),
        ("application/pdf", b"c" * 120_000, 3 * TOKENS_PER_PAGE),
    ],
)
def test_a_file_is_a_flat_figure_for_an_image_or_page(media_type, data, tokens):
    assert attachment_tokens(Attachment("file", media_type, data)) == tokens


def test_without_a_count_of_the_service_the_length_decides():
    estimator = Estimator()
    sent = request(user("x" * 4000))
    estimator.observe(sent, None)
    estimator.observe(sent, 0)
    assert estimator.request(sent) == estimator.raw(sent) == Estimator().raw(sent)


@pytest.mark.parametrize(("counted", "ratio"), [(1.3, 1.3), (0.8, 0.8), (40, 2), (0.01, 0.5)])
def test_the_count_of_the_service_corrects_the_estimate_within_bounds(counted, ratio):
    estimator = Estimator()
    sent = request(user("x" * 400_000))
    estimator.observe(sent, round(Estimator().raw(sent) * counted))
    assert estimator.request(sent) == pytest.approx(Estimator().raw(sent) * ratio, rel=0.001)
    assert estimator.message(sent.messages[0]) == pytest.approx(message_tokens(sent.messages[0]) * ratio, rel=0.001)


def test_the_last_count_holds():
    estimator = Estimator()
    sent = request(user("x" * 4000))
    estimator.observe(sent, Estimator().raw(sent) * 2)
    estimator.observe(sent, Estimator().raw(sent))
    assert estimator.request(sent) == Estimator().raw(sent)


def test_a_count_of_an_earlier_turn_is_compared_with_what_was_sent_then():
    then = request(user("x" * 4000), system_prompt="y" * 4000)
    now = replace(then, messages=(*then.messages, assistant("z" * 80_000), user("go on " * 10_000)))
    estimator = Estimator()
    estimator.observe_earlier(now, round(Estimator().raw(then) * 1.5))
    assert estimator.ratio == pytest.approx(1.5, rel=0.01)


def test_a_conversation_without_an_answer_teaches_nothing():
    estimator = Estimator()
    estimator.observe_earlier(request(user("x" * 4000)), 5)
    assert estimator.ratio == 1


def test_parts_are_not_confused_with_others_at_the_same_place_in_memory():
    estimator = Estimator()
    for length in range(200):
        # Each request is gone before the next, so that memory is used again.
        assert estimator.raw(request(user("x" * length))) == message_tokens(user("x" * length))
