"""Keep the files that a server writes in bounds while it runs."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from oneclaw_core.cli.log import MAX_FILE_BYTES
from oneclaw_core.sessions.locks import remove_unheld
from oneclaw_core.system.threads import run_in_thread

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from oneclaw_core.system.home import Home

PAUSE_SECONDS = 3_600.0


@asynccontextmanager
async def upkeep(home: Home) -> AsyncGenerator[None, None]:
    """Tidy up a home now and each hour until the end of the block."""
    work = asyncio.create_task(_keep_up(home), name="upkeep of the home")
    try:
        yield
    finally:
        work.cancel()
        await asyncio.wait({work})


async def _keep_up(home: Home) -> None:
    while True:
        await run_in_thread(partial(tidy_up, home))
        await asyncio.sleep(PAUSE_SECONDS)


def tidy_up(home: Home) -> None:
    """Remove lock files that killed processes have left, and shorten the log that launchd writes."""
    remove_unheld(home.locks)
    with suppress(OSError):  # the next time, or it is not there
        _shorten(home.log_file.with_name("serve.log"))


def _shorten(log: Path) -> None:
    """Move the content of a log to a second file; the program that appends to the first one keeps it open."""
    if log.stat().st_size > MAX_FILE_BYTES:
        old = log.with_name(f"{log.name}.1")
        shutil.copyfile(log, old)
        old.chmod(0o600)
        with log.open("r+b") as file:
            file.truncate()
