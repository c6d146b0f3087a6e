"""fastmcp: tools of a server, called by a client in the same process. It has no turns."""

from __future__ import annotations

import time
from typing import Any

from fastmcp import Client, FastMCP
from fastmcp.tools import Tool
from fastmcp.tools.base import ToolResult

from benchmarks.measuring import median_seconds
from benchmarks.tool_set import FIRST_TOOL, LOAD_TURN, PlainTool, plain_tools


class EchoTool(Tool):
    """Gives back its text."""

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Give it back."""
        return ToolResult(content=arguments["text"])


def _server(tools: list[PlainTool]) -> FastMCP[Any]:
    server: FastMCP[Any] = FastMCP("tools")
    for tool in tools:
        server.add_tool(EchoTool(name=tool.name, description=tool.description, parameters=tool.parameters))
    return server


async def register(size: int) -> float:
    """A server with its tools."""
    tools = list(plain_tools(size))
    started = time.perf_counter()
    _server(tools)
    return time.perf_counter() - started


async def call(size: int) -> float:
    """Through client and server."""
    calls = 50
    async with Client(_server(list(plain_tools(size)))) as client:

        async def once() -> None:
            for _ in range(calls):
                await client.call_tool(FIRST_TOOL, {"text": LOAD_TURN})

        return await median_seconds(once) / calls
