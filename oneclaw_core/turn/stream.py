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
    resume, send = contextvars.copy_context().run, work.send
    try:
        while True:
            try:
                step = resume(send, None)
            except StopIteration:
                return
            if type(step) is not _Emission and (step := await _NextEmission(resume, work, step)) is None:
                return
            yield step.event
    finally:
        if getcoroutinestate(work) != CORO_CLOSED:
            with suppress(StreamClosed, StopIteration):
                step = resume(work.throw, StreamClosed())
                if type(step) is _Emission or await _NextEmission(resume, work, step) is not None:
                    raise RuntimeError("an event was emitted after its stream was closed")


class _Emission:
    """An event on its way from the coroutine to the listener."""

    __slots__ = ("event",)

    def __init__(self, event: Any) -> None:
        self.event = event

    def __await__(self) -> Generator[Any, Any, None]:
        # Faster than a generator. It has no ``throw``: an exception is raised where the emission is awaited.
        return iter((self,))  # type: ignore[return-value]


class _NextEmission:
    """Wait for what a coroutine waits for, until it emits an event or ends, with ``None``.

    Args:
        resume: calls a function in the context of the coroutine.
        work: the coroutine.
        waits_for: yielded by it.
    """

    __slots__ = ("_resume", "_waits_for", "_work")

    def __init__(self, resume: Callable[..., Any], work: Coroutine[Any, Any, None], waits_for: Any) -> None:
        self._resume = resume
        self._work = work
        self._waits_for = waits_for

    def __await__(self) -> Generator[Any, Any, _Emission | None]:
        resume, work, step = self._resume, self._work, self._waits_for
        while type(step) is not _Emission:
            function: Callable[[Any], Any] = work.send
            try:
                value = yield step
            except GeneratorExit:
                resume(work.close)
                raise
            except BaseException as error:  # noqa: BLE001  # such as a cancellation: passed on, as a coroutine does
                function, value = work.throw, error
            try:
                step = resume(function, value)
            except StopIteration:
                return None
        return step
