"""A request as a wire format writes it, shown without being sent: what is shown is what goes over the wire."""

import pytest
from history_entries import user
from model_server import ModelServer, status
from oneclaw_anthropic.provider import AnthropicProvider
from oneclaw_gemini.provider import GeminiProvider
from oneclaw_offline.provider import OfflineProvider
from oneclaw_openai.chat import OpenAIChatProvider
from oneclaw_openai.responses import OpenAIResponsesProvider
from provider_session import Service, hello

from oneclaw_core.errors import ProviderError
from oneclaw_core.providers.base import ProviderConfig, wire_request
from oneclaw_core.types.tool_groups import ActiveTools
from oneclaw_core.types.tools import ToolDefinition

KEY = "sk-0123456789"
REQUEST = hello(
    "test",
    system_prompt="Be brief.",
    messages=(user("Wie geht's, 世界?"),),
    tools=ActiveTools((ToolDefinition("work", "Works."),)),
    parameters={"temperature": 0.5},
    max_output_tokens=1000,
)

every_wire_format = pytest.mark.parametrize(
    "service",
    [
        pytest.param(Service(OpenAIChatProvider, "openai_compatible", REQUEST), id="openai_compatible"),
        pytest.param(Service(OpenAIResponsesProvider, "openai", REQUEST), id="openai"),
        pytest.param(Service(AnthropicProvider, "anthropic", REQUEST), id="anthropic"),
        pytest.param(Service(GeminiProvider, "gemini", REQUEST), id="gemini"),
    ],
)


@every_wire_format
def test_what_is_shown_is_what_is_sent(service):
    with ModelServer([status(401)]) as server:
        settings = service.config(server.url, api_key=KEY)
        shown = wire_request(service.provider(settings), REQUEST)
        assert server.requests == []
        with pytest.raises(ProviderError):
            service.ask(settings)
        [sent] = server.requests
    assert sent.content == shown.body
    assert shown.url == server.url.removesuffix("/v1") + sent.path
    assert {name.lower(): value for name, value in shown.headers.items()}.items() <= sent.headers.items()
    assert KEY in str(sent.headers)
    assert KEY not in repr(shown)


@every_wire_format
def test_it_needs_no_key_and_no_message(service):
    provider = service.provider(service.config(None))
    assert wire_request(provider, hello("test", messages=())).body.startswith(b"{")


@every_wire_format
def test_what_is_secret_in_a_base_url_is_not_shown(service):
    provider = service.provider(service.config("https://me:password1@lab.example/v1?token=password2"))
    shown = wire_request(provider, REQUEST)
    assert shown.url.startswith("https://lab.example/v1")
    assert "password" not in repr(shown)


def test_a_beta_is_a_header_and_no_part_of_the_body():
    provider = AnthropicProvider(ProviderConfig("anthropic", "anthropic"))
    shown = wire_request(provider, hello("test", parameters={"betas": ["a-beta-2026-01-01"]}))
    assert shown.headers["anthropic-beta"] == "a-beta-2026-01-01"
    assert b"a-beta" not in shown.body


def test_what_sends_nothing_shows_nothing():
    assert wire_request(OfflineProvider(ProviderConfig("offline", "offline")), REQUEST) is None
