"""The models that a user composes of others, such as ``chain/NAME``: check them, and find what is wrong with one."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from oneclaw_core.config.provider_service import check_unused
from oneclaw_core.config.providers import (
    MODELS,
    PROVIDER_SETTING,
    lacks_key,
    no_provider,
    provider_configs,
    split_model,
)
from oneclaw_core.distributions import missing_type
from oneclaw_core.errors import NotFoundError, OneClawError, UsageError
from oneclaw_core.providers.base import route_of
from oneclaw_core.providers.known import LazyProviderFactory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from oneclaw_core.config.keys import KeyStore
    from oneclaw_core.providers.base import ProviderConfig
    from oneclaw_core.providers.known import KnownProviders, ProviderFactory
    from oneclaw_core.providers.route import Route
    from oneclaw_core.sessions.store import Store

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


class CompositionService:
    """Adds and removes models that stand for models of other providers.

    Args:
        store: where that is stored.
        provider_types: the provider types that plugins bring.
        known_providers: what plugins say about providers.
        environ: the environment.
    """

    def __init__(
        self,
        store: Store,
        provider_types: Mapping[str, ProviderFactory],
        known_providers: KnownProviders,
        environ: Mapping[str, str],
    ) -> None:
        self._store = store
        self._types = provider_types
        self._known = known_providers
        self._environ = environ

    async def add(self, model: str, composition: Mapping[str, Any]) -> Route:
        """Add a model that stands for models of other providers, or change one that was added.

        Args:
            model: ``PROVIDER/MODEL``.
            composition: as the provider's type understands it.

        Raises:
            NotFoundError: there is no such provider, here or behind the model.
            UsageError: the composition is invalid.
        """
        configs = provider_configs(await self._store.settings(), self._environ, self._known)
        config, name = split_model(model, configs, self._known)
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"{name[:100]!a} is no name for a chain: use letters, digits, '.', '_' and '-', 63 at most"
            )
        factory = self._types.get(config.type)
        if factory is None:
            raise NotFoundError(missing_type(config.type, self._types, self._known.absent_plugins))
        if isinstance(factory, LazyProviderFactory):
            await factory.prepare()
        route = read_composition(config, factory, name, composition)
        check_members(route, configs, self._known, config.type)
        await self._change_models(config.name, lambda models: {**models, name: dict(composition)})
        return route

    async def remove(self, model: str) -> None:
        """Remove a model that was composed of others.

        Raises:
            NotFoundError: there is none of that name.
            InUseError: it is the default model, or an agent's.
        """
        provider, _, name = model.partition("/")
        configs = provider_configs(await self._store.settings(), self._environ, self._known)
        if provider not in configs:
            raise no_provider(provider, configs, self._known)
        if name not in configs[provider].models:
            there_are = ", ".join(f"{provider}/{each}" for each in configs[provider].models) or "none"
            raise NotFoundError(f"there is no {model} that was added; there are: {there_are}")
        await check_unused(self._store, model, "removed")
        await self._change_models(provider, lambda models: {key: models[key] for key in models if key != name})

    async def _change_models(self, provider: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        def changed(said: Any) -> dict[str, Any] | None:
            document = {**(said if isinstance(said, dict) else {})}
            models = document.pop(MODELS, None)
            models = change(models if isinstance(models, dict) else {})
            return (document | ({MODELS: models} if models else {})) or None

        await self._store.change_setting(PROVIDER_SETTING + provider, changed)


def read_composition(config: ProviderConfig, factory: ProviderFactory, model: str, composition: Any) -> Route:
    """Have a provider read what one of its models is composed of.

    Args:
        config: of the provider.
        factory: of its type; a plugin that it brings is imported.
        model: the model's name at the provider.
        composition: as it is stored.

    Raises:
        UsageError: the composition is invalid, or models of this provider are not composed.
    """
    provider = factory(replace(config, models={**config.models, model: composition}))
    route = route_of(provider, model)
    if route is None:
        raise UsageError(f"the models of {config.name} are its service's: only models of a chain are made of others")
    return route


def member_faults(
    route: Route, configs: Mapping[str, ProviderConfig], known: KnownProviders, keys: KeyStore
) -> dict[str, str]:
    """Find the models of a route that cannot be asked as things are, and why, in a few words each."""
    faults = {}
    for name in route.models:
        try:
            config, _ = split_model(name, configs, known)
        except NotFoundError:
            faults[name] = f"there is no provider {name.partition('/')[0]!r}"
        except UsageError:
            faults[name] = "its provider is disabled"
        else:
            if config.models:
                faults[name] = "a chain has models of services, no other chains"
            elif lacks_key(config, keys):
                faults[name] = "it has no key"
    return faults


def check_members(route: Route, configs: Mapping[str, ProviderConfig], known: KnownProviders, own_type: str) -> None:
    """Refuse models that could not be asked.

    Args:
        route: of a model that is about to be stored.
        configs: the providers.
        known: what plugins say about providers.
        own_type: the type of the provider whose model it is.

    Raises:
        UsageError: a model has no provider, or is a chain itself.
    """
    for name in route.models:
        config, _ = split_model(name, configs, known)
        if config.type == own_type or config.models:
            raise UsageError(f"a chain has models of services, no other chains: leave out {name}")


def composition_fault(config: ProviderConfig, factory: ProviderFactory | None, model: str) -> tuple[Route | None, str]:
    """Read a stored composition: its route, or why it has none."""
    if factory is None:
        return None, f"no plugin brings its provider type {config.type!r}"
    try:
        return read_composition(config, factory, model, config.models[model]), ""
    except OneClawError as error:
        return None, str(error)
