"""The data about models: lists of services, the user's overrides and prices.

The lists of services are kept for a day, in a file of the home for each provider, so that the lists of two can be
written at the same time. Prices come from the package `genai-prices`, as they were when its installed version was made:
nothing is fetched. Where a price is not known, the cost is not known; it is never taken for zero.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from oneclaw_core.config.providers import MODEL_SETTING, OFFLINE_TYPE, is_on_this_machine
from oneclaw_core.errors import OneClawError, ProviderError, ProviderUnavailableError, describe_error
from oneclaw_core.system.private_files import KeptFiles, write_private
from oneclaw_core.types.model_requests import ModelInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from oneclaw_core.config.model_overrides import ModelOverrides
    from oneclaw_core.providers.base import Provider, ProviderConfig
    from oneclaw_core.system.home import Home
    from oneclaw_core.types.messages import TokenUsage


FRESH_SECONDS = 24 * 60 * 60

_log = logging.getLogger("oneclaw.models")

_TOKENS_PER_PRICE = 1_000_000


@dataclass(frozen=True, slots=True)
class ModelList:
    """The answer of a service.

    Attributes:
        models: in the service's order.
        fetched_at: when it was asked, in seconds since 1970.
    """

    models: tuple[ModelInfo, ...]
    fetched_at: float

    def is_fresh(self, now: float) -> bool:
        """Return True if the list need not be fetched again; a list from the future was written by a wrong clock."""
        return 0 <= now - self.fetched_at < FRESH_SECONDS

    def find(self, model: str) -> ModelInfo | None:
        """Return the entry of a model; ``None`` if it is not in the list."""
        return next((each for each in self.models if each.name == model), None)


class ModelLists:
    """The kept lists of a home.

    Args:
        home: whose lists; the directory for them is made when one is written.
    """

    def __init__(self, home: Home) -> None:
        self._directory = home.path / "cache" / "models"
        self._files: KeptFiles[tuple[str, ModelList]] = KeptFiles()

    def load(self, config: ProviderConfig) -> ModelList | None:
        """Read what a provider's service said last, however long ago; ``None`` if nothing usable is kept."""
        try:
            service, models = self._files.get(self._path(config), _read)
            return models if service == _service(config) else None  # else the provider is somewhere else now
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
            _log.debug("the kept list of models of %s is of no use: %s", config.name, error)
            return None

    def save(self, config: ProviderConfig, models: Sequence[ModelInfo]) -> None:
        """Keep what a provider's service says now. That it cannot be written stops nothing."""
        document = {"service": _service(config), "fetched_at": time.time(), "models": [asdict(each) for each in models]}
        try:
            write_private(self._path(config), json.dumps(document).encode())
        except OSError as error:
            _log.warning("the list of models of %s cannot be kept: %s", config.name, error)

    async def fetch(
        self, config: ProviderConfig, factory: Callable[[ProviderConfig], Provider], seconds: float
    ) -> ModelList:
        """Ask a service for its models now, and keep what it says.

        Raises:
            OneClawError: it could not be asked.
        """
        try:
            async with asyncio.timeout(seconds):
                # Somebody waits for this: better a quick answer that a service is away than one after many tries.
                provider = factory(replace(config, connect_timeout_seconds=seconds, max_retries=0))
                try:
                    models = await provider.list_models()
                finally:
                    await provider.aclose()
        except TimeoutError:
            raise ProviderUnavailableError(f"{config.name} did not answer within {seconds:.0f} s") from None
        except OneClawError:
            raise
        except Exception as error:
            _log.error(
                "listing the models of %s", config.name, exc_info=error
            )  # a plugin's provider may raise anything
            raise ProviderError(f"{config.name} broke: {describe_error(error)}") from error
        if not config.is_local:
            self.save(config, models)
        return ModelList(tuple(models), time.time())

    def fresh(self, config: ProviderConfig) -> ModelList | None:
        """Return the cached list if it is fresh.

        The list of a service on this machine is never cached: it answers quickly and changes often.
        """
        kept = None if is_on_this_machine(config) else self.load(config)
        return kept if kept is not None and kept.is_fresh(time.time()) else None

    def _path(self, config: ProviderConfig) -> Path:
        # A name in the settings that was put there past the checks stays inside the directory too.
        return self._directory / (config.name.replace("/", "_").lstrip(".") + ".json")


def _read(path: Path) -> tuple[str, ModelList]:
    document = json.loads(path.read_bytes())
    models = ModelList(tuple(map(_model, document["models"])), float(document["fetched_at"]))
    return document["service"], models


def _service(config: ProviderConfig) -> str:
    """Tell services apart without keeping the URL, which may hold a password."""
    return hashlib.sha256(f"{config.type} {config.base_url}".encode()).hexdigest()


def _model(document: dict[str, Any]) -> ModelInfo:
    media_types, behind = document.pop("input_media_types", None), document.pop("models", ())
    types = None if media_types is None else tuple(media_types)
    return ModelInfo(**document, input_media_types=types, models=tuple(behind))


def said_of(stored: Mapping[str, Any], full_model: str) -> ModelOverrides | None:
    """Find what the user says about a model; ``None`` for nothing, which takes no import of pydantic.

    Raises:
        SettingsError: what is stored does not fit.
    """
    if stored.get(MODEL_SETTING + full_model) is None:
        return None
    from oneclaw_core.config.model_overrides import model_overrides

    return model_overrides(stored, full_model)


def model_facts(config: ProviderConfig, model: str, lists: ModelLists, stored: Mapping[str, Any]) -> ModelInfo:
    """Put together what is known about a model, without asking anybody: what the user says, else its service.

    Raises:
        SettingsError: what is stored does not fit.
    """
    kept = lists.load(config)
    known = (kept and kept.find(model)) or ModelInfo(name=model)
    said = said_of(stored, f"{config.name}/{model}")
    return known if said is None else said.applied_to(known)


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
