"""The models: what services offer, what the user says about one, and which is the default."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from oneclaw_core.config.providers import (
    LEARNED_SETTING,
    MODEL_SETTING,
    SET_ASIDE_SETTING,
    default_model,
    document_of,
    is_on_this_machine,
    lacks_key,
    with_key,
)
from oneclaw_core.errors import (
    DuplicateError,
    InUseError,
    NotFoundError,
    OneClawError,
    ProtectedError,
    ProviderError,
    ProviderUnavailableError,
    describe_error,
)
from oneclaw_core.system.private_files import write_private
from oneclaw_core.types.model_requests import ModelInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from oneclaw_core.config.model_overrides import ModelOverrides
    from oneclaw_core.config.providers import ProviderSource
    from oneclaw_core.providers.base import Provider, ProviderConfig
    from oneclaw_core.system.home import Home


LIST_SECONDS = 20
_LEARNED_KEYS = ("tool_loading", "reasoning")


@dataclass(frozen=True, slots=True)
class Answer:
    """The data about the models of a provider.

    Attributes:
        config: the provider.
        models: what its service says, now or at some time before; ``None`` if nothing is known.
        problem: why it could not be asked now, ``None`` if it was, or needed not be.
        wants_key: whether the problem is that there is no key.
    """

    config: ProviderConfig
    models: ModelList | None = None
    problem: str | None = None
    wants_key: bool = False


@dataclass(frozen=True, slots=True)
class ModelState:
    """A model as it is now.

    Attributes:
        provider: of which provider.
        info: what is known about it, what the user says before what its service says.
        overrides: what the user says.
        is_listed: whether its service lists it.
        is_added: whether the user has added it to what is listed.
        is_default: whether it is used where none is named.
    """

    provider: str
    info: ModelInfo
    overrides: ModelOverrides
    is_listed: bool
    is_added: bool
    is_default: bool

    @property
    def full_name(self) -> str:
        """``PROVIDER/MODEL``."""
        return f"{self.provider}/{self.info.name}"

    def document(self) -> dict[str, Any]:
        """The same for JSON."""
        media_types = self.info.input_media_types
        return {
            "model": self.full_name,
            "provider": self.provider,
            "name": self.info.name,
            "display_name": self.info.display_name,
            "context_window": self.info.context_window,
            "max_output_tokens": self.info.max_output_tokens,
            "input_media_types": None if media_types is None else list(media_types),
            "models": list(self.info.models),
            "is_listed": self.is_listed,
            "is_added": self.is_added,
            "is_default": self.is_default,
            "overrides": self.overrides.document(),
        }


def model_states(answer: Answer, stored: Mapping[str, Any], environ: Mapping[str, str]) -> list[ModelState]:
    """Describe the models that a service lists, and those that the user has said something about.

    Raises:
        SettingsError: what is stored about one does not fit.
    """
    from oneclaw_core.config.model_overrides import model_overrides

    provider = answer.config.name
    default, _ = default_model(stored, environ)
    listed = {model.name: model for model in answer.models.models} if answer.models is not None else {}
    named = [key.partition("/")[2] for key in stored if key.startswith(f"{MODEL_SETTING}{provider}/")]
    infos = [*listed.values(), *(ModelInfo(name=name) for name in named if name not in listed)]
    states = []
    for info in infos:
        full_name = f"{provider}/{info.name}"
        said = model_overrides(stored, full_name)
        is_listed, is_default = info.name in listed, full_name == default
        states.append(ModelState(provider, said.applied_to(info), said, is_listed, said.added, is_default))
    return states


class ModelService:
    """Finds models, and changes what is said about them and which is the default.

    Args:
        source: the providers.
        lists: what services said last.
    """

    def __init__(self, source: ProviderSource, lists: ModelLists) -> None:
        self._source = source
        self._store = source.store
        self._lists = lists

    async def answers(
        self, providers: Iterable[str] | None = None, *, is_refreshed: bool = False, seconds: float = LIST_SECONDS
    ) -> list[Answer]:
        """Find out which models services offer: from the kept lists, else by asking, all at the same time.

        Args:
            providers: their names; ``None`` for all that are enabled.
            is_refreshed: ask even where a fresh list is kept.
            seconds: how long a service may take.

        Raises:
            NotFoundError: there is no such provider.
        """
        configs = await self._source.providers()
        if providers is None:
            asked = [config for config in configs.values() if config.is_enabled]
        else:
            asked = [configs.require(name) for name in providers]
        return await asyncio.gather(*(self._answer(config, is_refreshed, seconds) for config in asked))

    async def list(
        self, provider: str | None = None, *, is_refreshed: bool = False
    ) -> tuple[list[ModelState], list[Answer]]:
        """Describe the models of one provider, or of all.

        Returns:
            The models, and what the services answered, with the problems.
        """
        answers = await self.answers(None if provider is None else [provider], is_refreshed=is_refreshed)
        stored = await self._store.settings()
        return [state for answer in answers for state in model_states(answer, stored, self._source.environ)], answers

    async def known(self, provider: str) -> Sequence[ModelState]:
        """Describe what is known of a provider's models, without asking anybody but what is on this machine.

        Raises:
            NotFoundError: there is no such provider.
        """
        configs = await self._source.providers()
        config = configs.require(provider)
        return model_states(Answer(config, self._lists.load(config)), configs.stored, self._source.environ)

    async def check_model(self, model: str) -> None:
        """Refuse a model that cannot be used; it need not be listed, for no service lists all.

        Raises:
            UsageError: there is no such provider, it is disabled, or the name does not fit.
        """
        from oneclaw_core.config.core_settings import CORE_SETTINGS
        from oneclaw_core.config.settings import check_value

        field = next(each for each in CORE_SETTINGS.fields if each.name == "model")
        await self.check_provider(str(check_value(CORE_SETTINGS, field, model)))

    async def check_provider(self, model: str) -> None:
        """Refuse a model whose provider is not configured.

        Raises:
            NotFoundError: there is no such provider.
        """
        (await self._source.providers()).split(model)

    async def default(self) -> tuple[str, str]:
        """Find the model that is used if none is named, fit or not, and where that is said."""
        return default_model(await self._store.settings(), self._source.environ)

    async def set_default(self, model: str) -> str:
        """Choose the model that is used if none is named; it need not be listed, for no service lists all.

        Raises:
            NotFoundError: there is no such provider.
            UsageError: the provider is disabled, or the name does not fit.
        """
        await self.check_model(model)
        await self._store.set_setting("model", model)
        return model

    async def check_new(self, model: str) -> None:
        """Refuse what :meth:`add` would refuse.

        Raises:
            DuplicateError: it is listed, or was added.
            UsageError: there is no such provider, or the name does not fit.
        """
        await self.check_model(model)
        config, is_added, is_listed = await self._find(model)
        if is_added or is_listed:
            raise DuplicateError(f"the model {model} is there already; see: oneclaw models list {config.name}")

    async def add(self, model: str, display_name: str | None = None) -> None:
        """Add a model to those that are listed, for services that do not list all or any.

        Raises:
            DuplicateError: it is listed, or was added.
            UsageError: there is no such provider, or a name does not fit.
        """
        from oneclaw_core.config.model_overrides import check_override

        await self.check_new(model)
        values: dict[str, Any] = {"added": True}
        if display_name is not None:
            values["display_name"] = check_override("display_name", display_name)
        await self._say(model, values)

    async def check_removal(self, model: str) -> None:
        """Refuse what :meth:`remove` would refuse.

        Raises:
            NotFoundError: nothing is known of such a model.
            ProtectedError: its service lists it; it was not added.
            InUseError: it is the default model.
        """
        config, is_added, is_listed = await self._find(model)
        if not is_added and is_listed:
            raise ProtectedError(
                f"the model {model} is listed by its service; only models that were added can be removed"
            )
        if not is_added:
            raise NotFoundError(f"no model {model} was added; see: oneclaw models list {config.name}")
        if (await self._store.settings()).get("model") == model:
            raise InUseError(
                f"{model} is the default model; choose another one first: oneclaw models default PROVIDER/MODEL"
            )

    async def remove(self, model: str) -> None:
        """Take back a model that was added, with all that was said about it.

        Raises:
            UsageError: as for :meth:`check_removal`.
        """
        await self.check_removal(model)
        await self._store.remove_setting(MODEL_SETTING + model)

    async def say(self, model: str, key: str, value: str) -> Any:
        """Note something about a model that its service does not say, or says wrongly.

        Args:
            model: ``PROVIDER/MODEL``.
            key: a field of :class:`~oneclaw_core.config.model_overrides.ModelOverrides`.
            value: as the user writes it.

        Returns:
            The value in the form in which it is stored.

        Raises:
            UsageError: there is no such provider or key, or the value does not fit.
        """
        from oneclaw_core.config.model_overrides import check_override

        await self.check_provider(model)
        checked = check_override(key, value)
        await self._say(model, {key: checked})
        if key in _LEARNED_KEYS:  # what the service refused before is tried again
            await self._store.remove_setting(LEARNED_SETTING + model)
        return checked

    async def said(self, model: str) -> ModelOverrides:
        """Find what the user says about a model.

        Raises:
            SettingsError: what is stored does not fit.
        """
        from oneclaw_core.config.model_overrides import model_overrides

        return model_overrides(await self._store.settings(), model)

    async def unsay(self, model: str, key: str | None = None) -> None:
        """Take back what was said about a model, or one key of it, and forget what was found out about it.

        Raises:
            NotFoundError: nothing like that was said.
        """

        # Read as it is, for this is also how to get rid of what does not fit.
        def without(said: Any) -> Any:
            if key is not None and key not in document_of(said):
                return said
            return {name: value for name, value in document_of(said).items() if key is not None and name != key} or None

        said = await self._store.change_setting(MODEL_SETTING + model, without)
        is_said = said is not None and (key is None or key in document_of(said))
        is_learned = key in (None, *_LEARNED_KEYS) and await self._store.remove_setting(LEARNED_SETTING + model)
        if key is None:
            is_learned = await self._store.remove_setting(SET_ASIDE_SETTING + model) or is_learned
        if not is_said and not is_learned:
            known = ", ".join(document_of(said)) or "none"
            raise NotFoundError(f"nothing like that is set for {model}; set are: {known}")

    async def _say(self, model: str, values: Mapping[str, Any]) -> None:
        """Note something in addition to what was said before."""
        setting = MODEL_SETTING + model

        def with_values(stored: Any) -> dict[str, Any]:
            said = said_of({setting: stored}, model)
            return {**(said.document() if said is not None else {}), **values}

        await self._store.change_setting(setting, with_values)

    async def _find(self, model: str) -> tuple[ProviderConfig, bool, bool]:
        """Find a model's provider, and tell whether the user has added the model and its service lists it."""
        configs = await self._source.providers()
        config, name = configs.split(model)
        said, kept = said_of(configs.stored, model), self._lists.load(config)
        return config, said is not None and said.added, kept is not None and kept.find(name) is not None

    async def _answer(self, config: ProviderConfig, is_refreshed: bool, seconds: float) -> Answer:
        if not is_refreshed and (fresh := self._lists.fresh(config)) is not None:
            return Answer(config, fresh)
        keys = self._source.keys
        try:
            if lacks_key(config, keys):
                problem = f"{config.name} wants a key: set it in {config.key_variable} or with: oneclaw keys set "
                return Answer(config, self._lists.load(config), problem + config.name, wants_key=True)
            factory = await self._source.factory(config)
            return Answer(config, await self._lists.fetch(await with_key(config, keys), factory, seconds))
        except NotFoundError as error:  # no plugin brings its type
            return Answer(config, None, f"{config.name}: {error}")
        except OneClawError as error:
            return Answer(config, self._lists.load(config), str(error))


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

    def load(self, config: ProviderConfig) -> ModelList | None:
        """Read what a provider's service said last, however long ago; ``None`` if nothing usable is kept."""
        try:
            document = json.loads(self._path(config).read_bytes())
            if document["service"] != _service(config):  # the provider is somewhere else now
                return None
            return ModelList(tuple(map(_model, document["models"])), float(document["fetched_at"]))
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
            # A plugin's provider may raise anything.
            _log.error("listing the models of %s", config.name, exc_info=error)
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
