"""The services of plugins that run while a chat is open in a terminal."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from oneclaw_core.cli.output import print_text
from oneclaw_core.services.manager import SERVICE_HOOK, ServiceManager
from oneclaw_core.services.news import ServiceChange

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from oneclaw_core.app import OneClaw
    from oneclaw_core.services.news import ServiceNews

_PROMPT_POLL_SECONDS = 0.3
_SHOWN = (ServiceChange.SHOWS, ServiceChange.FAILED, ServiceChange.LEFT)


@asynccontextmanager
async def services_running(claw: OneClaw) -> AsyncGenerator[None, None]:
    """Run the services that belong to a chat until the end of the block."""
    services = [each for each in claw.plugins.registrations(SERVICE_HOOK) if "chat" in each.options["runs_in"]]
    if not services:
        yield
        return
    texts: asyncio.Queue[str] = asyncio.Queue()

    def report(news: ServiceNews) -> None:
        if news.change in _SHOWN:
            texts.put_nowait(str(news))

    showing = asyncio.create_task(_show(texts))
    try:
        async with ServiceManager(claw, services, "chat", report).running():
            yield
    finally:
        showing.cancel()
        await asyncio.wait({showing})


async def _show(texts: asyncio.Queue[str]) -> None:
    """Show texts above the line that the user types, and nothing in the middle of an answer."""
    from prompt_toolkit.application import get_app_or_none, run_in_terminal

    while True:
        text = await texts.get()
        while (app := get_app_or_none()) is None or not app.is_running:  # noqa: ASYNC110  # it tells nobody
            await asyncio.sleep(_PROMPT_POLL_SECONDS)
        await run_in_terminal(lambda text=text: print_text(text))  # type: ignore[misc]
