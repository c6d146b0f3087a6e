"""What requests cost."""

from __future__ import annotations

import socket
import subprocess
import sys
from typing import Any

import pytest

from oneclaw_core.config.models import ModelPrices, cost_of, load_prices, needs_prices
from oneclaw_core.plugins.loading.load_plugins import load_plugins
from oneclaw_core.providers.base import ProviderConfig
from oneclaw_core.types.messages import TokenUsage

pytestmark = pytest.mark.lowest_versions

TOKENS = TokenUsage(input_tokens=1_000_000, output_tokens=1_000_000)

KNOWN = load_plugins(frozenset()).known_providers


def provider(type_name: str, base_url: str | None = None) -> ProviderConfig:
    return ProviderConfig(name="p", type=type_name, base_url=base_url, price_vendor=KNOWN.price_vendors.get(type_name))


def test_the_offline_model_costs_nothing_and_needs_no_prices() -> None:
    assert cost_of(provider("offline"), "rules", TokenUsage()) == 0
    assert needs_prices(provider("offline")) is False


def test_prices_are_read_once_and_only_if_one_is_wanted() -> None:
    load_prices.cache_clear()
    assert needs_prices(provider("openai")) is True
    assert needs_prices(provider("openai"), ModelPrices(input=1, output=1)) is False
    load_prices()
    assert needs_prices(provider("openai")) is False


@pytest.mark.parametrize(
    ("config", "model", "dollars"),
    [
        (provider("anthropic"), "claude-sonnet-4-5", 6 + 22.5),
        (provider("anthropic"), "claude-sonnet-4-5-20250929", 6 + 22.5),
        (provider("openai"), "gpt-4o", 2.5 + 10),
        (provider("openai_compatible"), "gpt-4o", 2.5 + 10),
        (provider("openai_compatible", "https://api.openai.com/v1"), "gpt-4o", 2.5 + 10),
        (provider("gemini"), "gemini-2.5-flash", 0.3 + 2.5),
        (provider("gemini"), "models/gemini-2.5-flash", 0.3 + 2.5),
        (provider("anthropic", "https://api.anthropic.com"), "claude-sonnet-4-5", 6 + 22.5),
    ],
)
def test_the_vendors_prices_are_known(config: ProviderConfig, model: str, dollars: float) -> None:
    assert cost_of(config, model, TOKENS) == pytest.approx(dollars)


def test_cached_and_written_tokens_have_their_own_rates() -> None:
    usage = TokenUsage(
        input_tokens=100_000,
        cached_input_tokens=60_000,
        cache_write_tokens=30_000,
        output_tokens=1_000,
        reasoning_tokens=900,
    )
    expected = (10_000 * 3 + 60_000 * 0.3 + 30_000 * 3.75 + 1_000 * 15) / 1_000_000
    assert cost_of(provider("anthropic"), "claude-sonnet-4-5", usage) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("config", "model"),
    [
        (provider("openai"), "a-model-of-tomorrow"),
        (provider("openai"), ""),
        (provider("openai_compatible", "http://localhost:11434/v1"), "llama3.3"),
        (provider("openai_compatible", "http://localhost:11434/v1"), "gpt-4o"),
        (provider("openai_compatible", "https://user:secret@gateway.example/v1"), "gpt-4o"),
        (provider("anthropic", "http://[broken"), "claude-sonnet-4-5"),
        (provider("somebodys_format"), "gpt-4o"),
        # It is listed without any price.
        (provider("gemini"), "gemma-3"),
        # It is listed with a price for input only.
        (provider("openai"), "text-embedding-3-small"),
    ],
)
def test_an_unknown_price_is_unknown(config: ProviderConfig, model: str) -> None:
    assert cost_of(config, model, TOKENS) is None


@pytest.mark.parametrize(
    "usage",
    [
        TokenUsage(),
        TokenUsage(input_tokens=10),
        TokenUsage(output_tokens=10),
        TokenUsage(input_tokens=10, cached_input_tokens=11, output_tokens=1),
        TokenUsage(input_tokens=10, cached_input_tokens=6, cache_write_tokens=6, output_tokens=1),
        TokenUsage(input_tokens=-1, output_tokens=1),
        TokenUsage(input_tokens=1, output_tokens=-1),
    ],
)
@pytest.mark.parametrize("prices", [None, ModelPrices(input=1, output=1)])
def test_numbers_of_tokens_that_are_missing_or_cannot_be_have_no_cost(
    usage: TokenUsage, prices: ModelPrices | None
) -> None:
    assert cost_of(provider("anthropic"), "claude-sonnet-4-5", usage, prices) is None


def test_what_the_user_says_goes_first() -> None:
    local = provider("openai_compatible", "http://localhost:11434/v1")
    usage = TokenUsage(input_tokens=100, cached_input_tokens=50, cache_write_tokens=20, output_tokens=10)

    def cost(**prices: Any) -> float | None:
        return cost_of(local, "llama3.3", usage, ModelPrices(**prices))

    assert cost(input=0, output=0) == 0
    assert cost(input=1, output=10) == pytest.approx(200 / 1e6)
    assert cost(input=1, output=10, cached_input=0.1, cache_write=2) == pytest.approx((30 + 5 + 40 + 100) / 1e6)
    assert cost_of(provider("openai"), "gpt-4o", TOKENS, ModelPrices(input=1, output=1)) == pytest.approx(2)


def test_no_price_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("the network was used")

    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, refuse)
    load_prices()
    assert cost_of(provider("openai"), "gpt-4o", TOKENS) is not None


def test_nothing_is_imported_before_a_price_is_wanted() -> None:
    code = "import sys, oneclaw_core.config.models; print('genai_prices' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "False\n"
