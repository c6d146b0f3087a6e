"""The server over HTTP on loopback, as `oneclaw mcp serve --http` runs it."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from oneclaw_mcp.http_serving import PATH, HttpServer, guarded_server
from oneclaw_mcp.offer import Offer
from oneclaw_mcp.serving import open_journal

from oneclaw_core.http import ServerTokens, listen

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from oneclaw_mcp.journal import CallJournal

    from oneclaw_core import OneClaw

SCOPES = ("mcp.call", "mcp.approve")


class Served:
    """A running server."""

    def __init__(self, app: HttpServer, tokens: ServerTokens, journal: CallJournal, port: int) -> None:
        self.app = app
        self.journal = journal
        self.tokens = tokens
        self.port = port
        self.url = f"http://127.0.0.1:{port}{PATH}"

    async def token(self, *scopes: str, name: str = "laptop") -> str:
        return await self.tokens.create(name, scopes or SCOPES)

    @asynccontextmanager
    async def client(self, token: str, mode: str = "auto", **options: Any) -> AsyncIterator[Any]:
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client
        from mcp.shared._httpx_utils import create_mcp_http_client

        async with create_mcp_http_client(headers={"Authorization": f"Bearer {token}"}) as http:
            transport = streamable_http_client(self.url, http_client=http)
            async with Client(transport, mode=mode, read_timeout_seconds=30, **options) as client:
                yield client


@asynccontextmanager
async def served(claw: OneClaw, offer: Offer | None = None, *, is_direct: bool = False) -> AsyncIterator[Served]:
    source: Any = await claw.services.tool_source("mcp", "servers")
    tokens = ServerTokens(source.context.storage)
    journal = await open_journal(source.context.storage)
    app = HttpServer(claw, tokens, offer or Offer(), journal, is_direct=is_direct)
    sock = listen("127.0.0.1", 0, advice="")
    port = sock.getsockname()[1]
    server = guarded_server(app, port)
    running = asyncio.create_task(server.serve(sockets=[sock]))
    try:
        yield Served(app, tokens, journal, port)
    finally:
        server.should_exit = True
        await app.drain()
        await running
