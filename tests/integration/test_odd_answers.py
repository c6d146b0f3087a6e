"""Answers without anything in them, with every wire format."""

import json

import pytest
from model_server import ModelServer
from test_every_model import WIRES, addresses, command, ended, every_format, of_type, said, stored

from oneclaw_core.errors import ProviderError
from oneclaw_core.types.events import RetryEvent, TurnFinishedEvent, UsageEvent

CHAT = WIRES["openai_compatible"]


@every_format
def test_an_empty_answer_is_asked_for_once_more(tmp_path, wire):
    with ModelServer([wire.says_nothing(), wire.says("Hello."), wire.says("Bye.")]) as server:
        events = said(tmp_path, addresses(server), wire, "Hello")
        said(tmp_path, addresses(server), wire, "Bye")
    [retry] = of_type(RetryEvent, events)
    assert f"{wire.full_model} answered with nothing (finish reason: {wire.finish_reasons[0]})" in retry.reason
    assert [event.usage for event in of_type(UsageEvent, events)] == [wire.usage] * 2
    assert server.contents[0] == server.contents[1]
    wire.assert_goes_on(*server.contents[1:])
    assert [message.content for message in stored(tmp_path)[0]] == ["Hello", "Hello.", "Bye", "Bye."]


@every_format
def test_a_second_empty_answer_is_an_error_after_which_the_session_goes_on(tmp_path, wire):
    with ModelServer([wire.says_nothing(), wire.says_nothing(), wire.says("Hello.")]) as server:
        finished = ended(tmp_path, addresses(server), "run", "--session", "s", "--model", wire.full_model, "Hello")
        events = said(tmp_path, addresses(server), wire, "Hello?")
    assert finished.returncode == 1
    assert f"{wire.full_model} answered with nothing (finish reason: {wire.finish_reasons[0]})" in finished.stderr
    assert isinstance(events[-1], TurnFinishedEvent)
    assert len(server.bodies) == 3
    assert [message.content for message in stored(tmp_path)[0]] == ["Hello", "Hello?", "Hello."]
    assert json.loads(command(tmp_path, "usage", "--json"))["total"]["requests"] == 3


@every_format
def test_tokens_spent_before_anything_was_said_are_reported_with_what_to_do(tmp_path, wire):
    spent = wire.says_nothing(reaches_limit=True)
    told = rf"\(finish reason: {wire.finish_reasons[1]}\); .* models set {wire.full_model} max_output_tokens NUMBER"
    with ModelServer([spent, spent]) as server, pytest.raises(ProviderError, match=told):
        said(tmp_path, addresses(server), wire, "Hello")
    assert len(server.bodies) == 2


def test_thoughts_alone_are_an_empty_answer(tmp_path):
    with ModelServer([CHAT.says("\n", thought="Hm."), CHAT.says("Hello.")]) as server:
        assert said(tmp_path, addresses(server), CHAT, "Hello")[-1].text == "Hello."
    assert [message.content for message in stored(tmp_path)[0]] == ["Hello", "Hello."]
