"""What all wire formats over HTTP share, each with a service that speaks its own."""

import asyncio
from dataclasses import replace

import messages_stream
import pytest
import responses_stream
from model_server import ModelServer, chunk, named_events, raw, silence, sse
from oneclaw_anthropic.provider import AnthropicProvider
from oneclaw_gemini.provider import GeminiProvider
from oneclaw_http_providers import answer
from oneclaw_http_providers import provider as http_provider
from oneclaw_openai.chat import OpenAIChatProvider
from oneclaw_openai.responses import OpenAIResponsesProvider
from provider_session import Service, hello

from oneclaw_core.errors import ProviderAuthenticationError, SettingsError
from oneclaw_core.types.model_requests import TextDelta, UsageSoFar

pytestmark = pytest.mark.every_python


def gemini(text, **more):
    return {"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}} | more]}


CHAT = Service(OpenAIChatProvider, "openai_compatible", hello("gpt-x"))
RESPONSES = Service(OpenAIResponsesProvider, "openai", hello("gpt-x"))
ANTHROPIC = Service(AnthropicProvider, "anthropic", hello("claude-x"))
GEMINI = Service(GeminiProvider, "gemini", hello("gemini-x"))

CHAT_BEGIN = chunk({"content": "He"})
CHAT_END = chunk({"content": "llo"}, "stop")
CHAT_COUNTS = {"prompt_tokens": 5, "completion_tokens": 9}
GEMINI_COUNTS = {"usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 9}}
SAID = responses_stream.stream(responses_stream.message("Hello"))
WROTE = messages_stream.events(messages_stream.text("Hello"))

# A service, and an answer of it that has only begun.
half_answered = pytest.mark.parametrize(
    ("service", "stream"),
    [
        pytest.param(CHAT, sse([CHAT_BEGIN], done=False), id="openai_compatible"),
        pytest.param(RESPONSES, named_events(SAID[:3]), id="openai"),
        pytest.param(ANTHROPIC, messages_stream.sse(WROTE[:4]), id="anthropic"),
        pytest.param(GEMINI, sse([gemini("He")], done=False), id="gemini"),
    ],
)


@half_answered
def test_closing_the_iterator_closes_the_connection(service, stream):
    async def main(url):
        async with service.opened(service.config(url)) as provider:
            events = provider.stream(service.request)
            while (event := await anext(events)) != TextDelta("He"):
                assert isinstance(event, UsageSoFar)
            await events.aclose()
            return await asyncio.to_thread(server.client_left.wait, 5)

    with ModelServer([silence(stream)]) as server:
        assert asyncio.run(main(server.url))


@half_answered
def test_cancelling_closes_the_connection(service, stream):
    async def main(url):
        begun = asyncio.Event()

        async def read():
            async for _ in provider.stream(service.request):
                begun.set()

        async with service.opened(service.config(url)) as provider:
            task = asyncio.create_task(read())
            await asyncio.wait_for(begun.wait(), 5)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return await asyncio.to_thread(server.client_left.wait, 5)

    with ModelServer([silence(stream)]) as server:
        assert asyncio.run(main(server.url))


# A service, a whole answer of it, and the tokens that it says it wrote.
whole_answer = pytest.mark.parametrize(
    ("service", "stream", "output_tokens"),
    [
        pytest.param(CHAT, sse([CHAT_BEGIN, CHAT_END]), None, id="openai_compatible-done"),
        pytest.param(CHAT, sse([CHAT_BEGIN, CHAT_END, chunk(usage=CHAT_COUNTS)], done=False), 9, id="its-counts-last"),
        pytest.param(CHAT, sse([CHAT_BEGIN, CHAT_END | {"usage": CHAT_COUNTS}], done=False), 9, id="its-counts-within"),
        pytest.param(RESPONSES, named_events(SAID), 20, id="openai"),
        pytest.param(ANTHROPIC, messages_stream.sse(WROTE), 42, id="anthropic"),
        pytest.param(
            GEMINI, sse([gemini("He"), gemini("llo", finishReason="STOP") | GEMINI_COUNTS], done=False), 9, id="gemini"
        ),
    ],
)


@whole_answer
def test_a_connection_kept_open_after_the_last_event_does_not_keep_the_answer_back(
    service, stream, output_tokens, monkeypatch
):
    monkeypatch.setattr(answer, "_COUNTS_SECONDS", 3600)
    [response] = [event for event in service.answer(silence(stream))[0] if not isinstance(event, TextDelta)]
    assert response.text == "Hello"
    assert response.usage.output_tokens == output_tokens


@whole_answer
def test_the_connection_is_used_again(service, stream, output_tokens):
    with ModelServer(lambda _: raw(stream)) as server:
        answers = service.ask(service.config(server.url), *[service.request] * 3).answers
    assert [events[-1].usage.output_tokens for events in answers] == [output_tokens] * 3
    assert server.connections == 1


@pytest.mark.parametrize(
    ("service", "end"),
    [
        pytest.param(CHAT, sse([CHAT_BEGIN, CHAT_END], done=False), id="openai_compatible"),
        pytest.param(GEMINI, sse([gemini("Hello", finishReason="STOP")], done=False), id="gemini"),
        pytest.param(ANTHROPIC, messages_stream.sse(WROTE[:-1]), id="anthropic"),
    ],
)
def test_counts_that_never_come_do_not_keep_the_answer_back_for_long(service, end, monkeypatch):
    monkeypatch.setattr(answer, "_COUNTS_SECONDS", 0.05)
    assert service.answer(silence(end))[0][-1].text == "Hello"


@pytest.mark.parametrize(("url", "is_https"), [("http://127.0.0.1:9/v1", False), ("HTTPS://a.test/v1", True)])
def test_certificates_are_read_for_https_alone(url, is_https, monkeypatch):
    wanted = []

    def connect(*, is_for_https, **_):
        wanted.append(is_for_https)
        raise SettingsError("that is enough")

    monkeypatch.setattr(http_provider, "create_client", connect)
    with pytest.raises(SettingsError, match="that is enough"):
        CHAT.models(url)
    assert wanted == [is_https]


VENDORS = [
    pytest.param(CHAT, "https://EU.api.openai.com/v1/", id="openai_compatible"),
    pytest.param(RESPONSES, "https://api.openai.com:443", id="openai"),
    pytest.param(ANTHROPIC, "https://api.anthropic.com/v1", id="anthropic"),
    pytest.param(GEMINI, "https://generativelanguage.googleapis.com/v1", id="gemini"),
]


@pytest.mark.parametrize("key", [None, "", " \n"])
@pytest.mark.parametrize(("service", "url"), VENDORS)
def test_a_vendor_is_not_asked_without_a_key(service, url, key, monkeypatch):
    def connect(**_):
        raise AssertionError("no one is to be asked")

    monkeypatch.setattr(http_provider, "create_client", connect)
    for base_url in (None, url):
        settings = replace(service.config(base_url), api_key=key)
        wanted = r"set the key in the environment variable ACME_API_KEY or with: oneclaw keys set acme$"
        with pytest.raises(ProviderAuthenticationError, match=wanted):
            service.ask(settings)
        with pytest.raises(ProviderAuthenticationError, match=wanted):
            service.models(base_url, api_key=key)


@pytest.mark.parametrize("service", [CHAT, RESPONSES, ANTHROPIC, GEMINI], ids=lambda each: each.type)
def test_another_server_is_asked_without_a_key(service):
    with ModelServer([], [{"id": "x", "name": "models/x"}]) as server:
        assert [model.name for model in service.models(server.url)] == ["x"] * (service is not GEMINI)
