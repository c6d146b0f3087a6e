"""Opening the store for one command."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from oneclaw_core.home import find_home

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from oneclaw_core.store.store import Store

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
    from oneclaw_core.store.store import Store

    home = find_home()
    home.create()

    async def run() -> Value:
        async with await Store.open(home.database_url, lock_directory=home.locks) as store:
            return await work(store)

    return run_async(run())
