"""The event loop of the home, as code on other loops and in threads reaches it: the one place of crossings."""

from __future__ import annotations

import asyncio
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from oneclaw_core.errors import OneClawError
from oneclaw_core.system.loops import is_worker_thread, run_on

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine
    from concurrent.futures import Future
    from contextlib import AbstractAsyncContextManager

_Value = TypeVar("_Value")


class HomeLoop:
    """Runs coroutines on the event loop that it is made on."""

    __slots__ = ("_thread", "loop")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    async def run(self, work: Coroutine[Any, Any, _Value]) -> _Value:
        """Await a coroutine there, from any event loop."""
        return await run_on(self.loop, work)

    async def run_in_task(self, work: Coroutine[Any, Any, _Value]) -> _Value:
        """The same in a task: what it sets among the context variables is not the caller's."""
        if asyncio.get_running_loop() is self.loop:
            return await asyncio.create_task(work)
        return await self.run(work)

    def submit(self, work: Coroutine[Any, Any, _Value]) -> Future[_Value]:
        """Run a coroutine there, for a thread that waits."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def refuse_on_loops(self, instead: str) -> None:
        """Refuse to block an event loop.

        Raises:
            OneClawError: this is the thread of one; it says what to do instead.
        """
        if threading.get_ident() == self._thread or is_worker_thread():
            raise OneClawError(f"an async tool asks with: {instead}")

    def call_soon(self, function: Callable[..., object], *arguments: Any) -> None:
        """Call a function there, at once if this is its thread."""
        if threading.get_ident() == self._thread:
            function(*arguments)
        else:
            self.loop.call_soon_threadsafe(function, *arguments)

    @asynccontextmanager
    async def entered(self, manager: AbstractAsyncContextManager[_Value]) -> AsyncIterator[_Value]:
        """Enter and leave a context manager there, from any event loop."""
        value = await self.run(manager.__aenter__())
        try:
            yield value
        except BaseException as error:
            if not await self.run(manager.__aexit__(type(error), error, error.__traceback__)):
                raise
        else:
            await self.run(manager.__aexit__(None, None, None))
