"""The configured providers as they are now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_core.config.keys import KeySource
from oneclaw_core.config.provider_options import is_same_place, place_of
from oneclaw_core.config.providers import PROVIDER_SETTING, document_of
from oneclaw_core.http_providers.service_url import shown_url

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core.config.providers import Providers
    from oneclaw_core.providers.base import ProviderConfig


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
        return {
            "name": self.name,
            "display_name": self.display_name,
            "type": self.type,
            "base_url": self.base_url,
            "enabled": self.is_enabled,
            "key": "set" if self.key_source else "not set",
            "key_source": self.key_source and str(self.key_source),
            "key_variable": self.key_variable,
            "preconfigured": self.is_preconfigured,
            "timeout_seconds": self.timeout_seconds,
            "concurrency": self.concurrency,
            "reasoning": self.reasoning,
            "headers": list(self.headers),
            "set_by_tool": self.is_set_by_tool,
            "key_place": self.key_place,
        }


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
