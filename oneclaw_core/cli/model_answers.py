"""Finding out which models services offer: from the kept lists, else by asking, all services at the same time."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oneclaw_core.errors import OneClawError
from oneclaw_core.keys import KeyStore
from oneclaw_core.model_lists import ModelLists
from oneclaw_core.models import lacks_key, with_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from oneclaw_core.cli.catalog import HomeCatalog
    from oneclaw_core.model_lists import ModelList
    from oneclaw_core.providers.base import ProviderConfig

LIST_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Answer:
    """What is known about the models of a provider.

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


async def model_answers(
    catalog: HomeCatalog,
    configs: Iterable[ProviderConfig],
    *,
    is_refreshed: bool = False,
    seconds: float = LIST_SECONDS,
) -> list[Answer]:
    """Find out which models services offer.

    Args:
        catalog: what is installed.
        configs: the providers.
        is_refreshed: ask even where a fresh list is kept.
        seconds: how long a service may take.
    """
    keys, lists = KeyStore(catalog.home, os.environ), ModelLists(catalog.home)

    async def answer(config: ProviderConfig) -> Answer:
        if not is_refreshed and (fresh := lists.fresh(config)) is not None:
            return Answer(config, fresh)
        factory = catalog.provider_types.get(config.type)
        if factory is None:
            return Answer(config, None, f"no plugin brings the provider type {config.type!r} of {config.name}")
        try:
            if lacks_key(config, keys):
                problem = f"{config.name} wants a key: set it in {config.key_variable} or with: oneclaw keys set "
                return Answer(config, lists.load(config), problem + config.name, wants_key=True)
            return Answer(config, await lists.fetch(await with_key(config, keys), factory, seconds))
        except OneClawError as error:
            return Answer(config, lists.load(config), str(error))

    return await asyncio.gather(*map(answer, configs))


def age_text(models: ModelList) -> str:
    """Say how old a list is, such as ``3 hours``."""
    seconds = max(time.time() - models.fetched_at, 0)
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if (count := int(seconds // length)) > 0:
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return "a moment"
