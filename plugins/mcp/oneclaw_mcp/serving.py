"""The server for MCP clients over standard input and output, in both eras of the protocol."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections import deque
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Self

from oneclaw_core import NotFoundError, OneClaw, UsageError
from oneclaw_core.process import run_in_thread
from oneclaw_mcp.journal import STEPS, CallJournal
from oneclaw_mcp.offer import CORE_GROUP, Offer
from oneclaw_mcp.served import ServedOffer, sdk_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable
    from typing import IO, Any

    from oneclaw_core import PluginStorage

END_SECONDS = 1.5
_PIECE_BYTES = 65_536
# As shells give it to a program that SIGTERM has ended.
_TERMINATED_STATUS = 143


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
        received: Any = ReceivedLines(sys.stdin.fileno())
        watching = asyncio.create_task(served.watch())
        try:
            async with stdio_server(received, messages) as (reading, writing):
                await server.run(reading, writing, server.create_initialization_options())
        except asyncio.CancelledError:  # by a signal
            end_in_time(_TERMINATED_STATUS)
            raise
        finally:
            watching.cancel()
            await served.aclose()


class ReceivedLines:
    """The lines of a client, read in a thread that a signal does not wait for.

    Args:
        descriptor: of the input.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._unread = bytearray()
        self._lines: deque[bytes] = deque()
        self._is_first = True

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        while not self._lines:
            piece = await run_in_thread(partial(os.read, self._descriptor, _PIECE_BYTES))
            if not piece and not self._unread:
                raise StopAsyncIteration
            first, *others = (piece or b"\n").split(b"\n")
            self._unread += first
            for each in others:
                self._lines.append(bytes(self._unread))
                self._unread[:] = each
        line = self._lines.popleft().decode("utf-8-sig" if self._is_first else "utf-8", "replace")
        self._is_first = False
        return line


def end_in_time(status: int) -> None:
    """End the program soon, also if a call does not end."""
    timer = threading.Timer(END_SECONDS, os._exit, (status,))
    timer.daemon = True
    timer.start()


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


_PLUGIN = "plugin:"


async def make_offer(claw: OneClaw, groups: Iterable[str], *, agent: str | None, is_read_only: bool) -> Offer:
    """Check the options of the command.

    Args:
        claw: the open home.
        groups: names of tool groups, or ``plugin:NAME`` for all tools of a plugin.
        agent: whose tools they are; ``None`` for all.
        is_read_only: True to leave out each tool that may change something.

    Raises:
        NotFoundError: there is no such agent or group.
    """
    found = await claw.agents.get(agent) if agent is not None else None
    registry = claw.services.registry
    known = {each.name for each in registry.get_all_group_definitions()} | {CORE_GROUP}
    plugins = {each.name: each.tools for each in claw.catalog.plugins}
    chosen: set[str] = set()
    tools: set[str] = set()
    for name in groups:
        if name.removeprefix(_PLUGIN) in plugins and name.startswith(_PLUGIN):
            tools.update(plugins[name.removeprefix(_PLUGIN)])
        elif name in known:
            chosen.add(name)
        else:
            raise NotFoundError(f"there is no tool group {name!r}; see: oneclaw groups list")
    return Offer(frozenset(chosen), is_read_only, found, single_tools=frozenset(tools))
