"""Blocking calls in threads that keep no program from ending."""

from __future__ import annotations

import concurrent.futures
import threading
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")


def start_in_background(call: Callable[[], _T], name: str) -> concurrent.futures.Future[_T]:
    """Start a call that cannot be cancelled, such as a name lookup, in a daemon thread.

    Args:
        call: takes nothing.
        name: of the thread.

    Returns:
        Its result. Await it with ``asyncio.wrap_future``.
    """
    future: concurrent.futures.Future[_T] = concurrent.futures.Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            value = call()
        except Exception as error:  # noqa: BLE001  # raised where the result is awaited
            future.set_exception(error)
        except BaseException as error:  # noqa: BLE001  # which would end the event loop that awaits it
            future.set_exception(RuntimeError(f"the call raised {type(error).__name__}"))
        else:
            future.set_result(value)

    threading.Thread(target=run, name=name, daemon=True).start()
    return future
