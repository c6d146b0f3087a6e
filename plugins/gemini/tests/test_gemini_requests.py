import json
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest
from history_entries import assistant, result
from history_entries import call as stored_call
from model_server import ModelServer, Reply, hang_up_after, raw, sse, status
from oneclaw_gemini.provider import GeminiProvider
from provider_session import Service, hello

from oneclaw_core.errors import (
    ContextTooLongError,
    ProviderAuthenticationError,
    ProviderError,
    ProviderQuotaError,
    ProviderRateLimitError,
    ProviderRequestError,
    ProviderUnavailableError,
    UnknownModelError,
)
from oneclaw_core.types.messages import StopReason, TokenUsage
from oneclaw_core.types.model_requests import ModelInfo, ModelResponse, ReasoningDelta, RetryNotice, TextDelta
from oneclaw_core.types.tool_groups import ActiveTools
from oneclaw_core.types.tools import ToolDefinition

KEY = "AIzaSyTest-3141592653589793"
REQUEST = hello("gemini-3-pro")
USAGE = {"promptTokenCount": 11, "candidatesTokenCount": 7, "thoughtsTokenCount": 2}


service = Service(GeminiProvider, "gemini", REQUEST, name="gemini")
config, answer, refusal = service.config, service.answer, service.refusal


def chunk(*parts, reason=None):
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    return {"candidates": [candidate | ({"finishReason": reason} if reason else {})], "usageMetadata": USAGE}


def stream(*chunks):
    # With the line ends that the service sends.
    return raw(*(sse([each], done=False).replace(b"\n", b"\r\n") for each in chunks))


def text(content):
    half = len(content) // 2
    return stream(chunk({"text": content[:half]}), chunk({"text": content[half:]}), chunk({"text": ""}, reason="STOP"))


def fault(code, message="no", error_status="INVALID_ARGUMENT", *details, is_listed=False):
    body = {"error": {"code": code, "message": message, "status": error_status, "details": list(details)}}
    return status(code, body=[body] if is_listed else body)


def google(kind, **fields):
    return {"@type": f"type.googleapis.com/google.rpc.{kind}"} | fields


def ask(settings, request=REQUEST):
    """Ask a service, and give the events and the waits between attempts."""
    [events], waits = service.ask(settings, request)
    return events, waits


def models_of(replies):
    """List the models of a service that answers with these, each request told apart by its page token."""
    paths = []

    class Models(ModelServer):
        def reply_to(self, request):
            paths.append(request.path)
            token = parse_qs(urlsplit(request.path).query).get("pageToken", [""])[0]
            return replies[token]

    with Models([]) as server:
        return service.models(server.url.removesuffix("/v1"), api_key=KEY), paths


def test_text_streams_and_the_response_comes_last():
    thought = stream(
        chunk({"text": "hm", "thought": True}), chunk({"text": "Hello "}), chunk({"text": "there."}, reason="STOP")
    )
    events, waits = answer(thought)
    assert events[:-1] == [ReasoningDelta("hm"), TextDelta("Hello "), TextDelta("there.")]
    assert events[-1] == ModelResponse(
        text="Hello there.",
        usage=TokenUsage(input_tokens=11, output_tokens=9, reasoning_tokens=2),
        stop_reason=StopReason.COMPLETE,
        provider_data=events[-1].provider_data,
        finish_reason="STOP",
    )
    assert waits == []


@pytest.mark.parametrize(
    ("base", "model", "path"),
    [
        ("", "gemini-3-pro", "/v1beta/models/gemini-3-pro"),
        ("/", "models/gemini-3-pro", "/v1beta/models/gemini-3-pro"),
        ("/v1beta", "gemini-3-pro", "/v1beta/models/gemini-3-pro"),
        ("/v1/", "gemini-3-pro", "/v1/models/gemini-3-pro"),
        ("/google/v1alpha", "tunedModels/mine", "/google/v1alpha/tunedModels/mine"),
        ("/gateway", "a b?c#d", "/gateway/v1beta/models/a%20b%3Fc%23d"),
    ],
)
def test_where_a_model_is_asked(base, model, path):
    with ModelServer([text("ok")]) as server:
        ask(config(server.url.removesuffix("/v1") + base, api_key=KEY), replace(REQUEST, model=model))
    [request] = server.requests
    assert request.path == f"{path}:streamGenerateContent?alt=sse"
    assert request.headers["x-goog-api-key"] == KEY
    assert "authorization" not in request.headers


def test_a_query_in_the_base_url_is_kept():
    with ModelServer([text("ok")]) as server:
        ask(config(server.url + "?team=7"))
    assert server.requests[0].path == "/v1/models/gemini-3-pro:streamGenerateContent?team=7&alt=sse"


def test_the_vendors_service_is_asked_by_default():
    provider = GeminiProvider(config(None))
    url = provider._url.endpoint(provider._endpoint(REQUEST))
    assert url.startswith("https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:")


def test_a_round_of_tool_calls_over_the_wire():
    call = {"functionCall": {"name": "find", "args": {"q": "ä"}, "id": "x1"}, "thoughtSignature": "c2ln"}
    with ModelServer([stream(chunk(call), chunk({"text": ""}, reason="STOP")), text("Found it.")]) as server:
        tools = ActiveTools((ToolDefinition("find", "Finds."),))
        events, _ = ask(config(server.url), replace(REQUEST, tools=tools))
        [found] = events[-1].tool_calls
        history = (
            *REQUEST.messages,
            assistant("", events[-1].provider_data),
            stored_call(found.id, found.name, found.arguments),
            result(found.id, "here"),
        )
        events, _ = ask(config(server.url), replace(REQUEST, tools=tools, messages=history))
    assert events[-1].text == "Found it."
    assert server.bodies[1]["contents"][1:] == [
        {"role": "model", "parts": [call]},
        {
            "role": "user",
            "parts": [
                {
                    "functionResponse": {
                        "id": "x1",
                        "name": "find",
                        "response": {"output": {"status": "success", "result": "here"}},
                    }
                }
            ],
        },
    ]


def test_images_and_pdfs_can_be_attached():
    assert GeminiProvider(config(None)).attachment_media_types == ("image/", "application/pdf")


def test_too_many_tools_are_refused_before_anything_is_sent():
    tools = ActiveTools(tuple(ToolDefinition(f"tool_{number}", "T.") for number in range(513)))
    with ModelServer([]) as server, pytest.raises(ProviderRequestError, match="load fewer tool groups"):
        ask(config(server.url), replace(REQUEST, tools=tools))
    assert server.requests == []


@pytest.mark.parametrize("is_listed", [True, False])
def test_a_server_that_does_not_stream_is_understood(is_listed):
    chunks = (
        [chunk({"text": "Hel"}), chunk({"text": "lo"}, reason="STOP")]
        if is_listed
        else chunk({"text": "Hello"}, reason="STOP")
    )
    events, _ = answer(raw(json.dumps(chunks).encode(), content_type="application/json; charset=UTF-8"))
    assert events[-1].text == "Hello"


# Broken answers


@pytest.mark.parametrize("reply", [raw, hang_up_after])
def test_an_answer_that_breaks_off_is_an_error_and_not_tried_again_once_text_was_shown(reply):
    message, asked = refusal(
        reply(sse([chunk({"text": "Hi"})], done=False)), text("never"), kind=ProviderUnavailableError
    )
    assert "broke off in the middle of its answer" in message
    assert asked == 1


def test_calls_of_an_answer_that_breaks_off_are_never_given_out_but_asked_for_again():
    call = {"functionCall": {"name": "rm", "args": {"path": "/"}}}
    for done in (False, True):  # [DONE] is no reason
        events, waits = answer(raw(sse([chunk(call)], done=done)), text("Hi."))
        assert isinstance(events[0], RetryNotice)
        assert events[-1].tool_calls == ()
        assert len(waits) == 1


def test_an_answer_that_the_service_cannot_read_is_tried_again():
    events, waits = answer(stream(chunk(reason="MALFORMED_RESPONSE")), text("Hi."))
    notices = [event.reason for event in events if isinstance(event, RetryNotice)]
    assert "MALFORMED_RESPONSE" in notices[0]
    assert events[-1].text == "Hi."
    assert len(waits) == 1


def test_a_refused_conversation_is_not_tried_again():
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 5}}
    message, asked = refusal(stream(blocked), kind=ProviderRequestError)
    assert "gemini refuses the conversation (SAFETY)" in message
    assert asked == 1


def test_an_error_inside_an_answer_is_an_error():
    error = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}
    events, waits = answer(stream(error), text("Hi."))
    assert events[-1].text == "Hi."
    assert len(waits) == 1
    message, asked = refusal(stream(chunk({"text": "Hi"}), error), kind=ProviderUnavailableError)
    assert "The model is overloaded." in message
    assert asked == 1


# Refusals


def test_a_bad_key_is_told_from_a_bad_request():
    info = google("ErrorInfo", reason="API_KEY_INVALID", domain="googleapis.com")
    reply = fault(400, f"API key not valid. {KEY}", "INVALID_ARGUMENT", info)
    message, asked = refusal(reply, kind=ProviderAuthenticationError, api_key=KEY)
    assert "refuses the API key (HTTP 400)" in message
    assert "GEMINI_API_KEY" in message
    assert asked == 1
    message, _ = refusal(fault(400, "Invalid value at 'tools[0]'"), kind=ProviderRequestError, api_key=KEY)
    assert "Invalid value at 'tools[0]'" in message
    message, _ = refusal(fault(403, "unregistered callers", "PERMISSION_DENIED"), kind=ProviderAuthenticationError)
    assert "wants an API key" in message


def test_the_key_is_in_no_error():
    for reply in (
        fault(400, f"key {KEY} is bad"),
        fault(500, "x" * 280 + KEY, "INTERNAL", google("DebugInfo", detail=KEY)),
        stream({"error": {"code": 403, "message": KEY}}),
        stream({"candidates": [{"finishReason": KEY, "finishMessage": KEY}]}),
        stream({"promptFeedback": {"blockReason": KEY}}),
    ):
        with pytest.raises(ProviderError) as caught, ModelServer([reply] * 9) as server:
            ask(config(server.url, api_key=KEY, max_retries=0))
        assert KEY not in str(caught.value)
        assert KEY[:12] not in str(caught.value)


@pytest.mark.parametrize("is_listed", [True, False])
@pytest.mark.parametrize(("delay", "expected"), [("34s", 34), ("0.250s", 0.25), ("750ms", 0.75)])
def test_the_service_says_when_to_ask_again(delay, expected, is_listed):
    quota = google("QuotaFailure", violations=[{"quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}])
    reply = fault(
        429, "slow down", "RESOURCE_EXHAUSTED", quota, google("RetryInfo", retryDelay=delay), is_listed=is_listed
    )
    events, waits = answer(reply, text("Hi."))
    assert waits == [expected]
    assert "slow down" in events[0].reason


def test_a_retry_after_header_goes_before_the_details():
    reply = fault(503, "busy", "UNAVAILABLE", google("RetryInfo", retryDelay="34s"))
    _, waits = answer(replace(reply, headers={**reply.headers, "Retry-After": "3"}), text("Hi."))
    assert waits == [3]


@pytest.mark.parametrize("delay", ["soon", "", None, 5, "-3s", "1e9s", "s", "99999999999999s"])
def test_a_delay_that_says_nothing_is_passed_over(delay):
    _, waits = answer(fault(429, "no", "RESOURCE_EXHAUSTED", google("RetryInfo", retryDelay=delay)), text("Hi."))
    assert 0 < waits[0] <= 0.5


def test_no_one_waits_longer_than_two_minutes():
    reply = fault(429, "no", "RESOURCE_EXHAUSTED", google("RetryInfo", retryDelay="3600s"))
    message, asked = refusal(reply, kind=ProviderRateLimitError)
    assert "come back in 60 minutes" in message
    assert asked == 1


@pytest.mark.parametrize(
    "reply",
    [
        fault(
            429,
            "You exceeded your current quota",
            "RESOURCE_EXHAUSTED",
            google("QuotaFailure", violations=[{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]),
            google("RetryInfo", retryDelay="5s"),
        ),
        fault(429, "Quota exceeded for metric: x, limit: 0, model: gemini-3-pro", "RESOURCE_EXHAUSTED"),
        stream(
            {
                "error": {
                    "code": 429,
                    "message": "no",
                    "details": [google("QuotaFailure", violations=[{"quotaId": "TokensPerDay"}])],
                }
            }
        ),
    ],
)
def test_a_quota_used_up_for_the_day_is_not_tried_again(reply):
    message, asked = refusal(reply, kind=ProviderQuotaError)
    assert "check its plan and billing" in message
    assert asked == 1


def test_an_unknown_model_and_a_conversation_too_long_are_said_to_be():
    message, _ = refusal(fault(404, "models/x is not found", "NOT_FOUND"), kind=UnknownModelError)
    assert "gemini-3-pro" in message
    said = "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576)."
    message, _ = refusal(fault(400, said), kind=ContextTooLongError)
    assert "too long for gemini-3-pro" in message


@pytest.mark.parametrize("code", [408, 429, 500, 503, 504])
def test_passing_faults_are_tried_again(code):
    events, waits = answer(fault(code, "no", "INTERNAL"), text("Hi."))
    assert events[-1].text == "Hi."
    assert len(waits) == 1


@pytest.mark.parametrize(
    "details",
    [None, "x", [None, 3, {}], [google("QuotaFailure", violations=7)], [google("QuotaFailure", violations=[7])]],
)
def test_details_of_every_kind_make_a_one_line_error(details):
    reply = status(500, body={"error": {"code": "x", "message": ["no"], "details": details}})
    refusal(reply, kind=ProviderUnavailableError, max_retries=0)


# Models


def entry(name, *methods, **more):
    return {"name": name, "supportedGenerationMethods": list(methods)} | more


def page(*entries, **more):
    return Reply(200, {"Content-Type": "application/json"}, [json.dumps({"models": list(entries)} | more).encode()])


def test_models_are_listed_over_all_pages_those_that_answer_only():
    models, paths = models_of(
        {
            "": page(
                entry(
                    "models/gemini-3-pro",
                    "generateContent",
                    "countTokens",
                    displayName="Gemini 3 Pro",
                    inputTokenLimit=1048576,
                    outputTokenLimit=65536,
                ),
                entry("models/embedding-001", "embedContent"),
                {"name": 7},
                "x",
                nextPageToken="a+/=",
            ),
            "a+/=": page(
                entry("models/gemini-4-argon", "generateContent", inputTokenLimit="many"), {"name": "models/new"}
            ),
        }
    )
    assert models == [
        ModelInfo(name="gemini-3-pro", display_name="Gemini 3 Pro", context_window=1048576, max_output_tokens=65536),
        ModelInfo(name="gemini-4-argon"),
        ModelInfo(name="new"),
    ]
    assert paths == ["/v1beta/models?pageSize=1000", "/v1beta/models?pageSize=1000&pageToken=a%2B%2F%3D"]


def test_a_list_without_end_ends():
    models, paths = models_of(
        {"": page(entry("models/a", "generateContent"), nextPageToken="n"), "n": page(nextPageToken="n")}
    )
    assert [model.name for model in models] == ["a"]
    assert len(paths) == 20


def test_a_service_without_models_has_none_and_what_is_no_list_is_an_error():
    assert models_of({"": Reply(200, {"Content-Type": "application/json"}, [b"{}"])})[0] == []
    for body in (b"[]", b'{"models": 7}'):
        with pytest.raises(ProviderRequestError, match="no list of models"):
            models_of({"": Reply(200, {"Content-Type": "application/json"}, [body])})
    with pytest.raises(ProviderAuthenticationError, match="GEMINI_API_KEY"):
        models_of({"": fault(400, "no", "INVALID_ARGUMENT", google("ErrorInfo", reason="API_KEY_INVALID"))})
