"""Running a command's coroutine so that Ctrl-C and SIGTERM end it in an orderly way."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

Value = TypeVar("Value")

TERMINATED_STATUS = 128 + signal.SIGTERM


def run_async(coroutine: Coroutine[Any, Any, Value]) -> Value:
    """Run a coroutine; a signal cancels it, and what it has open is closed.

    Raises:
        KeyboardInterrupt: Ctrl-C ended it.
        SystemExit: SIGTERM ended it; the status is the one shells give such a program.
    """
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
