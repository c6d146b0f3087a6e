"""Prices of requests to models.

Prices come from the package `genai-prices`, as they were when its installed version was made: nothing is fetched. Where
a price is not known, the cost is not known; it is never taken for zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from oneclaw_core.config.providers import OFFLINE_TYPE

if TYPE_CHECKING:
    from oneclaw_core.providers.base import ProviderConfig
    from oneclaw_core.types.messages import TokenUsage

_TOKENS_PER_PRICE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPrices:
    """The prices of a model stated by the user, in US dollars per million tokens.

    Attributes:
        input: of input tokens.
        output: of output tokens, reasoning included.
        cached_input: of input tokens read from the service's prompt cache, ``None`` for as much as any.
        cache_write: of input tokens written to it, ``None`` for as much as any.
    """

    input: float
    output: float
    cached_input: float | None = None
    cache_write: float | None = None


_LOCAL_DOMAINS = (".local", ".localhost", ".internal", ".lan", ".home.arpa")


@cache
def load_prices() -> None:
    """Read the known prices, which takes about 0.3 s once in a process.

    To be called in a thread while the model answers, so that :func:`cost_of` need not wait for it.
    """
    from genai_prices.data_snapshot import get_snapshot

    get_snapshot()


def needs_prices(config: ProviderConfig, prices: ModelPrices | None = None) -> bool:
    """Return True if :func:`cost_of` reads the known prices, which are not read yet."""
    return prices is None and _may_have_price(config) and not load_prices.cache_info().currsize


def _may_have_price(config: ProviderConfig) -> bool:
    """Return False for what never has a known price, such as a server in the user's own network."""
    if config.type == OFFLINE_TYPE:
        return False
    if config.base_url is None:
        return config.price_vendor is not None
    try:
        host = urlsplit(config.base_url).hostname or ""
    except ValueError:
        return False
    # Neither an address in numbers nor a name without a domain.
    return "." in host and host.rpartition(".")[2].isalpha() and not host.endswith(_LOCAL_DOMAINS)


def cost_of(config: ProviderConfig, model: str, usage: TokenUsage, prices: ModelPrices | None = None) -> float | None:
    """Find out what a request cost, with the rates for cached input and for writing to the cache.

    The offline model costs nothing. A service at another address than its vendor's costs what is known of that
    address: servers of one's own, such as Ollama, have no known price.

    Args:
        config: the service.
        model: the model's name there.
        usage: what the request used. Cached tokens that the service does not tell count as ordinary input, which
            is the most it can cost.
        prices: what the user says it costs; goes before all else.

    Returns:
        US dollars; ``None`` where a price or a number of tokens is not known.
    """
    if config.type == OFFLINE_TYPE:
        return 0.0
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    if prices is not None:
        return _cost_at(prices, usage)
    if not _may_have_price(config):
        return None
    # Half a second of imports, for which a turn with the offline model has no use.
    from genai_prices import Usage, calc_price

    # Gemini lists its models as "models/NAME".
    name = model.removeprefix("models/")
    try:
        tokens = Usage(
            input_tokens=usage.input_tokens,
            cache_read_tokens=usage.cached_input_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            output_tokens=usage.output_tokens,
        )
        if config.base_url is not None:
            found = calc_price(tokens, name, provider_api_url=config.base_url)
        elif config.price_vendor is not None:
            found = calc_price(tokens, name, provider_id=config.price_vendor)
        else:
            return None
    except (LookupError, ValueError):
        # No such service or model there, or numbers of tokens that cannot be.
        return None
    if found.model_price.input_mtok is None or found.model_price.output_mtok is None:
        # What has no price would count as free.
        return None
    return float(found.total_price)


def _cost_at(prices: ModelPrices, usage: TokenUsage) -> float | None:
    cached, written, answered = (
        tokens or 0 for tokens in (usage.cached_input_tokens, usage.cache_write_tokens, usage.output_tokens)
    )
    ordinary = (usage.input_tokens or 0) - cached - written
    if min(ordinary, cached, written, answered) < 0:
        return None
    total = (
        ordinary * prices.input
        + cached * (prices.input if prices.cached_input is None else prices.cached_input)
        + written * (prices.input if prices.cache_write is None else prices.cache_write)
        + answered * prices.output
    )
    return total / _TOKENS_PER_PRICE
