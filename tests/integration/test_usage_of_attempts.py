"""Answers that do not end count in usage and limits, with every wire format."""

import asyncio
import json
from contextlib import aclosing

import pytest
from model_server import ModelServer, hang_up_after
from test_every_model import EXAMPLES, WIRES, addresses, command, every_format, of_type, said
from wire_formats import CORE

from oneclaw_core import OneClaw, TextEvent
from oneclaw_core.errors import ProviderRequestError, ProviderUnavailableError, SpendingLimitError
from oneclaw_core.types.events import RetryEvent, UsageEvent

ANTHROPIC = WIRES["anthropic"]
COUNTED_ALONG = ("anthropic", "gemini")  # the other services count at the end of an answer only


def used(home):
    """What `oneclaw usage` says in all."""
    return json.loads(command(home, "usage", "--json"))["total"]


def assert_input_is_counted_or_estimated(wire, tokens):
    if wire.provider in COUNTED_ALONG:
        assert tokens == wire.usage.input_tokens
    else:
        # At four bytes a token: the tools alone are thousands of bytes.
        assert tokens > 100 * len(CORE)


@pytest.mark.long
@every_format
def test_an_answer_that_breaks_off_counts_as_far_as_it_came(tmp_path, wire):
    text = "Once upon a time. " * 200
    broken_off = pytest.raises(ProviderUnavailableError, match="broke off")
    with ModelServer([wire.breaks_off_after(text)]) as server, broken_off:
        said(tmp_path, addresses(server), wire, "Tell me a story")
    total = used(tmp_path)
    assert (total["requests"], total["at_least_requests"]) == (1, 1)
    assert_input_is_counted_or_estimated(wire, total["input_tokens"])
    # Of the tests' stream of Anthropic, the first half came.
    assert total["output_tokens"] >= len(text) // 8
    assert "at least" in command(tmp_path, "usage")


@pytest.mark.long
@every_format
def test_an_answer_that_the_user_stops_counts_as_far_as_it_came(tmp_path, wire):
    async def leave(environ):
        async with (
            OneClaw.open(tmp_path, environ=environ, start_directory=EXAMPLES) as claw,
            aclosing(claw.send_message("Tell me", session="s", model=wire.full_model)) as events,
        ):
            async for event in events:
                if isinstance(event, TextEvent):
                    break

    with ModelServer([wire.says("Once upon a time. " * 20_000)]) as server:
        asyncio.run(leave(addresses(server)))
    total = used(tmp_path)
    assert (total["requests"], total["at_least_requests"]) == (1, 1)
    assert_input_is_counted_or_estimated(wire, total["input_tokens"])
    assert total["output_tokens"] > 0


@pytest.mark.long
@every_format
def test_a_request_that_is_refused_counts_nothing(tmp_path, wire):
    with ModelServer([wire.refuses(400, "no")]) as server, pytest.raises(ProviderRequestError):
        said(tmp_path, addresses(server), wire, "Hello")
    assert used(tmp_path)["requests"] == 0


def test_an_attempt_that_is_retried_counts_beside_the_answer(tmp_path):
    begun = hang_up_after(ANTHROPIC.says("Hello.").pieces[0])
    with ModelServer([begun, ANTHROPIC.says("Hello.")]) as server:
        events = said(tmp_path, addresses(server), ANTHROPIC, "Hello")
    lost, retry, answered = of_type((UsageEvent, RetryEvent), events)
    assert isinstance(retry, RetryEvent)
    assert (lost.usage.input_tokens, lost.usage.is_at_least) == (ANTHROPIC.usage.input_tokens, True)
    assert lost.to_dict()["at_least"] is True
    assert answered.usage == ANTHROPIC.usage
    assert "at_least" not in answered.to_dict()
    total = used(tmp_path)
    assert (total["requests"], total["input_tokens"]) == (2, 2 * ANTHROPIC.usage.input_tokens)
    assert total["prefix_breaks"] == 0


def test_a_limit_counts_attempts_and_stops_before_the_next(tmp_path):
    begun = hang_up_after(ANTHROPIC.says("Hello.").pieces[0])
    with ModelServer([begun, ANTHROPIC.says("Hello.")]) as server:
        environ = addresses(server) | {"ONECLAW_TURN_MAX_TOKENS": "200"}
        with pytest.raises(SpendingLimitError, match="at least 241 tokens"):
            said(tmp_path, environ, ANTHROPIC, "Hello")
    assert len(server.bodies) == 1
    assert used(tmp_path)["input_tokens"] == ANTHROPIC.usage.input_tokens
