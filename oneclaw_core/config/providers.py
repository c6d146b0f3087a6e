"""The configured providers and the default model, read from settings and the environment."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from oneclaw_core.config.keys import KeySource, KeyStore, keys_in
from oneclaw_core.config.provider_options import OPTIONS, is_same_place, place_of, shown_url, with_options
from oneclaw_core.config.setting_fields import SettingField, variable_of
from oneclaw_core.errors import NotFoundError, SettingsError, UsageError
from oneclaw_core.plugins.distributions import PROVIDER_PLUGINS
from oneclaw_core.providers.base import KEY_HEADERS, ProviderConfig
from oneclaw_core.providers.known import KnownProviders, LazyProviderFactory, ProviderFactory
from oneclaw_core.shipped.missing import missing_type, models_to_install, why_missing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from oneclaw_core.sessions.store import Store


OFFLINE_MODEL = "offline/rules"
OFFLINE_TYPE = OFFLINE_MODEL.partition("/")[0]
PROVIDER_SETTING = "provider:"
# What the user says about a model, before its full name.
MODEL_SETTING = "model:"
# What was found out about a model, beside what the user says about it.
LEARNED_SETTING = "learned:"
# Until when a model that failed is asked after the others of a chain, before its full name.
SET_ASIDE_SETTING = "set_aside:"
MODEL_VARIABLE = "ONECLAW_MODEL"
# In what is stored for a provider: a tool added it, or chose its address.
SET_BY_TOOL = "address_set_by_tool"
# In the same: what the user composed its models of, by their names.
MODELS = "models"
# How many requests at the same time, by provider; here without pydantic.
CONCURRENCY = SettingField(
    "provider_concurrency",
    "provider_concurrency",
    variable_of("provider_concurrency"),
    {"type": "object", "additionalProperties": {"type": "integer"}},
)
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")


class Providers(dict[str, ProviderConfig]):
    """The configured model services by their names: those that plugins bring, then the user's own.

    They have the keys of the environment; :func:`with_key` finds a stored one for the service that is used.

    Args:
        stored: settings from the store; those with the prefix ``provider:`` are what the user says of services.
        environ: the environment, with keys and endpoints.
        known: what plugins say about providers.

    Attributes:
        stored: the settings that they were read from.

    Raises:
        SettingsError: what is stored for a provider does not fit.
    """

    def __init__(self, stored: Mapping[str, Any], environ: Mapping[str, str], known: KnownProviders) -> None:
        super().__init__()
        self.stored, self._environ, self._known = stored, environ, known
        # A turn validates this setting; an invalid value limits nothing.
        text = environ.get(CONCURRENCY.variable)
        self._limits = document_of(CONCURRENCY.parse(text) if text else stored.get(CONCURRENCY.key))
        said = {key.removeprefix(PROVIDER_SETTING): stored[key] for key in stored if key.startswith(PROVIDER_SETTING)}
        for name, each in known.preconfigured.items():
            base_url = (environ.get(each.base_url_variable) if each.base_url_variable else None) or each.base_url
            self._add(name, each.type, base_url, said.pop(name, None))
        for name, document in said.items():
            type_name, base_url = document_of(document).get("type"), document_of(document).get("base_url")
            if type_name is None and name in PROVIDER_PLUGINS:
                continue  # it was disabled while its plugin was installed
            if not isinstance(type_name, str) or not isinstance(base_url, str | None):
                raise SettingsError(
                    f"what is stored for the provider {name!r} is invalid: its type, and its base URL if it has one, "
                    f"must be texts; remove it with: oneclaw providers remove {name}"
                )
            self._add(name, type_name, base_url, document)

    def require(self, name: str) -> ProviderConfig:
        """Find a provider.

        Raises:
            NotFoundError: it is not configured; for one of OneClaw's, the message names its plugin.
        """
        if name in self:
            return self[name]
        if name in PROVIDER_PLUGINS:
            plugin = PROVIDER_PLUGINS[name]
            why = why_missing(plugin, self._known.absent_plugins)
            raise NotFoundError(f"the provider {name} needs the plugin {plugin}, which {why}")
        raise NotFoundError(f"there is no provider {name!r}; the providers are: {', '.join(self)}")

    def split(self, model: str) -> tuple[ProviderConfig, str]:
        """Take ``PROVIDER/MODEL`` apart; the model's own name may contain slashes.

        Raises:
            NotFoundError: there is no such provider; the message lists those there are.
            UsageError: the user has disabled it.
        """
        name, _, model_name = model.partition("/")
        config = self.get(name)
        if config is None and model == OFFLINE_MODEL and OFFLINE_TYPE not in self._known.absent_plugins:
            raise NotFoundError(f"no model is chosen: use --model PROVIDER/MODEL, {models_to_install()}")
        if model_name and name in PROVIDER_PLUGINS:
            config = self.require(name)
        if config is None or not model_name:
            raise NotFoundError(
                f"{model!r} is not a PROVIDER/MODEL of a configured provider; the providers are: {', '.join(self)}. "
                "List their models with: oneclaw models list"
            )
        if not config.is_enabled:
            raise UsageError(f"the provider {name!r} is disabled; enable it with: oneclaw providers enable {name}")
        return config, model_name

    def _add(self, name: str, type_name: str, base_url: str | None, stored: Any) -> None:
        said, variable = document_of(stored), self._known.key_variable_of(name)
        is_local, is_by_user = type_name in self._known.local_types, not said.get(SET_BY_TOOL)
        text = self._environ.get(variable) if not is_local and is_by_user else None
        given = keys_in(text) if text else ()
        limit = self._limits.get(name)
        config = ProviderConfig(
            name=name,
            type=type_name,
            base_url=base_url,
            api_key=given[0] if given else None,
            more_api_keys=given[1:],
            key_variable=variable,
            concurrency=limit if isinstance(limit, int) and limit > 0 else None,
            is_enabled=said.get("enabled") is not False,
            is_preconfigured=name in self._known.preconfigured,
            price_vendor=self._known.price_vendors.get(type_name),
            takes_environment_key=is_by_user,
            is_local=is_local,
            models=document_of(said.get(MODELS)),
        )
        self[name] = config if OPTIONS.isdisjoint(said) else with_options(config, said)


@dataclass(frozen=True, slots=True)
class ProviderSource:
    """Everything that says which providers there are, for the services that read and change it.

    Attributes:
        store: with what the user says.
        types: the provider types that plugins bring.
        known: what plugins say about providers.
        keys: the user's keys.
        environ: the environment.
    """

    store: Store
    types: Mapping[str, ProviderFactory]
    known: KnownProviders
    keys: KeyStore
    environ: Mapping[str, str]

    async def providers(self) -> Providers:
        """Read which providers are configured now."""
        return Providers(await self.store.settings(), self.environ, self.known)

    async def factory(self, config: ProviderConfig) -> ProviderFactory:
        """Find the factory of a provider's type, and import the plugin that brings it.

        Raises:
            NotFoundError: no plugin brings it; the message says which one to install.
            PluginError: the plugin cannot be imported.
        """
        factory = self.types.get(config.type)
        if factory is None:
            raise NotFoundError(missing_type(config.type, self.types, self.known.absent_plugins))
        if isinstance(factory, LazyProviderFactory):
            await factory.prepare()
        return factory

    async def change(self, name: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Change what is stored for a provider; what is empty then is not stored any more."""
        await self.store.change_setting(PROVIDER_SETTING + name, lambda said: change(dict(document_of(said))) or None)


def document_of(stored: Any) -> Mapping[str, Any]:
    """Return what is stored as an object; another value, which a hand has put there, says nothing."""
    return stored if isinstance(stored, dict) else {}


async def with_key(config: ProviderConfig, keys: KeyStore) -> ProviderConfig:
    """Give a provider its stored headers, and its stored key if it has none from the environment.

    Raises:
        OneClawError: there is a stored key or header, and it cannot be read, or was set for another server.
    """
    if config.header_names:
        config = replace(config, headers=await keys.find_headers(config.name, place_of(config)))
    if config.api_key is not None or config.is_local:
        return config
    found = await keys.find(config)
    return replace(config, api_key=found[0], more_api_keys=found[1:]) if found else config


def lacks_key(config: ProviderConfig, keys: KeyStore) -> bool:
    """Return True if a provider is a vendor's service that needs a key and has none."""
    if not KEY_HEADERS.isdisjoint(name.lower() for name in config.header_names):
        return False
    is_vendors = config.is_preconfigured and not config.is_local and config.base_url is None
    return is_vendors and not config.api_key and keys.source(config.name) is None


def is_on_this_machine(config: ProviderConfig) -> bool:
    """Return True if a service can be reached without the network."""
    try:
        host = urlsplit(config.base_url or "").hostname or ""
    except ValueError:
        return False
    return config.is_local or host in ("localhost", "::1") or host.startswith("127.")


def check_provider_name(name: str) -> None:
    """Refuse a name that could not be part of ``PROVIDER/MODEL``."""
    if not _NAME.fullmatch(name):
        raise SettingsError(
            f"{name!r} is not a valid name for a provider: use lower-case letters, digits, '_' and '-', beginning with "
            "a letter"
        )


def default_model(stored: Mapping[str, Any], environ: Mapping[str, str]) -> tuple[str, str]:
    """Find the model that is used if none is named, fit or not, and where that is said."""
    if environ.get(MODEL_VARIABLE):
        return environ[MODEL_VARIABLE], f"environment {MODEL_VARIABLE}"
    if stored.get("model"):
        return str(stored["model"]), "stored"
    return OFFLINE_MODEL, "default"


@dataclass(frozen=True, slots=True)
class ProviderState:
    """A provider as it is now.

    Attributes:
        name: the first part of ``PROVIDER/MODEL``.
        display_name: what people read.
        type: the wire format it speaks.
        base_url: where it is, without a password and the values in its query; ``None`` for the type's own place.
        key_source: where its key comes from, ``None`` if it has none.
        key_variable: the environment variable its key is read from, ``None`` for a type that wants none.
        is_preconfigured: known from the start.
        is_enabled: whether its models can be used.
        timeout_seconds: how long it may stay silent.
        concurrency: how many requests it is sent at the same time, ``None`` for no limit.
        reasoning: how much its models think unless more is said, ``None`` for the service's own.
        headers: the names of the user's own headers.
        is_set_by_tool: True if a tool added it or chose its address, so that no key of the environment is sent there.
        key_place: the server that the stored key was set for, if the provider is at another one; it is not sent then.
    """

    name: str
    display_name: str
    type: str
    base_url: str | None
    key_source: KeySource | None
    key_variable: str | None
    is_preconfigured: bool
    is_enabled: bool
    timeout_seconds: float = 300
    concurrency: int | None = None
    reasoning: str | None = None
    headers: tuple[str, ...] = ()
    is_set_by_tool: bool = False
    key_place: str | None = None

    def document(self) -> dict[str, Any]:
        """The same for JSON."""
        document = {name.removeprefix("is_"): value for name, value in asdict(self).items()}
        return document | {"key": "set" if self.key_source else "not set", "headers": list(self.headers)}


def provider_states(
    providers: Providers, stored_keys: Mapping[str, KeySource], key_places: Mapping[str, str]
) -> list[ProviderState]:
    """Describe every provider.

    Args:
        providers: as they are configured.
        stored_keys: where the stored keys are, by provider.
        key_places: the servers that they were set for, by provider.
    """
    return [
        _state(each, providers.stored, stored_keys.get(each.name), key_places.get(each.name))
        for each in providers.values()
    ]


def _state(
    config: ProviderConfig, stored: Mapping[str, Any], stored_key: KeySource | None, key_place: str | None
) -> ProviderState:
    display_name = document_of(stored.get(PROVIDER_SETTING + config.name)).get("display_name")
    if key_place is None and not config.takes_environment_key:
        key_place = "the address before"
    if stored_key is None or (key_place is not None and is_same_place(key_place, place_of(config))):
        key_place = None
    return ProviderState(
        name=config.name,
        display_name=display_name if isinstance(display_name, str) else config.name,
        type=config.type,
        base_url=None if config.base_url is None else shown_url(config.base_url),
        key_source=KeySource.ENVIRONMENT if config.api_key else stored_key if key_place is None else None,
        key_variable=None if config.is_local else config.key_variable,
        is_preconfigured=config.is_preconfigured,
        is_enabled=config.is_enabled,
        timeout_seconds=config.read_timeout_seconds,
        concurrency=config.concurrency,
        reasoning=config.reasoning,
        headers=config.header_names,
        is_set_by_tool=not config.takes_environment_key,
        key_place=None if config.api_key else key_place,
    )
