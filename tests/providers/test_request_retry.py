"""Sampling parameters that a model does not take: the request is sent again without them."""

import json
from dataclasses import replace

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
from oneclaw_core.models.left_out import without_refused

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


def parts(words, asked=None, service=SERVICES["openai"][0]):
    """Parts and parameters that a service refuses, found in its error messages."""
    asked = asked or request()
    with ModelServer([refusal(words)]) as server, pytest.raises(ProviderRequestError) as raised:
        service.ask(service.config(server.url), asked)
    return raised.value.refused_parts


@pytest.mark.parametrize("name", SERVICES)
def test_a_refused_parameter_is_named_and_left_out(name):
    service, reply, words = SERVICES[name]
    found = parts(words, service=service)
    assert found == ("parameter:temperature",)
    sent = without_refused(replace(request(), left_out=dict.fromkeys(found, words)))
    with ModelServer([reply]) as server:
        service.ask(service.config(server.url), sent)
    assert (server.bodies[0].get("temperature"), server.bodies[0].get("top_p")) == (None, 0.9)


def test_of_two_that_do_not_go_together_the_temperature_stays():
    words = "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
    assert parts(words) == ("parameter:top_p",)


@pytest.mark.parametrize(
    ("words", "parameters", "part"),
    [
        ("Unsupported parameter: 'metadata' is not supported", ALL, "parameter:metadata"),
        ("Unrecognized request argument supplied: thinking", {"thinking": {"type": "enabled"}}, "parameter:thinking"),
        ("temperature must be between 0 and 1", ALL, "parameter:temperature"),
        ("'parallel_tool_calls' is not supported", {"parallel_tool_calls": False}, "parameter:parallel_tool_calls"),
        (
            "The tool_choice parameter does not support being set to required or object in thinking mode",
            {"tool_choice": "required"},
            "parameter:tool_choice",
        ),
        (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' "
            "instead.",
            {"max_tokens": 500},
            "max_tokens",
        ),
        (
            "max_tokens is too large: 128000. This model supports at most 16384 completion tokens, whereas you "
            "provided 128000.",
            {"max_tokens": 128_000},
            "most_output:16384",
        ),
    ],
)
def test_a_refused_parameter_is_known_by_its_name(words, parameters, part):
    assert parts(words, request(parameters)) == (part,)


@pytest.mark.parametrize(
    ("words", "parameters"),
    [
        ("the temperature of the server is too high", ALL),
        (OPENAI_SAYS, {}),
        (OPENAI_SAYS, {"temperature": None}),
    ],
)
def test_any_other_refusal_names_no_parameter(words, parameters):
    assert parts(words, request(parameters)) == ()


def test_the_limit_of_the_answer_goes_under_the_name_that_the_server_knows():
    asked = request({"max_tokens": 500})
    sent = without_refused(replace(asked, left_out={"max_tokens": "refused"}))
    service, reply, _ = SERVICES["openai_compatible"]
    with ModelServer([reply, reply]) as server:
        service.ask(service.config(server.url), asked, sent)
    assert [server.bodies[0].get(each) for each in ("max_tokens", "max_completion_tokens")] == [500, None]
    assert [server.bodies[1].get(each) for each in ("max_tokens", "max_completion_tokens")] == [None, 500]


def test_a_limit_of_the_answer_that_is_too_high_is_lowered():
    asked = request({"max_tokens": 128_000})
    sent = without_refused(replace(asked, left_out={"most_output:16384": "refused"}))
    assert sent.max_output_tokens == 16_384
    assert without_refused(replace(request(), left_out={"most_output:16384": "refused"})).max_output_tokens is None


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
