"""The configured providers and the default model, read from settings and the environment."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from oneclaw_core.config.keys import keys_in
from oneclaw_core.config.provider_options import (
    OPTIONS,
    place_of,
    with_options,
)
from oneclaw_core.config.setting_fields import SettingField, variable_of
from oneclaw_core.distributions import PROVIDER_PLUGINS, models_to_install, why_missing
from oneclaw_core.errors import NotFoundError, SettingsError, UsageError
from oneclaw_core.providers.base import KEY_HEADERS, ProviderConfig

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from oneclaw_core.config.keys import KeyStore
    from oneclaw_core.providers.known import KnownProviders


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


def provider_configs(
    stored: Mapping[str, Any], environ: Mapping[str, str], known: KnownProviders
) -> dict[str, ProviderConfig]:
    """Find the configured model services: those that plugins bring, then the user's own.

    They have the keys of the environment; :func:`with_key` finds a stored one for the service that is used.

    Args:
        stored: settings from the store; those with the prefix ``provider:`` are the user's own services.
        environ: the environment, with keys and endpoints.
        known: what plugins say about providers.

    Raises:
        SettingsError: what is stored for a provider does not fit.
    """
    configs = {}
    for name, each in known.preconfigured.items():
        base_url = (environ.get(each.base_url_variable) if each.base_url_variable else None) or each.base_url
        configs[name] = _config(name, each.type, base_url, environ, stored, known)
    for key, value in stored.items():
        name = key.removeprefix(PROVIDER_SETTING)
        # One without a type was disabled while its plugin was installed.
        is_own = name not in PROVIDER_PLUGINS or (isinstance(value, dict) and "type" in value)
        if key.startswith(PROVIDER_SETTING) and name not in known.preconfigured and is_own:
            type_name, base_url = _checked_type_and_url(name, value)
            configs[name] = _config(name, type_name, base_url, environ, stored, known)
    return configs


def _checked_type_and_url(name: str, value: object) -> tuple[str, str | None]:
    type_name, base_url = (value.get("type"), value.get("base_url")) if isinstance(value, dict) else (None, None)
    if not isinstance(type_name, str) or not isinstance(base_url, str | None):
        raise SettingsError(
            f"what is stored for the provider {name!r} does not fit: its type, and its base URL if it has one, must "
            f"be texts; remove it with: oneclaw providers remove {name}"
        )
    return type_name, base_url


def _config(
    name: str,
    type_name: str,
    base_url: str | None,
    environ: Mapping[str, str],
    stored: Mapping[str, Any],
    known: KnownProviders,
) -> ProviderConfig:
    said = stored.get(PROVIDER_SETTING + name)
    limit = _concurrency(stored, environ).get(name)
    variable = known.key_variable_of(name)
    is_by_user = not (isinstance(said, dict) and said.get(SET_BY_TOOL))
    is_local = type_name in known.local_types
    text = environ.get(variable) if not is_local and is_by_user else None
    given = keys_in(text) if text else ()
    models = said.get(MODELS) if isinstance(said, dict) else None
    config = ProviderConfig(
        name=name,
        type=type_name,
        base_url=base_url,
        api_key=given[0] if given else None,
        more_api_keys=given[1:],
        key_variable=variable,
        concurrency=limit if isinstance(limit, int) and limit > 0 else None,
        is_enabled=not (isinstance(said, dict) and said.get("enabled") is False),
        is_preconfigured=name in known.preconfigured,
        price_vendor=known.price_vendors.get(type_name),
        takes_environment_key=is_by_user,
        is_local=is_local,
        models=models if isinstance(models, dict) else {},
    )
    return with_options(config, said) if isinstance(said, dict) and not OPTIONS.isdisjoint(said) else config


def _concurrency(stored: Mapping[str, Any], environ: Mapping[str, str]) -> Mapping[str, Any]:
    """Read the setting ``provider_concurrency``, which a turn validates; one that is invalid limits nothing."""
    text = environ.get(CONCURRENCY.variable)
    value = CONCURRENCY.parse(text) if text else stored.get(CONCURRENCY.key)
    return value if isinstance(value, dict) else {}


async def with_key(config: ProviderConfig, keys: KeyStore) -> ProviderConfig:
    """Give a provider its stored headers, and its stored key if it has none from the environment.

    Args:
        config: as :func:`provider_configs` gives it.
        keys: the stored keys.

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
    """Return True if a provider is a vendor's service that needs a key and has none.

    Raises:
        OneClawError: the stored keys cannot be read.
    """
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
    """Refuse a name that could not be part of ``PROVIDER/MODEL``.

    Raises:
        SettingsError: with the rule.
    """
    if not _NAME.fullmatch(name):
        raise SettingsError(
            f"{name!r} is no name for a provider: use lower-case letters, digits, '_' and '-', beginning with a letter"
        )


def default_model(stored: Mapping[str, Any], environ: Mapping[str, str]) -> tuple[str, str]:
    """Find the model that is used if none is named, fit or not, and where that is said."""
    if environ.get(MODEL_VARIABLE):
        return environ[MODEL_VARIABLE], f"environment {MODEL_VARIABLE}"
    if stored.get("model"):
        return str(stored["model"]), "stored"
    return OFFLINE_MODEL, "default"


def no_provider(name: str, configs: Iterable[str], known: KnownProviders) -> NotFoundError:
    """Make the error for a provider that is not configured; one of OneClaw's names its plugin."""
    if name in PROVIDER_PLUGINS:
        plugin = PROVIDER_PLUGINS[name]
        return NotFoundError(
            f"the provider {name} needs the plugin {plugin}, which {why_missing(plugin, known.absent_plugins)}"
        )
    return NotFoundError(f"there is no provider {name!r}; the providers are: {', '.join(configs)}")


def split_model(model: str, configs: Mapping[str, ProviderConfig], known: KnownProviders) -> tuple[ProviderConfig, str]:
    """Take ``PROVIDER/MODEL`` apart; the model's own name may contain slashes.

    Raises:
        NotFoundError: there is no such provider; the message lists those there are.
        UsageError: the user has disabled it.
    """
    provider_name, _, model_name = model.partition("/")
    config = configs.get(provider_name)
    if config is None and model == OFFLINE_MODEL and OFFLINE_TYPE not in known.absent_plugins:
        raise NotFoundError(f"no model is chosen: use --model PROVIDER/MODEL, {models_to_install()}")
    if config is None and model_name and provider_name in PROVIDER_PLUGINS:
        raise no_provider(provider_name, configs, known)
    if config is None or not model_name:
        raise NotFoundError(
            f"{model!r} is no PROVIDER/MODEL of a configured provider; the providers are: {', '.join(configs)}. "
            "Example: --model offline/rules"
        )
    if not config.is_enabled:
        raise UsageError(
            f"the provider {provider_name!r} is disabled; enable it with: oneclaw providers enable {provider_name}"
        )
    return config, model_name
