"""One stream of events that a coroutine emits, without nested generators.

``await emit(event)`` suspends the coroutine until the listener asks for the next event. It may stand in any function
that the coroutine awaits. The coroutine runs in the task of the listener, with its timeouts and its cancellation, but
in one context: context variables that it sets neither leak into the listener nor depend on which task asks next.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from contextlib import suppress
from inspect import CORO_CLOSED, getcoroutinestate
from typing import TYPE_CHECKING, Any, TypeVar

from oneclaw_core.types.events import TurnEvent

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Coroutine, Generator

Emit = Callable[[TurnEvent], "Awaitable[None]"]
"""Hand an event to the listener, and go on when it asks for the next."""

_Event = TypeVar("_Event")


class StreamClosed(BaseException):  # no error, like GeneratorExit
    """The listener has left. Unlike ``GeneratorExit``, it lets coroutines await while they clean up."""


async def event_stream(
    run: Callable[[Callable[[_Event], Awaitable[None]]], Coroutine[Any, Any, None]],
) -> AsyncGenerator[_Event, None]:
    """Yield the events that a coroutine emits.

    Closing the generator raises ``StreamClosed`` where the coroutine emits, and waits until it has cleaned up.

    Args:
        run: takes the function that emits; called when the first event is asked for.
    """
    work = run(_Emission)
    context = contextvars.copy_context()
    try:
        while (emission := await _Step(context, work)) is not None:
            yield emission.event
    finally:
        if getcoroutinestate(work) != CORO_CLOSED:
            with suppress(StreamClosed):
                if await _Step(context, work, StreamClosed()) is not None:
                    raise RuntimeError("an event was emitted after its stream was closed")


class _Emission:
    """An event on its way from the coroutine to the listener."""

    __slots__ = ("event",)

    def __init__(self, event: Any) -> None:
        self.event = event

    def __await__(self) -> Generator[Any, Any, None]:
        yield self


class _Step:
    """Run a coroutine in a context until it emits an event or ends, with ``None``."""

    __slots__ = ("_context", "_error", "_work")

    def __init__(
        self, context: contextvars.Context, work: Coroutine[Any, Any, None], error: BaseException | None = None
    ) -> None:
        self._context = context
        self._work = work
        self._error = error

    def __await__(self) -> Generator[Any, Any, _Emission | None]:
        run, work = self._context.run, self._work
        resume: Callable[[Any], Any] = work.send if self._error is None else work.throw
        value: Any = self._error
        while True:
            try:
                waits_for = run(resume, value)
            except StopIteration:
                return None
            if type(waits_for) is _Emission:
                return waits_for
            try:
                resume, value = work.send, (yield waits_for)
            except GeneratorExit:
                run(work.close)
                raise
            except BaseException as error:  # noqa: BLE001  # such as a cancellation: passed on, as a coroutine does
                resume, value = work.throw, error
