"""The usage of answers that do not end, as each wire format tells it."""

import asyncio

import messages_stream
import pytest
import responses_stream
from model_server import ModelServer, calls, chunk, hang_up_after, named_events, raw, sse, status
from oneclaw_anthropic.provider import AnthropicProvider
from oneclaw_gemini.provider import GeminiProvider
from oneclaw_openai.chat import OpenAIChatProvider
from oneclaw_openai.responses import OpenAIResponsesProvider
from provider_session import Service, hello

from oneclaw_core.errors import ProviderError
from oneclaw_core.types.messages import TokenUsage
from oneclaw_core.types.model_requests import ArgumentsDelta, RetryNotice, UsageSoFar

CHAT = Service(OpenAIChatProvider, "openai_compatible", hello("gpt-x"))
RESPONSES = Service(OpenAIResponsesProvider, "openai", hello("gpt-x"))
ANTHROPIC = Service(AnthropicProvider, "anthropic", hello("claude-x"))
GEMINI = Service(GeminiProvider, "gemini", hello("gemini-x"))

NOTHING_COUNTED = TokenUsage(is_at_least=True)
FREE = TokenUsage(input_tokens=0, output_tokens=0)
CHAT_COUNTS = {"prompt_tokens": 5, "completion_tokens": 9}
GEMINI_COUNTS = {"usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 9}}
MESSAGE_START = TokenUsage(
    input_tokens=240, cached_input_tokens=200, cache_write_tokens=30, output_tokens=1, is_at_least=True
)
WROTE = messages_stream.events(messages_stream.text("Hello"))
CALLED = messages_stream.events(messages_stream.call("find", {"q": "a long question"}))


def attempt(service, reply):
    """The events of one attempt, whatever happens to it."""

    async def main(url):
        found = []
        async with service.opened(service.config(url, max_retries=0)) as provider:
            try:
                async for event in provider.stream(service.request):
                    found.append(event)
            except ProviderError:
                pass
        return found

    with ModelServer([reply]) as server:
        return asyncio.run(main(server.url))


def usage(service, reply):
    """The last that an attempt says about its usage."""
    return [event.usage for event in attempt(service, reply) if isinstance(event, UsageSoFar)][-1]


@pytest.mark.parametrize(
    ("service", "stream", "counted"),
    [
        pytest.param(CHAT, sse([chunk({"content": "He"})], done=False), NOTHING_COUNTED, id="openai_compatible"),
        pytest.param(
            CHAT,
            sse([chunk({"content": "He"}, usage={"prompt_tokens": 5, "completion_tokens": 1})], done=False),
            TokenUsage(input_tokens=5, output_tokens=1, is_at_least=True),
            id="openai_compatible-that-counts-along",
        ),
        pytest.param(
            RESPONSES,
            named_events(responses_stream.stream(responses_stream.message("Hello"))[:3]),
            NOTHING_COUNTED,
            id="openai",
        ),
        pytest.param(ANTHROPIC, messages_stream.sse(WROTE[:1]), MESSAGE_START, id="anthropic"),
        pytest.param(
            GEMINI,
            sse([{"candidates": [{"content": {"parts": [{"text": "He"}]}}]} | GEMINI_COUNTS], done=False),
            TokenUsage(input_tokens=5, output_tokens=9, is_at_least=True),
            id="gemini",
        ),
    ],
)
def test_an_answer_that_breaks_off_has_used_what_was_counted_by_then(service, stream, counted):
    assert usage(service, hang_up_after(stream)) == counted


@pytest.mark.parametrize(
    ("service", "reply", "counted"),
    [
        pytest.param(
            CHAT,
            raw(
                sse(
                    [
                        chunk({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": '{"'}}]}),
                        chunk({}, "content_filter"),
                        chunk(usage=CHAT_COUNTS),
                    ]
                )
            ),
            TokenUsage(input_tokens=5, output_tokens=9),
            id="openai_compatible-cut-by-its-filter",
        ),
        pytest.param(
            RESPONSES,
            raw(named_events(responses_stream.stream(status="failed", error={"code": "server_error"}))),
            TokenUsage(
                input_tokens=100, cached_input_tokens=64, cache_write_tokens=32, output_tokens=20, reasoning_tokens=15
            ),
            id="openai-failed",
        ),
        pytest.param(
            ANTHROPIC,
            messages_stream.reply(messages_stream.text("I"), stop_reason="refusal"),
            TokenUsage(
                input_tokens=240, cached_input_tokens=200, cache_write_tokens=30, output_tokens=42, reasoning_tokens=7
            ),
            id="anthropic-refusal",
        ),
        pytest.param(
            GEMINI,
            raw(sse([{"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]} | GEMINI_COUNTS], done=False)),
            TokenUsage(input_tokens=5, output_tokens=9),
            id="gemini-malformed-call",
        ),
    ],
)
def test_an_answer_that_the_service_gives_up_has_final_counts(service, reply, counted):
    assert usage(service, reply) == counted


@pytest.mark.parametrize(
    ("service", "events"),
    [
        (CHAT, [chunk({"role": "assistant", "content": ""}), {"error": {"message": "busy", "code": 503}}]),
        (RESPONSES, [{"type": "error", "code": "server_error", "message": "busy"}]),
        (GEMINI, [{"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}]),
    ],
    ids=["openai_compatible", "openai", "gemini"],
)
def test_a_service_that_fails_before_it_says_anything_has_used_nothing(service, events):
    assert attempt(service, raw(sse(events)))[-1:] in ([], [UsageSoFar(FREE)])


@pytest.mark.parametrize("service", [CHAT, RESPONSES, ANTHROPIC, GEMINI])
def test_a_request_that_is_refused_has_no_usage(service):
    assert attempt(service, status(400)) == []


@pytest.mark.parametrize(
    ("service", "reply"),
    [
        (CHAT, calls(("find", {"q": "a long question"}))),
        (RESPONSES, raw(named_events(responses_stream.stream(responses_stream.call("find", {"q": 1}, call_id="c"))))),
        (ANTHROPIC, raw(messages_stream.sse(CALLED))),
    ],
    ids=["openai_compatible", "openai", "anthropic"],
)
def test_the_arguments_of_calls_are_told_as_they_come(service, reply):
    events = attempt(service, reply)
    written = "".join(event.text for event in events if isinstance(event, ArgumentsDelta))
    assert written == events[-1].tool_calls[0].arguments


def test_an_answer_that_nothing_was_shown_of_is_asked_for_again():
    async def main(url):
        async with ANTHROPIC.opened(ANTHROPIC.config(url), first_retry_seconds=0) as provider:
            return [event async for event in provider.stream(ANTHROPIC.request)]

    begun = hang_up_after(messages_stream.sse(CALLED[:5]))
    with ModelServer([begun, messages_stream.reply(messages_stream.text("ok"))]) as server:
        events = asyncio.run(main(server.url))
    assert any(isinstance(event, RetryNotice) for event in events)
    assert events[-1].text == "ok"
