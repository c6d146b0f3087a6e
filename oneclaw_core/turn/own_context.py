"""Run an async generator in a separate context.

A generator runs in the context of the task that asks for its next item. What it sets in a ``ContextVar`` leaks into
that task between two items, and cannot be reset if another task asks for the next one. Here each step runs in one
context, which is a copy of the caller's; the task is the caller's still, with its timeouts and its cancellation.
"""

from __future__ import annotations

import contextvars
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Generator

_Item = TypeVar("_Item")


async def in_own_context(items: AsyncGenerator[_Item, None]) -> AsyncGenerator[_Item, None]:
    """Yield the items of a generator that runs in a copy of the current context."""
    context = contextvars.copy_context()
    try:
        while True:
            try:
                item = await _Step(context, anext(items))
            except StopAsyncIteration:
                return
            yield item
    finally:
        await _Step(context, items.aclose())


class _Step:
    """An awaitable that runs another one in a context."""

    __slots__ = ("_awaitable", "_context")

    def __init__(self, context: contextvars.Context, awaitable: Awaitable[Any]) -> None:
        self._context = context
        self._awaitable = awaitable

    def __await__(self) -> Generator[Any, Any, Any]:
        run = self._context.run
        steps: Any = self._awaitable.__await__()
        resume, value = steps.send, None
        while True:
            try:
                waits_for = run(resume, value)
            except StopIteration as end:
                return end.value
            try:
                resume, value = steps.send, (yield waits_for)
            except GeneratorExit:
                run(steps.close)
                raise
            except BaseException as error:  # noqa: BLE001  # such as a cancellation: passed on, as a coroutine does
                resume, value = steps.throw, error
