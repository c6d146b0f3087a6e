import asyncio
import json
import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from history_entries import assistant, user
from model_server import DEFAULT_USAGE, ModelServer, calls, chunk, hang_up_after, raw, silence, sse, status, text
from oneclaw_http_providers.retry import retry_after_seconds
from oneclaw_openai.chat import OpenAIChatProvider
from provider_session import Service, hello

from oneclaw_core.errors import (
    ContextTooLongError,
    ProviderAuthenticationError,
    ProviderQuotaError,
    ProviderRateLimitError,
    ProviderRequestError,
    ProviderSilentError,
    ProviderUnavailableError,
    ProviderUnreachableError,
    SettingsError,
    UnknownModelError,
    UsageError,
)
from oneclaw_core.types.messages import StopReason, TokenUsage
from oneclaw_core.types.model_requests import ModelInfo, ModelResponse, RetryNotice, TextDelta

KEY = "sk-test-3141592653589793"
service = Service(OpenAIChatProvider, "openai_compatible", hello("gpt-x"))
config, ask, answer, refusal = service.config, service.ask, service.answer, service.refusal


def test_text_streams_and_the_response_comes_last():
    events, waits = answer(text("Hello there, friend."))
    *deltas, response = events
    assert len(deltas) == 3
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == "Hello there, friend."
    assert response == ModelResponse(
        text="Hello there, friend.",
        usage=TokenUsage(input_tokens=DEFAULT_USAGE["prompt_tokens"], output_tokens=DEFAULT_USAGE["completion_tokens"]),
        stop_reason=StopReason.COMPLETE,
        finish_reason="stop",
        response_id="chatcmpl-1",
        response_model="test",
    )
    assert waits == []


def test_parallel_calls_come_in_the_response():
    events, _ = answer(calls(("find", {"q": "ä"}), ("read", {"path": "x"})))
    assert [(call.name, json.loads(call.arguments)) for call in events[-1].tool_calls] == [
        ("find", {"q": "ä"}),
        ("read", {"path": "x"}),
    ]
    assert len(events) == 1


def test_what_the_server_is_sent():
    with ModelServer([text("x")]) as server:
        ask(config(server.url + "/", api_key=KEY))
    request = server.requests[0]
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["user-agent"].startswith("oneclaw/")
    assert request.body["messages"] == [{"role": "user", "content": "hi"}]


def test_without_a_key_there_is_no_authorization():
    with ModelServer([text("x")]) as server:
        ask(config(server.url))
    assert "authorization" not in server.requests[0].headers


def test_a_query_in_the_base_url_is_kept():
    with ModelServer([text("x")]) as server:
        ask(config(server.url + "/?api-version=7"))
    assert server.requests[0].path == "/v1/chat/completions?api-version=7"


def test_a_proxy_in_the_environment_is_not_used_for_this_machine(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    events, _ = answer(text("x"))
    assert events[-1].text == "x"


def test_a_proxy_that_cannot_be_used_is_said_without_its_password(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "ftp://user:hunter22@proxy.test")
    with pytest.raises(SettingsError, match="HTTPS_PROXY") as caught:
        ask(config("https://model.test/v1"))
    assert "hunter22" not in str(caught.value)


def test_a_server_that_does_not_stream_is_understood():
    body = {"choices": [{"message": {"role": "assistant", "content": "Hi."}, "finish_reason": "stop"}]}
    events, _ = answer(raw(json.dumps(body).encode(), content_type="application/json; charset=utf-8"))
    assert [type(event) for event in events] == [TextDelta, ModelResponse]
    assert events[-1].text == "Hi."


def test_no_content_type_missing_reason_and_a_missing_last_blank_line_are_forgiven():
    events, _ = answer(raw(sse([chunk({"content": "Hi."})]), content_type="text/plain"))
    assert events[-1].text == "Hi."
    events, _ = answer(raw(sse([chunk({"content": "Hi."}, "stop")], done=False)))
    assert events[-1].text == "Hi."


def test_what_follows_the_reason_does_not_keep_the_answer_back():
    events, _ = answer(hang_up_after(sse([chunk({"content": "Hi."}, "stop")], done=False)))
    assert events[-1].text == "Hi."


@pytest.mark.parametrize(
    "behind",
    [b"data: oops\n\n", b"data: 5\n\n", b'data: {"error": {"message": "late"}}\n\n'],
    ids=["text", "number", "error"],
)
@pytest.mark.parametrize("has_counts", [True, False])
def test_a_complete_answer_is_not_lost_for_what_comes_behind_it(behind, has_counts):
    chunks = [
        chunk({"content": "Hi."}, "stop"),
        *([{"choices": [], "usage": {"prompt_tokens": 5}}] if has_counts else []),
    ]
    events, _ = answer(raw(sse(chunks, done=False) + behind))
    assert events[-1].text == "Hi."
    assert events[-1].usage.input_tokens == (5 if has_counts else None)


MISSING = [
    "Missing `reasoning_content` field in the assistant message at message index 2. For more information, see ...",
    "The `reasoning_content` in the thinking mode must be passed back to the API.",
]


@pytest.mark.parametrize("message", MISSING)
def test_a_model_that_misses_the_reasoning_of_answers_is_told_that_there_is_none_from_then_on(message):
    refused = status(400, body={"error": {"message": message, "type": "invalid_request_error"}})
    with ModelServer([refused, *[text("x")] * 3]) as server:
        own = {"openai_compatible": {"server": server.url.removesuffix("/v1"), "reasoning_content": "hm"}}
        history = (user("hi"), assistant("of another"), user("and?"), assistant("own", own), user("and now?"))
        asked = [hello(model, messages=history) for model in ("gpt-x", "gpt-x", "gpt-y")]
        ask(config(server.url), *asked)
    sent = [[each.get("reasoning_content") for each in body["messages"]] for body in server.bodies]
    as_it_is, with_none = [None, None, None, "hm", None], [None, "", None, "hm", None]
    assert sent == [as_it_is, with_none, with_none, as_it_is]


def test_reasoning_missed_again_is_an_error():
    refused = status(400, body={"error": {"message": MISSING[0]}})
    assert refusal(refused, refused, refused, kind=ProviderRequestError)[1] == 2


# Broken answers


@pytest.mark.parametrize(
    "stream",
    [
        sse([chunk({"content": "Hi"})], done=False),
        sse([chunk({"content": "Hi"})], done=False) + b'data: {"choices": [{"delta": {"content": " y',
    ],
)
@pytest.mark.parametrize("reply", [raw, hang_up_after])
def test_an_answer_that_breaks_off_is_an_error_and_not_tried_again_once_text_was_shown(reply, stream):
    message, asked = refusal(reply(stream), text("never"), kind=ProviderUnavailableError)
    assert "broke off in the middle of its answer" in message
    assert asked == 1


def test_half_a_call_is_never_given_out_but_asked_for_again():
    function = {"index": 0, "id": "x", "function": {"name": "rm", "arguments": "{}"}}
    half = hang_up_after(sse([chunk({"tool_calls": [function]})], done=False))
    events, waits = answer(half, text("Hi."))
    assert isinstance(events[0], RetryNotice)
    assert "broke off" in events[0].reason
    assert events[-1].tool_calls == ()
    assert len(waits) == 1


def test_a_call_cut_by_a_content_filter_is_an_error():
    function = {"index": 0, "id": "x", "function": {"name": "rm", "arguments": '{"path": "/ho'}}
    message, asked = refusal(
        raw(sse([chunk({"tool_calls": [function]}), chunk({}, "content_filter")])), kind=ProviderRequestError
    )
    assert "by the service's content filter: try again, or say it differently" in message
    assert asked == 1


def test_no_answer_at_all_is_tried_again_and_then_an_error():
    message, asked = refusal(*[hang_up_after()] * 3, kind=ProviderUnreachableError, max_retries=2)
    assert "closed the connection without an answer" in message
    assert asked == 3
    message, asked = refusal(*[raw(b"")] * 2, kind=ProviderUnreachableError, max_retries=1)
    assert "closed the connection without an answer" in message
    assert asked == 2


@pytest.mark.parametrize(
    ("reply", "what"),
    [
        (raw(b"<html>Log in</html>", content_type="text/html"), "web page"),
        (raw(b"data: Hello!\n\n"), "not part of an answer (Hello!)"),
        (raw(b"data: [1]\n\n"), "not part of an answer"),
        (raw(b"data: " + b"[" * 100_000 + b"\n\n"), "not part of an answer"),
        (raw(b"not json", content_type="application/json"), "not part of an answer (not json)"),
        (raw(b'{"what": 1}', content_type="application/json"), "broke off"),
    ],
)
def test_what_is_no_answer_is_said_to_be_none(reply, what):
    message, asked = refusal(reply, max_retries=0)
    assert what in message
    assert asked == 1


def test_a_compressed_bomb_is_not_unpacked():
    reply = raw(b"\x1f\x8b")
    bomb = type(reply)(200, {"Content-Type": "text/event-stream", "Content-Encoding": "gzip, gzip"}, reply.pieces)
    message, _ = refusal(bomb, kind=ProviderRequestError)
    assert "compressed" in message


def test_an_error_inside_an_answer_is_an_error():
    fault = {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": "bad tool"}}}
    message, _ = refusal(
        raw(json.dumps(fault | {"choices": None}).encode(), content_type="application/json"), kind=ProviderRequestError
    )
    assert "Provider returned error - bad tool" in message
    message, asked = refusal(raw(sse([chunk({"content": "Hi"}), {"error": "model crashed"}])), text("never"))
    assert "it says: model crashed" in message
    assert "HTTP" not in message
    assert asked == 1


def test_an_error_inside_an_answer_is_tried_again_before_text_was_shown():
    events, waits = answer(raw(sse([{"error": {"message": "busy", "code": 503}}])), text("Hi."))
    assert events[-1].text == "Hi."
    assert len(waits) == 1


# Refusals


def test_a_missing_key_names_the_variable_to_set():
    message, asked = refusal(status(401), kind=ProviderAuthenticationError)
    assert "wants an API key" in message
    assert "ACME_API_KEY" in message
    assert asked == 1


def test_a_refused_key_names_the_variable_to_set():
    message, _ = refusal(status(401), kind=ProviderAuthenticationError, api_key=KEY)
    assert "ACME_API_KEY or with: oneclaw keys set" in message
    assert "refuses the API key" in message


def test_the_key_is_in_no_error():
    echoes = [
        status(401, body={"error": {"message": f"Incorrect API key provided: {KEY}."}}),
        status(400, body=f"Authorization: Bearer {KEY}".encode()),
        status(400, body={"error": {"message": "x" * 280 + KEY}}),
        status(400, body={"detail": [{"input": {"key": KEY}}]}),
        raw(sse([{"error": {"message": f"no such key {KEY}", "code": 403}}])),
    ]
    for echo in echoes:
        message, _ = refusal(echo, api_key=KEY)
        assert KEY not in message
        assert KEY[:12] not in message


def test_a_password_in_the_base_url_is_in_no_error():
    with ModelServer([status(400, body={"error": {"message": "who is joe:hunter22?"}})]) as server:
        with pytest.raises(ProviderRequestError) as caught:
            ask(config(server.url.replace("//", "//joe:hunter22@")))
        assert server.requests[0].headers["authorization"].startswith("Basic ")
    assert "hunter22" not in str(caught.value)


def test_a_key_that_is_none_is_said_to_be_none_without_showing_it():
    with pytest.raises(ProviderAuthenticationError, match="ACME_API_KEY") as caught:
        ask(config("http://127.0.0.1:1/v1", api_key="sk-abc\x00def"))
    assert "abc" not in str(caught.value)


def test_an_unknown_model_is_named():
    body = {"error": {"message": "The model does not exist", "code": "model_not_found"}}
    message, asked = refusal(status(404, body=body), kind=UnknownModelError)
    assert "no model 'gpt-x'" in message
    assert "The model does not exist" in message
    assert asked == 1
    message, _ = refusal(status(404), name="ollama")
    assert "ollama pull gpt-x" in message


def test_a_refused_request_gives_the_servers_words_short_and_on_one_line():
    body = {"error": {"message": "Invalid\r\n  'tools[0]'\x1b[31m:\x07 " + "long " * 200}}
    message, asked = refusal(status(400, body=body), kind=ProviderRequestError)
    assert "Invalid 'tools[0]' [31m: long long" in message
    assert message.isprintable()
    assert len(message) < 400
    assert asked == 1


@pytest.mark.parametrize(
    "error",
    [
        {"message": "Too big", "code": "context_length_exceeded"},
        {"message": "This model's maximum context length is 8192 tokens"},
    ],
)
def test_a_conversation_that_is_too_long_is_said_to_be(error):
    message, asked = refusal(status(400, body={"error": error}), kind=ContextTooLongError)
    assert "too long for gpt-x" in message
    assert asked == 1


def test_a_used_up_quota_is_not_tried_again():
    body = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
    message, asked = refusal(status(429, body=body), kind=ProviderQuotaError)
    assert "check its plan and billing" in message
    assert asked == 1


def test_a_redirect_is_not_followed():
    message, asked = refusal(status(307, {"Location": "https://elsewhere.test/"}), kind=ProviderRequestError)
    assert "redirects elsewhere" in message
    assert asked == 1


@pytest.mark.parametrize(
    "body", [b"<html>Bad gateway</html>", b"\xff\xfe", b"", b"[]", b"[" * 100_000, b'"x"', b"null"]
)
def test_bodies_of_every_kind_make_a_one_line_error(body):
    message, _ = refusal(status(502, body=body), kind=ProviderUnavailableError, max_retries=0)
    assert "(HTTP 502)" in message
    assert "html" not in message


# Trying again


@pytest.mark.parametrize("code", [408, 409, 429, 500, 502, 503, 529])
def test_passing_faults_are_tried_again_with_a_notice(code):
    events, waits = answer(status(code), status(code), text("Hi."))
    notices = [event for event in events if isinstance(event, RetryNotice)]
    assert [notice.delay_seconds for notice in notices] == waits
    assert 0.375 <= waits[0] <= 0.5 < 0.75 <= waits[1] <= 1
    assert f"HTTP {code}" in notices[0].reason
    assert events[-1].text == "Hi."


def test_the_waits_double_up_to_eight_seconds_and_the_last_failure_is_the_error():
    waits = []

    async def note(seconds):
        waits.append(seconds)

    async def main(settings):
        async with service.opened(settings, sleep=note) as provider:
            async for _ in provider.stream(service.request):
                pass

    with (
        ModelServer([status(500)] * 7) as server,
        pytest.raises(ProviderUnavailableError, match="overloaded or broken"),
    ):
        asyncio.run(main(config(server.url, max_retries=6)))
    assert len(server.requests) == 7
    for wait, longest in zip(waits, [0.5, 1, 2, 4, 8, 8], strict=True):
        assert 0.75 * longest <= wait <= longest


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"Retry-After": "7"}, 7),
        ({"Retry-After": "0"}, 0),
        ({"Retry-After": "7", "Retry-After-Ms": "1500"}, 1.5),
        ({"Retry-After": format_datetime(datetime(2020, 1, 1, tzinfo=UTC), usegmt=True)}, 0),
    ],
)
def test_the_service_says_when_to_ask_again(headers, expected):
    _, waits = answer(status(429, headers), text("Hi."))
    assert waits == [expected]


@pytest.mark.parametrize("value", ["", "soon", "-1", "nan", "inf", "1e999", "Mon, 99 Foo 2020"])
def test_a_retry_after_that_says_nothing_is_passed_over(value):
    assert retry_after_seconds({"retry-after": value}) is None


def test_a_retry_after_date_counts_from_now():
    moment = datetime.now(UTC) + timedelta(seconds=60)
    seconds = retry_after_seconds({"retry-after": format_datetime(moment, usegmt=True)})
    assert seconds == pytest.approx(60, abs=5)


@pytest.mark.parametrize("value", ["3600", "1e300", "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_no_one_waits_longer_than_two_minutes(value):
    message, asked = refusal(status(429, {"Retry-After": value}), kind=ProviderRateLimitError)
    assert "come back in" in message
    assert "UTC" in message
    assert asked == 1


# The connection


def closed_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_a_refused_connection_says_where_and_what_to_check_at_once():
    port = closed_port()
    with pytest.raises(ProviderUnavailableError) as caught:
        ask(config(f"http://127.0.0.1:{port}/v1"))
    assert f"cannot reach acme at http://127.0.0.1:{port}: the connection was refused" in str(caught.value)
    with pytest.raises(ProviderUnavailableError, match="is Ollama running"):
        ask(config(f"http://localhost:{port}/v1", name="ollama"))


def test_a_server_that_speaks_no_tls_is_said_to_be_one():
    with ModelServer([]) as server, pytest.raises(ProviderUnavailableError, match="no secure connection"):
        ask(config(server.url.replace("http:", "https:")))


def test_an_unknown_host_is_said_to_be_one(monkeypatch):
    def unknown(*_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(
        ProviderUnavailableError, match=r"cannot reach acme at http://model\.invalid: the host is not known"
    ):
        ask(config("http://model.invalid/v1", max_retries=1))


@pytest.mark.parametrize("begin", [(), (sse([chunk({"content": "Hi"})], done=False),)])
def test_a_silent_server_is_left_after_the_read_timeout(begin):
    message, asked = refusal(silence(*begin), kind=ProviderSilentError, read_timeout_seconds=0.1)
    assert "stayed silent for 0.1 seconds" in message
    assert asked == 1


@pytest.mark.parametrize(
    "url",
    [
        "model.test/v1",
        "ftp://model.test",
        "http://",
        "https:///v1",
        "http://h:99999/v1",
        "http://h:x/",
        "http://a b/",
        "http://h\x00/",
        "http://[::1/v1",
    ],
)
def test_a_base_url_that_is_none_is_refused(url):
    with pytest.raises(UsageError, match="base URL of provider 'acme'"):
        OpenAIChatProvider(config(url))


@pytest.mark.parametrize("url", ["http://xn--/v1", "http://①②⑦.⓪/v1"])
def test_a_host_that_cannot_be_is_said_to_be_none(url):
    with pytest.raises(ProviderRequestError, match="names no possible host"):
        ask(config(url))


# The list of models


def models(*entries):
    with ModelServer([], models=entries) as server:
        return service.models(server.url)


def test_models_are_listed_with_what_they_can_read():
    assert models(
        {"id": "a", "object": "model"},
        {"id": "b", "context_length": 8192},
        {"id": "c", "max_model_len": 4096},
        {"id": "d", "context_length": "many", "max_input_tokens": True},
        {"id": ""},
        {"name": "x"},
        "y",
    ) == [
        ModelInfo(name="a"),
        ModelInfo(name="b", context_window=8192),
        ModelInfo(name="c", context_window=4096),
        ModelInfo(name="d"),
    ]


def test_what_servers_add_to_their_models_is_understood():
    router = {
        "id": "acme/sees",
        "name": "Acme: Sees",
        "context_length": 1000,
        "architecture": {"input_modalities": ["text", "image", "file", "smell", 3]},
        "top_provider": {"max_completion_tokens": 100},
    }
    assert models(
        router,
        {"id": "m", "name": "m", "max_context_length": 9, "capabilities": {"vision": True}},
        {"id": "n", "capabilities": {"vision": False}, "max_output_tokens": 7},
        {"id": "o", "capabilities": ["vision"], "architecture": {"input_modalities": "text"}, "top_provider": 1},
    ) == [
        ModelInfo(
            name="acme/sees",
            display_name="Acme: Sees",
            context_window=1000,
            max_output_tokens=100,
            input_media_types=("image/", "application/pdf"),
        ),
        ModelInfo(name="m", context_window=9, input_media_types=("image/",)),
        ModelInfo(name="n", max_output_tokens=7, input_media_types=()),
        ModelInfo(name="o"),
    ]


@pytest.mark.parametrize(
    ("url", "takes_pdf"),
    [(None, True), ("https://openrouter.ai/api/v1", True), ("http://localhost:11434/v1", False)],
)
def test_pdfs_are_for_the_servers_that_take_them(url, takes_pdf):
    media_types = OpenAIChatProvider(config(url)).attachment_media_types
    assert ("application/pdf" in media_types) is takes_pdf
    assert "image/png" in media_types


def test_an_unreachable_service_lists_no_models():
    with pytest.raises(ProviderUnavailableError, match="refused"):
        service.models(f"http://127.0.0.1:{closed_port()}/v1")
