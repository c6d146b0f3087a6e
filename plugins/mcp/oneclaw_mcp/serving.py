"""The server for MCP clients over standard input and output, in both eras of the protocol."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from oneclaw_core import OneClaw, __version__
from oneclaw_mcp.gateway import CALLER, Gateway, ask_caller

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import IO, Any

    from mcp.server.lowlevel import Server as SdkServer


async def serve_stdio(groups: Iterable[str], *, allow: Iterable[str], is_read_only: bool, stdout: IO[Any]) -> None:
    """Serve one client on standard input and output, until the input ends.

    No server of ``oneclaw mcp`` is started before a client calls one of its tools.

    Args:
        groups: the only groups to show; none for all.
        allow: permissions that are granted.
        is_read_only: call no tool that changes anything.
        stdout: where messages go; nothing else may be written there.
    """
    import anyio
    from mcp.server.stdio import stdio_server

    async with OneClaw.open(ask=ask_caller, allow=tuple(allow)) as claw:
        server = gateway_server(Gateway(claw, frozenset(groups), is_read_only=is_read_only))
        # Standard output belongs to the messages; what tools print goes to standard error.
        messages = anyio.wrap_file(os.fdopen(os.dup(stdout.fileno()), "w", encoding="utf-8"))
        received = anyio.wrap_file(os.fdopen(os.dup(sys.stdin.fileno()), encoding="utf-8", errors="replace"))
        async with stdio_server(received, messages) as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())


def gateway_server(gateway: Gateway) -> SdkServer[Any]:
    """Make the server of the SDK for a gateway."""
    from mcp.server.lowlevel import Server as SdkServer
    from mcp_types import CallToolResult, ListToolsResult

    listed = ListToolsResult.model_validate({"tools": gateway.tools})

    async def list_tools(context: Any, parameters: Any) -> ListToolsResult:
        return listed

    async def call_tool(context: Any, parameters: Any) -> CallToolResult:
        token = CALLER.set(context)
        try:
            answer = await gateway.call(parameters.name, parameters.arguments or {})
        finally:
            CALLER.reset(token)
        return CallToolResult.model_validate({"content": answer.blocks, "isError": answer.is_error})

    return SdkServer(
        "oneclaw",
        version=__version__,
        instructions=gateway.instructions(),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
