"""Ending the processes that tools are run in, and telling how they ended."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio.subprocess import Process

# How long a worker that has answered may take to end by itself, and a killed one to be gone.
EXIT_SECONDS = 2.0


async def end_process(process: Process) -> None:
    """Kill a process, if it still runs, and all of its process group; nothing of it is left behind.

    Args:
        process: started with ``start_new_session``, its standard input and output being pipes.
    """
    import anyio.lowlevel

    assert process.stdin is not None
    assert process.stdout is not None
    if process.returncode is None:
        with suppress(ProcessLookupError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
    process.stdin.close()
    # Awaiting must go on although the task is being cancelled; a killed process makes no one wait for long.
    with anyio.CancelScope(shield=True), suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), EXIT_SECONDS)
        await asyncio.wait_for(process.stdout.read(), EXIT_SECONDS)
    # Its end of the pipe is gone, but the loop may be closed before it has noticed; there is no public way to say so.
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()
        await anyio.lowlevel.cancel_shielded_checkpoint()


def describe_end(returncode: int | None) -> str:
    """Tell how a process ended, as the end of a sentence.

    Args:
        returncode: below 0 for the signal that ended it; ``None`` if it has not ended.
    """
    if returncode is None:
        return "went silent"
    if returncode >= 0:
        return f"ended with exit status {returncode}"
    try:
        return f"was ended by signal {signal.Signals(-returncode).name}"
    except ValueError:
        return f"was ended by signal {-returncode}"
