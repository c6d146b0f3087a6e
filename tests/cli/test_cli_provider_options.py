"""Headers, timeouts, concurrency and reasoning of a provider."""

import asyncio
import io
import logging
import string
import sys
from dataclasses import replace

import pytest
from how_long import some
from hypothesis import given
from hypothesis import strategies as st
from model_server import ModelServer, silence, text
from oneclaw_anthropic.provider import AnthropicProvider
from oneclaw_http_providers.provider import HttpProvider
from oneclaw_openai.chat import OpenAIChatProvider
from provider_session import hello

from oneclaw_core.config.keys import KeyStore, known_secret_check
from oneclaw_core.config.provider_options import check_header
from oneclaw_core.config.providers import lacks_key
from oneclaw_core.errors import ProviderUnavailableError, SettingsError
from oneclaw_core.providers.base import ProviderConfig
from oneclaw_core.secrets.redaction import redact
from oneclaw_core.system.home import find_home

SECRET = "gateway-secret-4711-abcdefgh"


def lab(ok, url="https://lab.example/v1", *options):
    return ok("providers", "add", "lab", "--type", "openai_compatible", "--base-url", url, *options)


def described(ok, name="lab"):
    return next(each for each in ok("providers", "list", "--json") if each["name"] == name)


def ask(provider: HttpProvider):
    async def answer():
        try:
            return [event async for event in provider.stream(hello("m"))][-1]
        finally:
            await provider.aclose()

    return asyncio.run(answer())


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("X-Team", "a\r\nHost: evil", "visible ASCII"),
        ("X-Team", "a\nb", "visible ASCII"),
        ("X-Team", "a\x00b", "visible ASCII"),
        ("X-Team", "käse", "visible ASCII"),
        ("X-Team", "x" * 8_193, "visible ASCII"),
        ("X-Team", "  ", "visible ASCII"),
        ("X Team", "a", "that is not a header"),
        ("X-Team:", "a", "that is not a header"),
        ("X\r\nHost", "a", "that is not a header"),
        (f"Authorization: Bearer {SECRET}", "a", "that is not a header"),
        ("", "a", "that is not a header"),
        ("Host", "a", "cannot be set"),
        ("content-length", "0", "cannot be set"),
        ("Transfer-Encoding", "chunked", "cannot be set"),
        ("Proxy-Authorization", "Basic x", "cannot be set"),
    ],
)
def test_hostile_headers_are_refused_and_their_values_not_repeated(name, value, says):
    with pytest.raises(SettingsError, match=says) as refused:
        check_header(name, value)
    assert SECRET not in str(refused.value)
    assert len(value) < 3 or value not in str(refused.value)


@given(st.text(max_size=20), st.text(max_size=20))
def test_an_accepted_header_is_one_line_of_a_request(name, value):
    try:
        checked = check_header(name, value)
    except SettingsError:
        return
    assert set(name) <= {*string.ascii_letters, *string.digits, *"!#$%&'*+.^_`|~-"}
    assert all(" " <= character <= "~" for character in checked)


def test_headers_are_sent_and_never_shown(ok, oneclaw, home, caplog):
    with caplog.at_level(logging.DEBUG), ModelServer([text("Hello.")]) as server:
        shown = lab(ok, server.url, "--header", f"X-Gateway={SECRET}", "--header", "X-Team=blue")
        shown += oneclaw("providers", "set", "lab", "--header", "X-Late=", "--timeout", "7").stdout
        outcome = oneclaw("run", "--model", "lab/m", "Hi")
        shown += outcome.stdout + outcome.stderr + oneclaw("prompt", "--model", "lab/m", "--wire").stdout
    assert outcome.status == 0, outcome.stderr
    sent = server.requests[0].headers
    assert (sent["x-gateway"], sent["x-team"]) == (SECRET, "blue")
    stored = oneclaw("config", "list").stdout + oneclaw("providers", "list", "--json").stdout
    stored += oneclaw("keys", "list").stdout + oneclaw("doctor").stdout
    assert SECRET not in shown + stored + caplog.text
    assert "lab:headers" not in stored
    assert described(ok)["headers"] == ["X-Gateway", "X-Team"]
    assert described(ok)["timeout_seconds"] == 7
    assert known_secret_check(find_home())(f"it is {SECRET}, is it not")


def test_a_header_is_read_from_standard_input_and_taken_away_again(ok, oneclaw, monkeypatch):
    lab(ok)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{SECRET}\n".encode())))
    assert "headers: X-Gateway" in ok("providers", "set", "lab", "--header", "X-Gateway")
    assert asyncio.run(KeyStore(find_home(), {}).find_headers("lab", "https://lab.example:443")) == {
        "X-Gateway": SECRET
    }
    ok("providers", "set", "lab", "--header", "X-More=two")
    assert described(ok)["headers"] == ["X-Gateway", "X-More"]
    ok("providers", "set", "lab", "--header", "x-gateway=")
    assert described(ok)["headers"] == ["X-More"]
    ok("providers", "set", "lab", "--header", "X-More=")
    assert described(ok)["headers"] == []
    assert KeyStore(find_home(), {})._secrets.stored() == {}


def test_headers_belong_to_the_server_that_they_were_set_for(ok, oneclaw, monkeypatch):
    with ModelServer([]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", "https://one.example/v1")
        ok("providers", "set", "openai_compatible", "--header", f"X-Gateway={SECRET}")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        outcome = oneclaw("run", "--model", "openai_compatible/m", "Hi")
    assert outcome.status != 0
    assert f"were set for https://one.example:443, and it is at {server.url.removesuffix('/v1')} now" in outcome.stderr
    assert "oneclaw providers set openai_compatible --header" in outcome.stderr
    assert server.requests == []


@pytest.mark.long
def test_a_removed_provider_leaves_no_headers(ok):
    lab(ok, "https://lab.example/v1", "--header", f"X-Gateway={SECRET}")
    ok("providers", "remove", "lab")
    assert KeyStore(find_home(), {})._secrets.stored() == {}
    lab(ok)
    assert described(ok)["headers"] == []


def test_a_header_that_carries_a_key_and_a_key_exclude_each_other(oneclaw, ok, monkeypatch):
    lab(ok)
    monkeypatch.setenv("LAB_API_KEY", "sk-0123456789")
    outcome = oneclaw("providers", "set", "lab", "--header", f"Authorization=Bearer {SECRET}")
    assert outcome.status != 0
    assert "has a key" in outcome.stderr
    both = ProviderConfig("lab", "openai_compatible", "http://127.0.0.1:9/v1", "k", headers={"authorization": SECRET})
    with pytest.raises(SettingsError, match="clashes with what is sent anyway"):
        ask(OpenAIChatProvider(both))
    own = ProviderConfig("lab", "anthropic", "http://127.0.0.1:9/v1", headers={"Anthropic-Version": "1"})
    with pytest.raises(SettingsError, match="anthropic-version"):
        ask(AnthropicProvider(own))


def test_a_vendors_own_service_needs_no_key_where_a_header_carries_one(monkeypatch):
    config = ProviderConfig("acme", "openai_compatible", headers={"Authorization": f"Bearer {SECRET}"})
    assert OpenAIChatProvider(config)._headers("x")["Authorization"] == f"Bearer {SECRET}"


@pytest.mark.parametrize(
    "options",
    some(
        [
            ["--timeout", "0"],
            ["--timeout", "soon"],
            ["--timeout", "nan"],
            ["--timeout", "1e9"],
            ["--concurrency", "0"],
            ["--concurrency", "-1"],
            ["--concurrency", "many"],
            ["--reasoning", "lots"],
            ["--header", "Host=evil"],
            ["--header", "X-A=1", "--header", "X-A=2"],
            ["--header", "X-A=1", "--header", "x-a=2"],
            [],
        ],
        3,
    ),
)
def test_what_cannot_be_set_changes_nothing(ok, oneclaw, options):
    lab(ok)
    before = described(ok)
    assert oneclaw("providers", "set", "lab", *options).status == 2
    assert oneclaw("providers", "set", "offline", "--timeout", "9").status == 2
    assert described(ok) == before


def test_options_are_set_and_taken_away(ok):
    lab(ok, "https://lab.example/v1", "--timeout", "1200", "--concurrency", "2", "--reasoning", "low")
    ok("providers", "set", "ollama", "--timeout", "900")
    assert described(ok, "ollama")["timeout_seconds"] == 900
    found = described(ok)
    assert (found["timeout_seconds"], found["concurrency"], found["reasoning"]) == (1200, 2, "low")
    ok("providers", "set", "lab", "--timeout", "none", "--concurrency", "none", "--reasoning", "none")
    found = described(ok)
    assert (found["timeout_seconds"], found["concurrency"], found["reasoning"]) == (300, None, None)


def test_the_timeout_is_how_long_the_service_may_be_silent():
    with ModelServer([silence()]) as server:
        config = ProviderConfig("lab", "openai_compatible", server.url, read_timeout_seconds=0.1, max_retries=0)
        with pytest.raises(ProviderUnavailableError, match=r"silent for 0.1 seconds; .*providers set lab --timeout"):
            ask(OpenAIChatProvider(config))


@pytest.mark.long
def test_the_level_of_a_provider_is_for_all_its_models(ok, oneclaw):
    with ModelServer([text("a"), text("b")]) as server:
        lab(ok, server.url, "--reasoning", "high")
        ok("models", "set", "lab/quick", "reasoning", "off")
        for model in ("lab/m", "lab/quick"):
            ok("run", "--model", model, "Hi")
    assert [body["reasoning_effort"] for body in server.bodies] == ["high", "none"]


def test_a_header_that_carries_a_key_is_enough_for_a_vendors_own_service(home):
    config = ProviderConfig("openai", "openai", is_preconfigured=True)
    keys = KeyStore(find_home(), {})
    assert lacks_key(config, keys)
    assert not lacks_key(replace(config, header_names=("Authorization",)), keys)


def test_what_says_who_asks_is_no_secret(ok):
    lab(ok, "https://lab.example/v1", "--header", "HTTP-Referer=https://app.example.com", "--header", f"X-Key={SECRET}")
    asyncio.run(KeyStore(find_home(), {}).find_headers("lab", "https://lab.example:443"))
    assert redact("see https://app.example.com", {}) == "see https://app.example.com"
    assert SECRET not in redact(f"it is {SECRET}", {})
