"""Answers of model services as the field sends them, replayed by a server on loopback.

A line of ``right.toml`` may say:

- about the response: ``status``, ``content_type``, and ``is_cut = true`` if the connection breaks behind the file;
- about what is shown and stored: ``text``, ``thoughts``, ``calls`` (each a name and its arguments), ``stop``;
- about usage: ``input``, ``cached``, ``output``, ``reasoning``;
- about a failure: ``error`` (words of the message), ``error_type``, ``requests`` (how often the service is asked).
"""

import asyncio
import json

import pytest
from field_corpus import observations
from history_entries import user
from model_server import End, ModelServer, Reply
from oneclaw_anthropic.provider import AnthropicProvider
from oneclaw_gemini.provider import GeminiProvider
from oneclaw_openai.chat import OpenAIChatProvider
from oneclaw_openai.responses import OpenAIResponsesProvider

from oneclaw_core.errors import ProviderError
from oneclaw_core.providers.base import ProviderConfig
from oneclaw_core.types.messages import StopReason
from oneclaw_core.types.model_requests import ModelRequest, ModelResponse, ReasoningDelta, TextDelta, TextWithdrawn
from oneclaw_core.types.tool_groups import ActiveTools
from oneclaw_core.types.tools import ToolDefinition

pytestmark = pytest.mark.one_python

PROVIDERS = {
    "chat": (OpenAIChatProvider, "openai_compatible"),
    "responses": (OpenAIResponsesProvider, "openai"),
    "anthropic": (AnthropicProvider, "anthropic"),
    "gemini": (GeminiProvider, "gemini"),
}
CONTENT_TYPES = {".json": "application/json", ".html": "text/html", ".ndjson": "application/x-ndjson"}


def tool(name, *required):
    properties = {each: {"type": "string"} for each in required}
    return ToolDefinition(name, f"Do {name}.", {"type": "object", "properties": properties, "required": [*required]})


TOOLS = ActiveTools(
    (
        tool("get_weather", "city"),
        ToolDefinition("get_time", "Tell the time.", {"type": "object", "properties": {}}, read_only=True),
        tool("write_file", "path", "content"),
    )
)
REQUEST = ModelRequest(model="m", system_prompt="", messages=(user("hi"),), tools=TOOLS, session_id="s")


class Outcome:
    """What comes of an observation: the events of the answer, its response or its error."""

    def __init__(self, observed):
        right = observed.right
        content_type = right.get("content_type", CONTENT_TYPES.get(observed.path.suffix, "text/event-stream"))
        end = End.HANG_UP if right.get("is_cut") else End.COMPLETE
        reply = Reply(right.get("status", 200), {"Content-Type": content_type}, [observed.content], end)
        with ModelServer(lambda body: reply) as server:
            self.events, self.error = asyncio.run(_events(observed.kind, server.url))
            self.requests = len(server.bodies)
        self.response = next((each for each in self.events if isinstance(each, ModelResponse)), None)

    def shown(self, kind):
        texts = []
        for each in self.events:
            if isinstance(each, TextWithdrawn) and kind is TextDelta:
                texts.clear()
            elif isinstance(each, kind):
                texts.append(each.text)
        return "".join(texts)


async def _events(kind, url):
    provider_class, provider_type = PROVIDERS[kind]

    async def no_wait(seconds):
        pass

    provider = provider_class(ProviderConfig("lab", provider_type, url, max_retries=1), sleep=no_wait)
    events = []
    try:
        async with asyncio.timeout(20):
            async for event in provider.stream(REQUEST):
                events.append(event)
    except ProviderError as error:
        return events, error
    finally:
        await provider.aclose()
    return events, None


@pytest.mark.parametrize("observed", observations(*PROVIDERS))
def test_an_answer_of_the_field_is_read(observed):
    outcome, right = Outcome(observed), observed.right
    response = outcome.response
    assert outcome.requests == right.get("requests", 1)
    if "error" in right:
        assert right["error"] in str(outcome.error)
        assert type(outcome.error).__name__ == right.get("error_type", type(outcome.error).__name__)
        assert outcome.shown(TextDelta) == right.get("text", "")
        return
    assert outcome.error is None
    assert (response.text, str(response.stop_reason)) == (right.get("text", ""), right.get("stop", StopReason.COMPLETE))
    assert outcome.shown(TextDelta) == response.text
    assert outcome.shown(ReasoningDelta) == right.get("thoughts", "")
    calls = [[call.name, json.loads(call.arguments)] for call in response.tool_calls]
    assert calls == [[name, json.loads(arguments)] for name, arguments in right.get("calls", [])]
    assert len({call.id for call in response.tool_calls}) == len(calls)
    counted = {
        "input": response.usage.input_tokens,
        "cached": response.usage.cached_input_tokens,
        "output": response.usage.output_tokens,
        "reasoning": response.usage.reasoning_tokens,
    }
    assert {name: counted[name] for name in counted.keys() & right.keys()} == {
        name: right[name] for name in counted.keys() & right.keys()
    }
