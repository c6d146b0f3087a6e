"""Notices that the list of tools has changed, for clients in direct mode, in both eras of the protocol."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from oneclaw_core import OneClawError
from oneclaw_mcp.asking import is_modern

if TYPE_CHECKING:
    from mcp.server.connection import Connection

    from oneclaw_core import OneClaw
    from oneclaw_mcp.direct import DirectTools

MAX_SUBSCRIPTIONS = 100
LOOK_SECONDS = 5.0
# A client that does not read is not waited for any longer.
_SEND_SECONDS = 2.0

_log = logging.getLogger("oneclaw.mcp")


class ListChanges:
    """Tells clients that have seen the list of tools when there is another one.

    Args:
        claw: the open home.
        tools: that are listed.
    """

    def __init__(self, claw: OneClaw, tools: DirectTools) -> None:
        from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler

        self._claw = claw
        self._tools = tools
        self._bus = InMemorySubscriptionBus()
        self._listening = ListenHandler(self._bus, max_subscriptions=MAX_SUBSCRIPTIONS)
        self._old: WeakSet[Connection] = WeakSet()
        self._seen: tuple[int, str] | None = None

    def note(self, context: Any) -> None:
        """Remember what a client is about to see, and how a client of the old era is reached."""
        if self._seen is None:
            self._seen = self._state()
        if not is_modern(context):
            # A session is of one request; the SDK gives no other way to what outlives it.
            self._old.add(context.session._connection)

    async def listen(self, context: Any, parameters: Any) -> Any:
        """Answer ``subscriptions/listen``: of what a client asks for, only the tools change."""
        from mcp_types import SubscriptionFilter

        if self._seen is None:
            self._seen = self._state()
        wanted = SubscriptionFilter(tools_list_changed=parameters.notifications.tools_list_changed)
        return await self._listening(context, parameters.model_copy(update={"notifications": wanted}))

    async def look(self) -> None:
        """Tell the clients if the list has changed."""
        from mcp.server.subscriptions import ToolsListChanged

        if self._seen is None or self._seen[0] == self._claw.services.registry.version:
            return
        before, self._seen = self._seen, self._state()
        if before[1] == self._seen[1]:
            return
        await self._bus.publish(ToolsListChanged())
        await asyncio.gather(*(self._send(each) for each in list(self._old)))

    async def watch(self) -> None:
        """Look for changes, also of other processes, until cancelled."""
        source: Any = await self._claw.services.tool_source("mcp", "servers")
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            with suppress(OneClawError):  # the database is busy, or a file is damaged: the next look counts
                await self._claw.refresh_tool_states()
                await source.refresh()
                await self.look()

    def close(self) -> None:
        """End all subscriptions."""
        self._listening.close()

    def _state(self) -> tuple[int, str]:
        version = self._claw.services.registry.version
        digest = hashlib.sha256()
        for name, each in self._tools.listed():
            digest.update(f"{name}\0{each.description}\0{each.parameters_text()}\0{each.read_only}\0".encode())
        return version, digest.hexdigest()

    async def _send(self, connection: Connection) -> None:
        try:
            async with asyncio.timeout(_SEND_SECONDS):
                await connection.send_tool_list_changed()
        except TimeoutError:
            _log.warning("a client reads no messages, and was not told that the list of tools has changed")
