"""The data about models: the lists of services, and the user's overrides.

The lists are kept for a day, in a file of the home for each provider, so that the lists of two can be written at the
same time.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from oneclaw_core.config.providers import MODEL_SETTING, is_on_this_machine
from oneclaw_core.errors import OneClawError, ProviderError, ProviderUnavailableError, describe_error
from oneclaw_core.system.private_files import KeptFiles, write_private
from oneclaw_core.types.model_requests import ModelInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from oneclaw_core.config.model_overrides import ModelOverrides
    from oneclaw_core.providers.base import Provider, ProviderConfig
    from oneclaw_core.system.home import Home


FRESH_SECONDS = 24 * 60 * 60

_log = logging.getLogger("oneclaw.models")


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
