import json
from dataclasses import replace
from functools import partial
from urllib.parse import parse_qs, urlsplit

import pytest
from history_entries import assistant, load, result, user
from messages_stream import call, events, reply, sse, text, thinking
from model_server import ModelServer, hang_up_after, raw, status
from oneclaw_anthropic.provider import AnthropicProvider
from provider_session import Service, hello

from oneclaw_core.errors import (
    ContextTooLongError,
    ProviderAuthenticationError,
    ProviderQuotaError,
    ProviderRateLimitError,
    ProviderRequestError,
    ProviderUnavailableError,
    UnknownModelError,
)
from oneclaw_core.types.messages import TokenUsage, ToolCall
from oneclaw_core.types.model_requests import (
    LoadingRefused,
    ModelInfo,
    ModelResponse,
    ReasoningDelta,
    RetryNotice,
    TextDelta,
    ToolLoading,
)
from oneclaw_core.types.tool_groups import ActiveTools, LoadedGroup
from oneclaw_core.types.tools import ToolDefinition

KEY = "sk-ant-test-3141592653589793"
MAIL = LoadedGroup("mail", (ToolDefinition("mail_find", "Finds."),))
REQUEST = hello(
    "claude-x",
    system_prompt="Be brief.",
    tools=ActiveTools((ToolDefinition("load_tool_group", "Loads."),), (), lambda: (MAIL,)),
)
service = Service(AnthropicProvider, "anthropic", REQUEST)
config, ask, refusal = service.config, service.ask, partial(service.refusal, api_key=KEY)


def answer(*script, requests=()):
    """The events of all answers that a script leads to, and what the service was sent."""
    with ModelServer(list(script)) as server:
        answers = ask(config(server.url), *requests).answers
    return [event for events in answers for event in events], server.bodies


def error(code, error_type, message="no"):
    body = {"type": "error", "error": {"type": error_type, "message": message}, "request_id": "req_1"}
    return status(code, body=body)


def list_models(server, query=""):
    return service.models(server.url + query, api_key=KEY)


def test_thinking_and_text_stream_and_the_response_comes_last():
    seen, _ = answer(
        reply(thinking("hm", "c2ln"), text("Hello there."), call("find", {"q": 1}), stop_reason="tool_use")
    )
    *deltas, response = seen
    assert "".join(each.text for each in deltas if isinstance(each, ReasoningDelta)) == "hm"
    assert "".join(each.text for each in deltas if isinstance(each, TextDelta)) == "Hello there."
    assert isinstance(response, ModelResponse)
    assert response.tool_calls == (ToolCall("toolu_REQUEST_1", "find", '{"q": 1}'),)
    assert response.usage == TokenUsage(
        input_tokens=240, cached_input_tokens=200, cache_write_tokens=30, output_tokens=42, reasoning_tokens=7
    )
    assert response.provider_data["anthropic"]["server"].startswith("http://127.0.0.1:")


def test_a_whole_body_is_an_answer_too():
    body = {"type": "message", "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn", "usage": {}}
    seen, _ = answer(status(200, body=body))
    assert [type(each) for each in seen] == [TextDelta, ModelResponse]


@pytest.mark.parametrize("base", ["", "/v1", "/v1/", "/proxy"])
def test_the_base_url_may_end_before_the_version_or_after_it(base):
    with ModelServer([reply(text("x"))]) as server:
        ask(config(server.url.removesuffix("/v1") + base))
    assert server.requests[0].path == ("/proxy" if base == "/proxy" else "") + "/v1/messages"


def test_the_key_goes_into_its_header_only():
    with ModelServer([reply(text("x"))]) as server:
        ask(config(server.url, api_key=KEY), replace(REQUEST, parameters={"betas": ["one-1", "two\r\nx-evil: 1", 3]}))
    request = server.requests[0]
    assert request.headers["x-api-key"] == KEY
    assert request.headers["anthropic-version"] == "2023-06-01"
    assert request.headers["anthropic-beta"] == "one-1"
    assert "authorization" not in request.headers
    assert [name for name, value in request.headers.items() if KEY in value] == ["x-api-key"]
    assert KEY not in json.dumps(request.body)
    assert request.body["stream"] is True


def test_without_a_key_and_betas_there_are_no_headers_for_them():
    with ModelServer([reply(text("x"))]) as server:
        ask(config(server.url))
    assert not {"x-api-key", "anthropic-beta"} & server.requests[0].headers.keys()


def test_a_model_that_refuses_deferred_tools_gets_them_appended():
    seen, bodies = answer(
        error(400, "invalid_request_error", "tools.1.custom.defer_loading: Extra inputs are not permitted"),
        reply(text("x")),
    )
    assert isinstance(seen[0], LoadingRefused)
    assert "defer_loading" in seen[0].reason
    assert isinstance(seen[-1], ModelResponse)
    assert [len(body["tools"]) for body in bodies] == [2, 1]


@pytest.mark.parametrize("message", ["temperature: not supported", "prompt is too long: no room for defer_loading"])
def test_other_refusals_are_not_about_deferred_tools(message):
    kind = ContextTooLongError if "too long" in message else ProviderRequestError
    assert refusal(error(400, "invalid_request_error", message), kind=kind)[1] == 1


def test_a_refusal_after_appending_is_the_error():
    refused = error(400, "invalid_request_error", "tool_reference is not supported")
    assert refusal(refused, refused, kind=ProviderRequestError)[1] == 2


def test_a_limit_that_is_too_high_for_the_model_is_lowered_and_stays_so():
    message = "max_tokens: 16000 > 4096, which is the maximum allowed number of output tokens for claude-x"
    seen, bodies = answer(
        error(400, "invalid_request_error", message),
        reply(text("x")),
        reply(text("y")),
        requests=(REQUEST, REQUEST),
    )
    assert [body["max_tokens"] for body in bodies] == [16_000, 4096, 4096]
    assert len([each for each in seen if isinstance(each, ModelResponse)]) == 2


def test_a_limit_that_never_fits_is_an_error():
    message = "max_tokens: 9 > 4096, which is the maximum"
    assert refusal(*[error(400, "invalid_request_error", message)] * 3, kind=ProviderRequestError)[1] == 2


def thinking_history():
    content = [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}, {"type": "text", "text": "Hi"}]
    return [
        replace(user("hi"), sequence=1),
        assistant("Hi", {"anthropic": {"content": content}}, sequence=2),
        replace(user("and?"), sequence=3),
    ]


@pytest.mark.parametrize(
    "message",
    [
        "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to another conversation.",
        "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be "
        "modified. These blocks must remain as they were in the original response.",
    ],
)
def test_thinking_that_the_service_does_not_recognise_any_more_is_named_as_the_refused_part(message):
    asked = replace(REQUEST, messages=thinking_history())
    with (
        ModelServer([error(400, "invalid_request_error", message)]) as server,
        pytest.raises(ProviderRequestError) as caught,
    ):
        ask(config(server.url), asked)
    assert caught.value.refused_parts == (f"reasoning:{REQUEST.session_id}:3",)


MISSED = (
    "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is "
    "enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` "
    "and `tool_result` blocks). To avoid this requirement, disable `thinking`."
)


def test_a_turn_goes_on_without_thinking_where_an_answer_without_thoughts_is_in_the_way():
    """As that which a turn makes to load a group, or of another model."""
    history = [replace(each, sequence=at) for at, each in enumerate([user("hi"), load("c1", "mail"), result("c1")], 1)]
    thinks = {"thinking": {"type": "enabled", "budget_tokens": 2048}, "temperature": 0.5}
    same_turn = [*history, assistant("Hm.", sequence=4)]
    next_turn = [*same_turn, replace(user("and?"), sequence=5)]
    requests = [replace(REQUEST, messages=each, parameters=thinks) for each in (history, same_turn, next_turn)]
    with ModelServer([error(400, "invalid_request_error", MISSED), *[reply(text("x"))] * 3]) as server:
        ask(config(server.url), *requests)
    sent = [(body.get("thinking"), body.get("temperature"), body["max_tokens"]) for body in server.bodies]
    with_thoughts, without = (thinks["thinking"], None, 18_048), (None, 0.5, 16_000)
    assert sent == [with_thoughts, without, without, with_thoughts]


def test_thoughts_missed_again_are_an_error():
    refused = error(400, "invalid_request_error", MISSED)
    request = replace(REQUEST, parameters={"thinking": {"type": "enabled", "budget_tokens": 2048}})
    assert refusal(refused, refused, refused, kind=ProviderRequestError, request=request)[1] == 2
    assert refusal(refused, refused, kind=ProviderRequestError)[1] == 1


@pytest.mark.parametrize(
    ("code", "error_type", "message", "kind", "says"),
    [
        (401, "authentication_error", "invalid x-api-key", ProviderAuthenticationError, "ACME_API_KEY"),
        (403, "permission_error", "no", ProviderAuthenticationError, "check what the API key"),
        (402, "billing_error", "no", ProviderQuotaError, "no credit left"),
        (400, "invalid_request_error", "Your credit balance is too low", ProviderQuotaError, "check its plan"),
        (404, "not_found_error", "model: claude-x", UnknownModelError, "has no model 'claude-x'"),
        (413, "request_too_large", "Request too large", ContextTooLongError, "too large"),
        (400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum", ContextTooLongError, "too long"),
        (
            400,
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit",
            ContextTooLongError,
            "long",
        ),
        (400, "invalid_request_error", "tools: bad", ProviderRequestError, "it says: tools: bad"),
    ],
)
def test_refusals_say_what_to_do_and_are_not_tried_again(code, error_type, message, kind, says):
    shown, asked = refusal(error(code, error_type, message), kind=kind)
    assert says in shown
    assert asked == 1


@pytest.mark.parametrize(
    ("code", "error_type", "kind"),
    [
        (429, "rate_limit_error", ProviderRateLimitError),
        (500, "api_error", ProviderUnavailableError),
        (504, "timeout_error", ProviderUnavailableError),
        (529, "overloaded_error", ProviderUnavailableError),
    ],
)
def test_what_passes_is_tried_again(code, error_type, kind):
    failing = error(code, error_type)
    seen, _ = answer(failing, reply(text("x")))
    assert [type(each) for each in seen] == [RetryNotice, TextDelta, ModelResponse]
    assert refusal(failing, failing, kind=kind, max_retries=1)[1] == 2


def mid_stream_error(error_type, *before):
    return raw(
        *(sse([event]) for event in [*before, {"type": "error", "error": {"type": error_type, "message": "no"}}])
    )


def test_an_error_in_the_stream_is_tried_again_only_before_anything_was_shown():
    begun, shown = events(text("Hi"))[:3], events(text("Hi"))[:4]
    seen, _ = answer(mid_stream_error("overloaded_error", *begun), reply(text("x")))
    assert isinstance(seen[-1], ModelResponse)
    assert refusal(mid_stream_error("overloaded_error", *shown), kind=ProviderUnavailableError)[1] == 1
    assert refusal(mid_stream_error("billing_error"), kind=ProviderQuotaError)[1] == 1
    assert refusal(mid_stream_error("invalid_request_error"), kind=ProviderRequestError)[1] == 1


@pytest.mark.long
def test_a_stream_that_breaks_off_in_a_call_gives_no_call():
    written = events(call("find", {"q": 1}), stop_reason="tool_use")
    for end in range(1, len(written) - 2):
        message, asked = refusal(hang_up_after(sse(written[:end])), kind=ProviderUnavailableError, max_retries=0)
        assert "broke off" in message or "without an answer" in message
        assert asked == 1


def test_events_that_do_not_fit_together_are_an_error():
    delta = {"type": "input_json_delta", "partial_json": "{}"}
    garbled = raw(sse([*events(text("Hi"))[:3], {"type": "content_block_delta", "index": 7, "delta": delta}]))
    assert "do not fit together" in refusal(garbled, kind=ProviderUnavailableError, max_retries=0)[0]


def test_a_declined_answer_is_an_error_that_says_why():
    details = {"type": "refusal", "category": "cyber", "explanation": f"It would harm {KEY}."}
    message, asked = refusal(reply(stop_reason="refusal", stop_details=details), kind=ProviderRequestError)
    assert "the model declines to answer this (cyber): It would harm ***." in message
    assert asked == 1


def test_a_full_context_window_is_a_conversation_that_is_too_long():
    full = reply(text("x"), stop_reason="model_context_window_exceeded")
    assert "too long for claude-x" in refusal(full, kind=ContextTooLongError)[0]


def test_a_group_is_loaded_natively_from_end_to_end():
    loading = {"group_name": "mail"}
    loaded = [
        *REQUEST.messages,
        load("toolu_1", "mail"),
        result("toolu_1", "Loaded"),
    ]
    second = replace(REQUEST, messages=loaded, tools=replace(REQUEST.tools, groups=(MAIL,)))
    _, bodies = answer(
        reply(call("load_tool_group", loading, call_id="toolu_1"), stop_reason="tool_use"),
        reply(call("mail_find", {}, call_id="toolu_2"), stop_reason="tool_use"),
        requests=(REQUEST, second),
    )
    assert bodies[0]["tools"] == bodies[1]["tools"]
    assert bodies[1]["tools"][1] == {
        "name": "mail_find",
        "description": "Finds.",
        "input_schema": {"type": "object", "properties": {}},
        "defer_loading": True,
    }
    assert bodies[1]["messages"][-1]["content"][0]["content"] == [{"type": "tool_reference", "tool_name": "mail_find"}]
    _, bodies = answer(reply(text("x")), requests=(replace(second, tool_loading=ToolLoading.APPEND),))
    assert [tool["name"] for tool in bodies[0]["tools"]] == ["load_tool_group", "mail_find"]


class PagedServer(ModelServer):
    """Lists its models in pages of two."""

    def reply_to(self, request):
        if request.method != "GET":
            return super().reply_to(request)
        self.requests.append(request)
        after = parse_qs(urlsplit(request.path).query).get("after_id", [""])[0]
        names = [model["id"] for model in self._models]
        start = names.index(after) + 1 if after else 0
        page = self._models[start : start + 2]
        has_more = start + 2 < len(names)
        return status(200, body={"data": page, "has_more": has_more, "last_id": page[-1]["id"] if page else None})


def test_all_pages_of_the_models_are_read_with_what_they_say():
    supported, unsupported = {"supported": True}, {"supported": False}
    models = [
        {
            "id": "claude-a",
            "display_name": "Claude A",
            "max_input_tokens": 200_000,
            "max_tokens": 64_000,
            "capabilities": {"image_input": supported, "pdf_input": supported},
        },
        {"id": "b/b&b", "capabilities": {"image_input": unsupported}, "max_tokens": None},
        {"id": "claude-c", "max_input_tokens": 0},
        {"id": "claude-d", "capabilities": {"pdf_input": supported}},
    ]
    with PagedServer([], models) as server:
        found = list_models(server)
    assert found == [
        ModelInfo(
            name="claude-a",
            display_name="Claude A",
            context_window=200_000,
            max_output_tokens=64_000,
            input_media_types=("image/jpeg", "image/png", "image/gif", "image/webp", "application/pdf"),
        ),
        ModelInfo(name="b/b&b", input_media_types=()),
        ModelInfo(name="claude-c"),
        ModelInfo(name="claude-d", input_media_types=("application/pdf",)),
    ]
    assert [request.path for request in server.requests] == [
        "/v1/models?limit=1000",
        "/v1/models?limit=1000&after_id=b%2Fb%26b",
    ]
    assert {request.headers["x-api-key"] for request in server.requests} == {KEY}
    assert {request.headers["anthropic-version"] for request in server.requests} == {"2023-06-01"}


class EndlessServer(ModelServer):
    """Always says that there are more models."""

    def reply_to(self, request):
        self.requests.append(request)
        return status(200, body={"data": [{"id": "x"}, 3], "has_more": True, "last_id": "x"})


def test_a_list_of_models_without_end_ends():
    with EndlessServer([]) as server:
        assert list_models(server) == [ModelInfo(name="x")]
    assert len(server.requests) == 2


def test_a_query_in_the_base_url_is_kept_beside_that_of_the_page():
    with PagedServer([], [{"id": "x"}]) as server:
        list_models(server, "?tenant=7")
    assert server.requests[0].path == "/v1/models?tenant=7&limit=1000"


@pytest.mark.parametrize("body", [[], {"data": None}, {"models": []}])
def test_what_is_no_list_of_models_is_an_error(body):
    class Odd(ModelServer):
        def reply_to(self, request):
            return status(200, body=body)

    with Odd([]) as server, pytest.raises(ProviderRequestError, match="no list of models"):
        list_models(server)
