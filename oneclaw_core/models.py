"""Which model services are configured, and which model a turn uses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import NotFoundError, SettingsError
from oneclaw_core.providers.base import ProviderConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

OFFLINE_MODEL = "offline/rules"
PROVIDER_SETTING = "provider:"
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")

# name: (type, base URL, variable with the base URL, variable with the key); the vendors' SDKs read the same variables.
_PRECONFIGURED: dict[str, tuple[str, str | None, str | None, str | None]] = {
    "offline": ("offline", None, None, None),
    "openai_compatible": ("openai_compatible", None, "OPENAI_BASE_URL", "OPENAI_API_KEY"),
    "ollama": ("openai_compatible", "http://localhost:11434/v1", None, "OLLAMA_API_KEY"),
}


def provider_configs(stored: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, ProviderConfig]:
    """Find the configured model services: those known from the start, then the user's own.

    Args:
        stored: settings from the store; those with the prefix ``provider:`` are the user's own services.
        environ: the environment, with keys and endpoints.
    """
    configs = {}
    for name, (type_name, base_url, url_variable, key_variable) in _PRECONFIGURED.items():
        configs[name] = ProviderConfig(
            name=name,
            type=type_name,
            base_url=(environ.get(url_variable) if url_variable else None) or base_url,
            api_key=(environ.get(key_variable) or None) if key_variable else None,
            key_variable=key_variable_of(name),
        )
    for key, value in stored.items():
        name = key.removeprefix(PROVIDER_SETTING)
        if key.startswith(PROVIDER_SETTING) and isinstance(value, dict) and name not in _PRECONFIGURED:
            configs[name] = ProviderConfig(
                name=name,
                type=str(value.get("type")),
                base_url=value.get("base_url"),
                api_key=environ.get(key_variable_of(name)) or None,
                key_variable=key_variable_of(name),
            )
    return configs


def key_variable_of(provider_name: str) -> str:
    """The environment variable that holds a provider's key."""
    preconfigured = _PRECONFIGURED.get(provider_name)
    if preconfigured is not None and preconfigured[3]:
        return preconfigured[3]
    return re.sub(r"[^A-Z0-9]", "_", provider_name.upper()) + "_API_KEY"


def is_preconfigured(provider_name: str) -> bool:
    """Whether a provider is known from the start, and so cannot be added or removed."""
    return provider_name in _PRECONFIGURED


def check_provider_name(name: str) -> None:
    """Refuse a name that could not be part of ``PROVIDER/MODEL``.

    Raises:
        SettingsError: with the rule.
    """
    if not _NAME.fullmatch(name):
        raise SettingsError(
            f"{name!r} is no name for a provider: use lower-case letters, digits, '_' and '-', beginning with a letter"
        )


def split_model(model: str, configs: Mapping[str, ProviderConfig]) -> tuple[ProviderConfig, str]:
    """Take ``PROVIDER/MODEL`` apart; the model's own name may contain slashes.

    Raises:
        NotFoundError: there is no such provider; the message lists those there are.
    """
    provider_name, _, model_name = model.partition("/")
    config = configs.get(provider_name)
    if config is None or not model_name:
        raise NotFoundError(
            f"{model!r} is no PROVIDER/MODEL of a configured provider; the providers are: {', '.join(configs)}. "
            "Example: --model offline/rules"
        )
    return config, model_name
