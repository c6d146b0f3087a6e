"""Running foreign code in a daemon thread with a time limit.

A thread that does not end is abandoned: it keeps neither the caller nor the end of the program waiting. Code that
raises ``KeyboardInterrupt`` or ``SystemExit`` there ends nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from oneclaw_core.threads import start_in_background

if TYPE_CHECKING:
    from collections.abc import Callable

LOAD_SECONDS = 30.0
"""The time limit of importing a plugin and calling its registration hooks."""

_T = TypeVar("_T")


class TookTooLongError(Exception):
    """Foreign code did not end within its time."""


class ForeignCodeError(Exception):
    """Foreign code raised an exception, which is the cause; it may be of any type."""

    def __init__(self, raised: BaseException) -> None:
        super().__init__()
        self.raised = raised


class ForeignCall(Generic[_T]):
    """A call in a separate thread, whose outcome many can wait for.

    Args:
        call: takes nothing.
        name: of the thread.
    """

    def __init__(self, call: Callable[[], _T], name: str) -> None:
        def isolated() -> _T:
            try:
                return call()
            except BaseException as error:  # belongs to those who wait
                raise ForeignCodeError(error) from error

        self._future = start_in_background(isolated, f"oneclaw {name}")

    def wait(self, seconds: float) -> _T:
        """Return what the call returned; Ctrl-C ends the waiting.

        Raises:
            TookTooLongError: it goes on.
            ForeignCodeError: it raised an exception.
        """
        try:
            return self._future.result(seconds)
        except TimeoutError:
            raise TookTooLongError(_too_long(seconds)) from None

    async def wait_async(self, seconds: float) -> _T:
        """Do the same without blocking the event loop."""
        import asyncio

        try:
            async with asyncio.timeout(seconds):
                return await asyncio.wrap_future(self._future)
        except TimeoutError:
            raise TookTooLongError(_too_long(seconds)) from None


def _too_long(seconds: float) -> str:
    return f"it did not end within {seconds:g} s"
