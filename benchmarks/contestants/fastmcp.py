"""FastMCP: a client of all MCP servers, and a proxy that finds their tools with BM25.

``python -m benchmarks.contestants.fastmcp`` is the proxy, on standard input and output.
"""

from __future__ import annotations

import os
import sys
import time

from benchmarks.contestants.bare_mcp import (
    CALLS,
    behind_gateway,
    configured,
    definition_of,
    stdio_client_of,
    with_size,
)
from benchmarks.mcp_homes import CONFIGURATION, HTTP_URL, server_name
from benchmarks.mcp_server import FIRST_TOOL
from benchmarks.measuring import STARTED, median_seconds
from benchmarks.tool_set import LOAD_TURN
from benchmarks.work import FIRST_RESULT, OVER_HTTP, OVER_STDIO

TEXT = {"text": LOAD_TURN}


def _first_tool(size: int) -> str:
    """Return the name of the first tool, which has the server's name before it where there are several."""
    return FIRST_TOOL if size == 1 else f"{server_name(0)}_{FIRST_TOOL}"


async def mcp_start(size: int) -> dict[str, float]:
    """Start all servers, list their tools, and call one."""
    from fastmcp import Client

    if not size:
        started = time.perf_counter() - STARTED
        return with_size({"": started}, [])
    async with Client({"mcpServers": configured()}) as client:
        tools = await client.list_tools()
        listed = time.perf_counter() - STARTED
        await client.call_tool(_first_tool(size), TEXT)
        values = {"": listed, FIRST_RESULT: time.perf_counter() - STARTED}
        return with_size(values, map(definition_of, tools))


async def mcp_call(size: int) -> dict[str, float]:
    """Call a tool of a server of each kind."""
    from fastmcp import Client

    values = {}
    for title, target in ((OVER_STDIO, {"mcpServers": configured()}), (OVER_HTTP, os.environ[HTTP_URL])):
        async with Client(target) as client:
            await client.list_tools()

            async def calls(client: Client = client) -> None:
                for _ in range(CALLS):
                    await client.call_tool(FIRST_TOOL, TEXT)

            values[title] = await median_seconds(calls) / CALLS
    return values


async def mcp_gateway(size: int) -> dict[str, float]:
    """Connect to the proxy."""
    entry = {"command": sys.executable, "args": ["-W", "ignore", "-m", "benchmarks.contestants.fastmcp"]}
    environ = {**os.environ, CONFIGURATION: os.environ[CONFIGURATION]}
    call = {"name": _first_tool(size), "arguments": TEXT}
    # It starts all servers before its first answer, which takes it longer than the SDK waits for that of the new era.
    return await behind_gateway(stdio_client_of(entry, environ, "legacy"), "call_tool", call)


def main() -> None:
    """Serve the proxy."""
    from fastmcp.server import create_proxy
    from fastmcp.server.transforms.search.bm25 import BM25SearchTransform

    proxy = create_proxy({"mcpServers": configured()}, mode="auto")
    proxy.add_transform(BM25SearchTransform())
    proxy.run(show_banner=False)


if __name__ == "__main__":
    main()
