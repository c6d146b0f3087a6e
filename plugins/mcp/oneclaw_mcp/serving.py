"""The server for MCP clients over standard input and output, in both eras of the protocol."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from oneclaw_core import NotFoundError, OneClaw, UsageError
from oneclaw_mcp.journal import STEPS, CallJournal
from oneclaw_mcp.offer import CORE_GROUP, Offer
from oneclaw_mcp.served import ServedOffer, sdk_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable
    from typing import IO, Any

    from oneclaw_core import PluginStorage


async def serve_stdio(
    groups: Iterable[str],
    *,
    allow: Iterable[str],
    is_read_only: bool,
    stdout: IO[Any],
    agent: str | None = None,
    is_direct: bool = False,
) -> None:
    """Serve one client on standard input and output, until the input ends.

    No server of ``oneclaw mcp`` is started before a client calls one of its tools.

    Args:
        groups: the only groups to show; none for all.
        allow: permissions that are granted.
        is_read_only: call no tool that changes anything.
        stdout: where messages go; nothing else may be written there.
        agent: the agent whose tools are shown; ``None`` for all tools.
        is_direct: list the tools themselves instead of the gateway's.
    """
    import anyio
    from mcp.server.stdio import stdio_server

    async with opened(allow) as (claw, storage):
        offer = await make_offer(claw, groups, agent=agent, is_read_only=is_read_only)
        served = ServedOffer.make(claw, offer, await open_journal(storage), is_direct=is_direct)
        server = sdk_server(served)
        # Standard output belongs to the messages; what tools print goes to standard error.
        messages = anyio.wrap_file(os.fdopen(os.dup(stdout.fileno()), "w", encoding="utf-8"))
        received = anyio.wrap_file(os.fdopen(os.dup(sys.stdin.fileno()), encoding="utf-8", errors="replace"))
        watching = asyncio.create_task(served.watch())
        try:
            async with stdio_server(received, messages) as (reading, writing):
                await server.run(reading, writing, server.create_initialization_options())
        finally:
            watching.cancel()
            await served.aclose()


@asynccontextmanager
async def opened(allow: Iterable[str] = ()) -> AsyncIterator[tuple[OneClaw, PluginStorage]]:
    """Open the home, with the storage of this plugin.

    Args:
        allow: permissions that are granted.

    Raises:
        UsageError: the plugin is disabled.
    """
    async with OneClaw.open(allow=tuple(allow)) as claw:
        source: Any = await claw.services.tool_source("mcp", "servers")
        if source is None:
            raise UsageError("the plugin mcp is disabled: enable it with: oneclaw plugins enable mcp")
        yield claw, source.context.storage


async def open_journal(storage: PluginStorage) -> CallJournal:
    """Open the journal of calls in the storage of this plugin."""
    return CallJournal(await storage.tables(STEPS))


async def make_offer(claw: OneClaw, groups: Iterable[str], *, agent: str | None, is_read_only: bool) -> Offer:
    """Check the options of the command.

    Raises:
        NotFoundError: there is no such agent or group.
    """
    found = await claw.agents.get(agent) if agent is not None else None
    chosen = frozenset(groups)
    known = {each.name for each in claw.services.registry.get_all_group_definitions()} | {CORE_GROUP}
    for name in sorted(chosen - known):
        raise NotFoundError(f"there is no tool group {name!r}; see: oneclaw groups list")
    return Offer(chosen, is_read_only, found)
