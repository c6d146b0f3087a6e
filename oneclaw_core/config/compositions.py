"""The models that a user composes of others, such as ``chain/NAME``."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from oneclaw_core.config.provider_service import check_unused
from oneclaw_core.config.providers import MODELS, document_of
from oneclaw_core.errors import NotFoundError, UsageError
from oneclaw_core.providers.base import route_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from oneclaw_core.config.providers import ProviderSource
    from oneclaw_core.providers.base import ProviderConfig
    from oneclaw_core.providers.known import ProviderFactory
    from oneclaw_core.providers.route import Route

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


class CompositionService:
    """Adds and removes models that stand for models of other providers.

    Args:
        source: where providers are read from and stored.
    """

    def __init__(self, source: ProviderSource) -> None:
        self._source = source

    async def add(self, model: str, composition: Mapping[str, Any]) -> Route:
        """Add a model that stands for models of other providers, or change one that was added.

        Raises:
            NotFoundError: there is no such provider, here or behind the model.
            UsageError: the composition is invalid.
        """
        configs = await self._source.providers()
        config, name = configs.split(model)
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"{name[:100]!a} is not a valid name for a chain: use letters, digits, '.', '_' and '-', 63 at most"
            )
        route = read_composition(config, await self._source.factory(config), name, composition)
        for each in route.models:
            member, _ = configs.split(each)
            if member.type == config.type or member.models:
                raise UsageError(f"a chain has models of services, no other chains: leave out {each}")
        await self._change_models(config.name, lambda models: {**models, name: dict(composition)})
        return route

    async def remove(self, model: str) -> None:
        """Remove a model that was composed of others.

        Raises:
            NotFoundError: there is none of that name.
            InUseError: it is the default model, or an agent's.
        """
        provider, _, name = model.partition("/")
        added = (await self._source.providers()).require(provider).models
        if name not in added:
            there_are = ", ".join(f"{provider}/{each}" for each in added) or "none"
            raise NotFoundError(f"there is no {model} that was added; there are: {there_are}")
        await check_unused(self._source.store, model, "removed")
        await self._change_models(provider, lambda models: {key: models[key] for key in models if key != name})

    async def _change_models(self, provider: str, change: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> None:
        def changed(said: dict[str, Any]) -> dict[str, Any]:
            models = change(document_of(said.pop(MODELS, None)))
            return said | ({MODELS: models} if models else {})

        await self._source.change(provider, changed)


def read_composition(config: ProviderConfig, factory: ProviderFactory, model: str, composition: Any) -> Route:
    """Have a provider read what one of its models is composed of.

    Raises:
        UsageError: the composition is invalid, or models of this provider are not composed.
    """
    provider = factory(replace(config, models={**config.models, model: composition}))
    route = route_of(provider, model)
    if route is None:
        raise UsageError(f"the models of {config.name} are its service's: only models of a chain are made of others")
    return route
