"""Sampling parameters that a model does not take: the request is sent again without them."""

import json

import messages_stream
import pytest
from history_entries import user
from model_server import ModelServer, named_events, raw, status, text
from oneclaw_anthropic.provider import AnthropicProvider
from oneclaw_anthropic.wire import RequestEncoder
from oneclaw_openai.chat import OpenAIChatProvider
from oneclaw_openai.responses import OpenAIResponsesProvider
from provider_session import Service, hello
from responses_stream import message, stream

from oneclaw_core.errors import ProviderRequestError
from oneclaw_core.providers.retry import RefusedParameters

ALL = {"temperature": 0.5, "top_p": 0.9, "metadata": {"user_id": "x"}}


def request(parameters=None, model="model"):
    return hello(model, parameters=ALL if parameters is None else parameters)


def refusal(text):
    return status(400, body={"error": {"type": "invalid_request_error", "message": text}})


OPENAI_SAYS = "Unsupported parameter: 'temperature' is not supported with this model."
SERVICES = {
    "anthropic": (
        Service(AnthropicProvider, "anthropic", request()),
        messages_stream.reply(messages_stream.text("ok")),
        "`temperature` may only be set to 1 when thinking is enabled.",
    ),
    "openai": (
        Service(OpenAIResponsesProvider, "openai", request()),
        raw(named_events(stream(message("ok")))),
        OPENAI_SAYS,
    ),
    "openai_compatible": (Service(OpenAIChatProvider, "openai_compatible", request()), text("ok"), OPENAI_SAYS),
}


@pytest.mark.parametrize("name", SERVICES)
def test_a_refused_parameter_is_left_out_from_then_on(name):
    service, reply, words = SERVICES[name]
    with ModelServer([refusal(words), reply, reply, reply]) as server:
        answers = service.ask(service.config(server.url), request(), request(), request(model="other")).answers
    assert [events[-1].text for events in answers] == ["ok", "ok", "ok"]
    assert [body.get("temperature") for body in server.bodies] == [0.5, None, None, 0.5]
    assert [body.get("top_p") for body in server.bodies] == [0.9] * 4


def test_of_two_that_do_not_go_together_the_temperature_stays():
    service, reply, _ = SERVICES["anthropic"]
    words = "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
    with ModelServer([refusal(words), reply]) as server:
        service.ask(service.config(server.url))
    assert [(body.get("temperature"), body.get("top_p")) for body in server.bodies] == [(0.5, 0.9), (0.5, None)]


def test_one_after_the_other_can_be_refused():
    service, reply, _ = SERVICES["openai"]
    script = [refusal(f"Unsupported value: '{name}' does not support it") for name in ("temperature", "top_p")]
    with ModelServer([*script, reply]) as server:
        service.ask(service.config(server.url))
    assert [sorted(ALL.keys() & body.keys()) for body in server.bodies] == [
        ["metadata", "temperature", "top_p"],
        ["metadata", "top_p"],
        ["metadata"],
    ]


@pytest.mark.parametrize(
    ("words", "parameters"),
    [
        ("Unsupported parameter: 'metadata' is not supported", ALL),
        ("the temperature of the server is too high", ALL),
        (OPENAI_SAYS, {}),
        (OPENAI_SAYS, {"temperature": None}),
    ],
)
def test_any_other_refusal_is_an_error(words, parameters):
    service, reply, _ = SERVICES["openai"]
    with ModelServer([refusal(words), reply]) as server, pytest.raises(ProviderRequestError):
        service.ask(service.config(server.url), request(parameters))
    assert len(server.bodies) == 1


def test_a_service_that_refuses_the_same_again_is_not_asked_forever():
    service, _, words = SERVICES["openai"]
    with ModelServer(lambda body: refusal(words)) as server, pytest.raises(ProviderRequestError):
        service.ask(service.config(server.url))
    assert len(server.bodies) == 2


def test_what_a_request_does_not_have_is_not_noted():
    refused = RefusedParameters()
    plain = request({})
    assert not refused.note(OPENAI_SAYS, plain)
    assert refused.without(plain) is plain


@pytest.mark.parametrize(
    ("parameters", "temperature"),
    [
        ({"temperature": 1.7}, 1),
        ({"temperature": 1}, 1),
        ({"temperature": 0.3}, 0.3),
        ({"temperature": 0.3, "thinking": {"type": "disabled"}}, 0.3),
        ({"temperature": 0.3, "top_k": 5, "thinking": {"type": "enabled", "budget_tokens": 2000}}, None),
        ({"temperature": 0.3, "thinking": {"type": "adaptive"}}, None),
        ({}, None),
    ],
)
def test_the_temperature_that_anthropic_takes(parameters, temperature):
    body = json.loads(RequestEncoder("https://x").encode(hello("m", parameters=parameters, messages=(user("hi"),))))
    assert body.get("temperature") == temperature
    assert "top_k" not in body or temperature is not None
