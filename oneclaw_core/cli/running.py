"""Asynchronous work of a command, with what it needs open: the store, the configuration, or the whole home."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Any, TypeVar

from oneclaw_core.system.home import find_home

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from oneclaw_core.app import OneClaw
    from oneclaw_core.config.configuration import Configuration
    from oneclaw_core.sessions.store import Store

Value = TypeVar("Value")

TERMINATED_STATUS = 128 + signal.SIGTERM


def run_async(coroutine: Coroutine[Any, Any, Value]) -> Value:
    """Run a coroutine; a signal cancels it, and what it has open is closed.

    Raises:
        KeyboardInterrupt: Ctrl-C ended it.
        SystemExit: SIGTERM ended it; the status is the one shells give such a program.
    """
    import asyncio  # commands that only list something do without it

    is_terminated = False

    async def terminable() -> Value:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None

        def terminate() -> None:
            nonlocal is_terminated
            is_terminated = True
            task.cancel()

        loop.add_signal_handler(signal.SIGTERM, terminate)
        try:
            return await coroutine
        finally:
            loop.remove_signal_handler(signal.SIGTERM)

    try:
        return asyncio.run(terminable())
    except asyncio.CancelledError:
        if not is_terminated:
            raise
        sys.exit(TERMINATED_STATUS)


def with_store(work: Callable[[Store], Awaitable[Value]], *, is_read_only: bool = False) -> Value:
    """Open the store of the user's home, do something with it, and close it.

    Args:
        work: gets the open store.
        is_read_only: True if nothing is changed: an older database is not migrated, and the home may be read-only.

    Raises:
        OneClawError: the home or its database cannot be used; the message says what to do.
    """
    from oneclaw_core.installation.stores import home_with_backend
    from oneclaw_core.sessions.store import Store

    home, backend = home_with_backend(find_home(), os.environ)
    if not is_read_only:
        home.create()

    async def run() -> Value:
        async with await Store.open(backend, lock_directory=home.locks, is_read_only=is_read_only) as store:
            return await work(store)

    return run_async(run())


def with_home(work: Callable[[OneClaw], Awaitable[Value]], *, migrates: bool = True) -> Value:
    """Open the user's home with its plugins, do something with it, and close it; as :func:`with_store`.

    Args:
        work: gets the open home.
        migrates: False to refuse an older database instead of migrating it.

    Raises:
        StoreVersionError: the database is older, and not to be migrated.
    """
    if not migrates:
        from oneclaw_core.installation.stores import home_with_backend
        from oneclaw_core.sessions.backend import explaining

        _, backend = home_with_backend(find_home(), os.environ)
        if backend.exists():
            with explaining(backend):
                backend.prepare_read_only().close()

    async def run() -> Value:
        from oneclaw_core.app import OneClaw

        async with OneClaw.open() as claw:
            return await work(claw)

    return run_async(run())


def with_configuration(work: Callable[[Configuration], Awaitable[Value]], *, is_read_only: bool = False) -> Value:
    """Open the store of the user's home, and let the configuration be read and changed; as :func:`with_store`."""
    from oneclaw_core.cli.catalog import load_catalog
    from oneclaw_core.config.catalog_configuration import configuration_of

    catalog = load_catalog(is_quiet=True)  # a database that cannot be read is an error here
    return with_store(
        lambda store: work(configuration_of(catalog, catalog.home, store, os.environ)), is_read_only=is_read_only
    )
