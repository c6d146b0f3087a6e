"""What works in the background while a chat is open in a terminal."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from oneclaw_core.cli.output import print_text
from oneclaw_core.plugins.loading import background_workers
from oneclaw_core.plugins.registrars import WorkerHost

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from oneclaw_core.app import OneClaw
    from oneclaw_core.plugins.registrars import BackgroundWorker

_PROMPT_POLL_SECONDS = 0.3
_log = logging.getLogger("oneclaw.cli")


@asynccontextmanager
async def working_in_background(claw: OneClaw) -> AsyncGenerator[None, None]:
    """Have the background workers of all plugins work until the end of the block."""
    texts: asyncio.Queue[str] = asyncio.Queue()
    host = WorkerHost(claw.home, texts.put_nowait)
    workers = background_workers(claw.catalog.plugins, claw.home.loading)
    tasks = [asyncio.create_task(_work(each, host)) for each in workers]
    if tasks:
        tasks.append(asyncio.create_task(_show(texts)))
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


async def _work(worker: BackgroundWorker, host: WorkerHost) -> None:
    try:
        await worker.work(host)
    except Exception as error:  # noqa: BLE001  # foreign code, which must not end the chat
        _log.error("the background worker %s of %s has failed", worker.name, worker.plugin, exc_info=error)
        host.show(f"the background worker {worker.name} has stopped ({type(error).__name__}: {error})")


async def _show(texts: asyncio.Queue[str]) -> None:
    """Show texts above the line that the user types, and nothing in the middle of an answer."""
    from prompt_toolkit.application import get_app_or_none, run_in_terminal

    while True:
        text = await texts.get()
        while (app := get_app_or_none()) is None or not app.is_running:  # noqa: ASYNC110  # it tells nobody
            await asyncio.sleep(_PROMPT_POLL_SECONDS)
        await run_in_terminal(lambda text=text: print_text(text))  # type: ignore[misc]
