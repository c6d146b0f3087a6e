"""Opening the store for one command."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

from oneclaw_core.config.home import find_home

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from oneclaw_core.agents import AgentService
    from oneclaw_core.config.configuration import Configuration
    from oneclaw_core.sessions.store import Store

Value = TypeVar("Value")


def with_store(work: Callable[[Store], Awaitable[Value]]) -> Value:
    """Open the store of the user's home, do something with it, and close it.

    Args:
        work: gets the open store.

    Returns:
        What ``work`` returns.

    Raises:
        OneClawError: the home or its database cannot be used; the message says what to do.
    """
    from oneclaw_core.cli.event_loop import run_async
    from oneclaw_core.plugins.loading.stores import home_with_backend
    from oneclaw_core.sessions.store import Store

    home, backend = home_with_backend(find_home(), os.environ)
    home.create()

    async def run() -> Value:
        async with await Store.open(backend, lock_directory=home.locks) as store:
            return await work(store)

    return run_async(run())


def with_configuration(work: Callable[[Configuration], Awaitable[Value]]) -> Value:
    """Open the store of the user's home, and let the configuration be changed.

    Args:
        work: gets the services.

    Returns:
        What ``work`` returns.

    Raises:
        OneClawError: the home or its database cannot be used; the message says what to do.
    """
    from oneclaw_core.cli.catalog import load_catalog

    catalog = load_catalog()
    return with_store(lambda store: work(catalog.configuration(catalog.home, store, os.environ)))


def with_agents(work: Callable[[AgentService], Awaitable[Value]]) -> Value:
    """Open the store of the user's home, and let agents be listed and changed.

    Args:
        work: gets the service.

    Returns:
        What ``work`` returns.

    Raises:
        OneClawError: the home or its database cannot be used; the message says what to do.
    """
    from oneclaw_core.agents import AgentService
    from oneclaw_core.cli.catalog import load_catalog
    from oneclaw_core.config.providers import provider_configs, split_model

    catalog = load_catalog(is_quiet=True)

    def run(store: Store) -> Awaitable[Value]:
        async def check_model(name: str) -> None:
            split_model(name, provider_configs(await store.settings(), os.environ, catalog.known_providers))

        return work(AgentService(store, catalog.registry, check_model))

    return with_store(run)
