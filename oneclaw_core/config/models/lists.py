"""What services say about their models, kept for a day: the lists that ``oneclaw models list`` shows.

A file in the home for each provider, so that the lists of two can be written at the same time.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from oneclaw_core.config.models.provider_configs import OFFLINE_TYPE, is_on_this_machine
from oneclaw_core.errors import OneClawError, ProviderError, ProviderUnavailableError
from oneclaw_core.private_files import KeptFiles, write_private
from oneclaw_core.providers.base import ModelInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from oneclaw_core.config.home import Home
    from oneclaw_core.providers.base import Provider, ProviderConfig

FRESH_SECONDS = 24 * 60 * 60

_log = logging.getLogger("oneclaw.models")


@dataclass(frozen=True, slots=True)
class ModelList:
    """What a service said.

    Attributes:
        models: in the service's order.
        fetched_at: when it was asked, in seconds since 1970.
    """

    models: tuple[ModelInfo, ...]
    fetched_at: float

    def is_fresh(self, now: float) -> bool:
        """Whether it need not be fetched again; a list from the future was written by a clock that was wrong."""
        return 0 <= now - self.fetched_at < FRESH_SECONDS

    def age_text(self) -> str:
        """Say how old the list is, such as ``3 hours``."""
        seconds = max(time.time() - self.fetched_at, 0)
        for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
            if (count := int(seconds // length)) > 0:
                return f"{count} {unit}{'' if count == 1 else 's'}"
        return "a moment"

    def find(self, model: str) -> ModelInfo | None:
        """What was said about a model, ``None`` if it is not in the list."""
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

    def known_model(self, config: ProviderConfig, model: str) -> ModelInfo | None:
        """Look up what is known about a model without asking anybody.

        Args:
            config: its provider.
            model: its name there.
        """
        kept = self.load(config)
        return kept.find(model) if kept is not None else None

    async def fetch(
        self, config: ProviderConfig, factory: Callable[[ProviderConfig], Provider], seconds: float
    ) -> ModelList:
        """Ask a service for its models now, and keep what it says.

        Args:
            config: its provider, with the key.
            factory: of the provider type.
            seconds: how long that may take.

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
            raise ProviderError(f"{config.name} broke: {type(error).__name__}: {error}") from error
        if config.type != OFFLINE_TYPE:
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
    media_types = document.pop("input_media_types", None)
    return ModelInfo(**document, input_media_types=None if media_types is None else tuple(media_types))
