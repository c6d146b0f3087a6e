import json
from dataclasses import replace

import pytest
from history_entries import assistant, load, result, user
from history_entries import call as stored_call
from model_server import ModelServer, hang_up_after, named_events, raw, status
from oneclaw_openai.responses import OpenAIResponsesProvider
from provider_session import Service, hello
from responses_stream import call, message, reasoning, response, stream

from oneclaw_core.errors import (
    ContextTooLongError,
    ProviderAuthenticationError,
    ProviderQuotaError,
    ProviderRateLimitError,
    ProviderRequestError,
    ProviderUnavailableError,
    UnknownModelError,
)
from oneclaw_core.providers.base import ProviderConfig
from oneclaw_core.types.messages import StopReason, TokenUsage
from oneclaw_core.types.model_requests import (
    LoadingRefused,
    ModelInfo,
    ModelResponse,
    ReasoningDelta,
    RetryNotice,
    TextDelta,
)
from oneclaw_core.types.tool_groups import ActiveTools, LoadedGroup
from oneclaw_core.types.tools import ToolDefinition

KEY = "sk-test-3141592653589793"
HALF = named_events(stream(message("Hello"))[:3])
REQUEST = hello("gpt-x", system_prompt="Be brief.", session_id="session-1")
WITH_GROUP = hello(
    "gpt-x",
    messages=(user("hi"), load("a", "mail"), result("a", "")),
    tools=ActiveTools((ToolDefinition("find", "Finds."),), (LoadedGroup("mail", (ToolDefinition("send", "Sends."),)),)),
)
service = Service(OpenAIResponsesProvider, "openai", REQUEST)
config, refusal = service.config, service.refusal


def says(*items, **ending):
    """A reply with these items, each event in a separate piece."""
    return raw(*(named_events([event]) for event in stream(*items, **ending)))


def refuses(text, http_status=400, **error):
    return status(
        http_status, body={"error": {"message": text, "type": "invalid_request_error", "param": None, **error}}
    )


def ask(server, *requests, **settings):
    """Ask a server with one provider, and give the events of the last answer."""
    return service.ask(config(server.url, **settings), *requests).answers[-1]


def test_text_and_reasoning_stream_and_the_response_comes_last():
    items = (reasoning("Hm."), message("Hello"))
    with ModelServer([says(*items)]) as server:
        *shown, found = ask(server)
        assert shown == [ReasoningDelta("H"), ReasoningDelta("m."), TextDelta("He"), TextDelta("llo")]
        assert found == ModelResponse(
            text="Hello",
            usage=TokenUsage(
                input_tokens=100, cached_input_tokens=64, cache_write_tokens=32, output_tokens=20, reasoning_tokens=15
            ),
            stop_reason=StopReason.COMPLETE,
            provider_data={"openai": {"server": server.url.removesuffix("/v1"), "output": list(items)}},
            finish_reason="completed",
            response_id="resp_1",
            response_model="gpt-x",
        )


def test_what_the_server_is_sent():
    with ModelServer([says(message("x"))]) as server:
        ask(server, api_key=KEY)
    request = server.requests[0]
    assert (request.method, request.path) == ("POST", "/v1/responses")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert "text/event-stream" in request.headers["accept"]
    assert request.body == {
        "model": "gpt-x",
        "instructions": "Be brief.",
        "stream": True,
        "store": False,
        "prompt_cache_key": "session-1",
        "include": ["reasoning.encrypted_content"],
        "input": [{"type": "message", "role": "user", "content": "hi"}],
    }


def test_the_default_is_openai():
    provider = OpenAIResponsesProvider(ProviderConfig("openai", "openai"))
    assert provider.default_base_url == "https://api.openai.com/v1"
    assert "image/png" in provider.attachment_media_types
    assert "application/pdf" in provider.attachment_media_types


def test_what_came_goes_back_on_the_next_request():
    items = (reasoning("Hm."), call("find", {"q": "x"}, call_id="call_a"))
    with ModelServer([says(*items), says(message("Found."))]) as server:
        found = ask(server)[-1]
        (made,) = found.tool_calls
        history = (
            *REQUEST.messages,
            assistant("", found.provider_data),
            stored_call(made.id, made.name, made.arguments),
            result(made.id, "one"),
        )
        ask(server, replace(REQUEST, messages=history))
    assert server.bodies[1]["input"][1:3] == list(items)
    assert server.bodies[1]["input"][3]["output"] == '{"status":"success","result":"one"}'


def test_a_server_that_does_not_stream_and_one_that_ends_with_done_are_understood():
    body = json.dumps(response(message("Hi."))).encode()
    for reply in (
        raw(body, content_type="application/json"),
        raw(named_events(stream(message("Hi."))), b"data: [DONE]\n\n"),
    ):
        with ModelServer([reply]) as server:
            *shown, found = ask(server)
        assert "".join(event.text for event in shown) == found.text == "Hi."


# Errors


def test_a_bad_key_names_the_variable_and_never_the_key():
    words = f"Incorrect API key provided: {KEY}."
    text, asked = refusal(refuses(words, 401, code="invalid_api_key"), kind=ProviderAuthenticationError, api_key=KEY)
    assert "ACME_API_KEY" in text
    assert KEY not in text
    assert asked == 1


def test_an_unknown_model_a_used_up_account_and_a_long_conversation_are_told_apart():
    text, _ = refusal(refuses("No such model", 404, code="model_not_found"), kind=UnknownModelError)
    assert "no model 'gpt-x'" in text
    text, asked = refusal(refuses("Quota", 429, code="insufficient_quota"), kind=ProviderQuotaError)
    assert "billing" in text
    assert asked == 1
    long = refuses("The additional_tools do not fit", 400, code="context_length_exceeded")
    text, asked = refusal(long, kind=ContextTooLongError, request=WITH_GROUP)
    assert "start a new one" in text
    assert asked == 1


def test_too_many_requests_are_tried_again():
    with ModelServer([refuses("Slow down", 429, code="rate_limit_exceeded"), says(message("Hi."))]) as server:
        events = ask(server)
    assert isinstance(events[0], RetryNotice)
    assert events[-1].text == "Hi."


@pytest.mark.parametrize(
    ("code", "kind", "asked"),
    [
        ("server_error", ProviderUnavailableError, 2),
        ("rate_limit_exceeded", ProviderRateLimitError, 2),
        ("invalid_prompt", ProviderRequestError, 1),
        ("image_parse_error", ProviderRequestError, 1),
    ],
)
def test_errors_inside_an_answer_are_errors(code, kind, asked):
    error = {"code": code, "message": "Sorry."}
    for reply in (says(status="failed", error=error), raw(named_events([{"type": "error", **error}]))):
        text, times = refusal(reply, reply, kind=kind, max_retries=1)
        assert "it says: Sorry." in text
        assert times == asked


@pytest.mark.parametrize("reply", [raw, hang_up_after])
def test_an_answer_that_breaks_off_is_an_error_once_text_was_shown(reply):
    text, asked = refusal(reply(HALF), says(message("never")), kind=ProviderUnavailableError)
    assert "broke off in the middle of its answer" in text
    assert asked == 1


def test_half_a_call_is_never_given_out_but_asked_for_again():
    half = hang_up_after(named_events(stream(call("rm", {"path": "/home"}, call_id="a"))[:-2]))
    with ModelServer([half, says(message("Hi."))]) as server:
        events = ask(server)
    assert isinstance(events[0], RetryNotice)
    assert (events[-1].text, events[-1].tool_calls) == ("Hi.", ())


def test_a_call_cut_by_a_content_filter_is_an_error():
    half = call("rm", '{"path": "/ho', call_id="a", status="incomplete")
    text, asked = refusal(says(half, status="incomplete", reason="content_filter"), kind=ProviderRequestError)
    assert "by the service's content filter" in text
    assert asked == 1


# Falling back


@pytest.mark.parametrize(
    "text",
    [
        "Invalid value: 'additional_tools'. Supported values are: 'message' and 'function_call'.",
        "malformed request: cannot unmarshal unknown input type: additional_tools",
        "'AdditionalTools' object has no attribute 'get'",
        "Missing namespace for function_call 'send'. It does not exist in the default namespace.",
        "Unknown parameter: 'input[1].namespace'",
        "unsupported input item type",
        "Invalid input",
    ],
)
def test_a_model_that_cannot_have_tools_loaded_gets_them_appended(text):
    with ModelServer([refuses(text), says(message("Hi."))]) as server:
        events = ask(server, WITH_GROUP)
    assert isinstance(events[0], LoadingRefused)
    assert text in events[0].reason
    assert events[-1].text == "Hi."
    native, appended = server.bodies
    assert [tool["name"] for tool in native["tools"]] == ["find"]
    assert native["input"][-1]["type"] == "additional_tools"
    assert [tool["name"] for tool in appended["tools"]] == ["find", "send"]
    assert appended["input"] == native["input"][:-1]


def test_other_refusals_and_requests_without_groups_are_not_sent_again():
    _, asked = refusal(refuses("Unsupported parameter: 'top_k'"), kind=ProviderRequestError, request=WITH_GROUP)
    assert asked == 1
    _, asked = refusal(refuses("Invalid value: 'additional_tools'"), kind=ProviderRequestError)
    assert asked == 1


def test_after_shown_text_nothing_is_sent_again():
    events = stream(message("Hello"), status="failed", error={"code": "invalid_prompt", "message": "encrypted content"})
    _, asked = refusal(raw(named_events(events)), says(message("never")), kind=ProviderRequestError)
    assert asked == 1


# The list of models


def test_models_are_listed():
    with ModelServer([], models=[{"id": "gpt-x", "object": "model", "owned_by": "openai"}, {"id": ""}]) as server:
        assert service.models(server.url, api_key=KEY) == [ModelInfo(name="gpt-x")]
    assert server.requests[0].path == "/v1/models"
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
