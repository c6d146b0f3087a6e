"""Clients of the MCP SDK without a framework, one for each configured server."""

from __future__ import annotations

import asyncio
import json
import os
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.mcp_homes import CONFIGURATION, HTTP_URL
from benchmarks.mcp_server import FIRST_TOOL
from benchmarks.measuring import STARTED, median_seconds, tokens_of, tree_megabytes
from benchmarks.tool_set import LOAD_TURN
from benchmarks.work import ALL_MEMORY, FIRST_RESULT, ONE_CALL, OVER_HTTP, OVER_STDIO, TOOL_TOKENS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from mcp import Client

CALLS = 25
_SECONDS = 60


def configured() -> dict[str, Any]:
    """Return the entries of the configured servers by their names."""
    servers: dict[str, Any] = json.loads(Path(os.environ[CONFIGURATION]).read_text(encoding="utf-8"))["mcpServers"]
    return servers


def with_size(values: dict[str, float], sent: Iterable[object]) -> dict[str, float]:
    """Add the memory of all processes, where it is known, and then the tokens of what a model is sent."""
    megabytes = tree_megabytes()
    if megabytes is not None:
        values[ALL_MEMORY] = megabytes
    # The vocabulary needs more memory than most contestants.
    values[TOOL_TOKENS] = tokens_of(sent)
    return values


def definition_of(tool: Any) -> dict[str, Any]:
    """Return what a model is sent of a listed tool."""
    return {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}


def stdio_client_of(entry: dict[str, Any], environ: dict[str, str] | None = None, mode: str = "auto") -> Client:
    """Return a client of a server that is a program.

    Args:
        entry: of the server in a file of servers.
        environ: environment variables for it; ``None`` for the few that the SDK passes on.
        mode: ``legacy`` for the handshake of the old era, whose limit is that of all requests. ``auto`` asks for the
            new era first, and gives that up after ten seconds.
    """
    from mcp import Client, StdioServerParameters, stdio_client

    parameters = StdioServerParameters(command=entry["command"], args=entry["args"], env=environ)
    return Client(stdio_client(parameters), read_timeout_seconds=_SECONDS, mode=mode)


@asynccontextmanager
async def all_clients() -> AsyncIterator[list[tuple[Client, list[Any]]]]:
    """Start all configured servers side by side, each in a separate task; gives clients and listed tools."""
    over = asyncio.Event()

    async def own(entry: dict[str, Any], ready: asyncio.Future[tuple[Client, list[Any]]]) -> None:
        try:
            async with stdio_client_of(entry) as client:
                ready.set_result((client, (await client.list_tools()).tools))
                await over.wait()
        except Exception as error:
            if ready.done():
                raise
            ready.set_exception(error)

    loop = asyncio.get_running_loop()
    waiting = [(entry, loop.create_future()) for entry in configured().values()]
    owners = [loop.create_task(own(entry, ready)) for entry, ready in waiting]
    try:
        yield await asyncio.gather(*(ready for _, ready in waiting))
    finally:
        over.set()
        await asyncio.gather(*owners)


async def mcp_start(size: int) -> dict[str, float]:
    """Start all servers, list their tools, and call one."""
    import mcp  # noqa: F401  # what a program does before all else

    async with all_clients() as clients:
        listed = time.perf_counter() - STARTED
        values = {"": listed}
        if clients:
            assert not (await clients[0][0].call_tool(FIRST_TOOL, {"text": LOAD_TURN})).is_error
            values[FIRST_RESULT] = time.perf_counter() - STARTED
        return with_size(values, (definition_of(tool) for _, tools in clients for tool in tools))


async def mcp_gateway(size: int) -> dict[str, float]:
    """No gateway: all servers themselves."""
    async with all_clients() as clients:
        values = {"": time.perf_counter() - STARTED}
        values[ONE_CALL] = await median_seconds(lambda: clients[0][0].call_tool(FIRST_TOOL, {"text": LOAD_TURN}))
        return with_size(values, (definition_of(tool) for _, tools in clients for tool in tools))


async def behind_gateway(client: Client, caller: str, arguments: dict[str, Any]) -> dict[str, float]:
    """Measure a gateway that is about to be started.

    Args:
        client: of the gateway.
        caller: its tool that calls other tools.
        arguments: of it, for the first server's first tool.
    """
    async with client:
        tools = (await client.list_tools()).tools
        values = {"": time.perf_counter() - STARTED}

        async def call() -> None:
            result = await client.call_tool(caller, arguments)
            assert not result.is_error, result
            assert LOAD_TURN in str(result.content), result

        await call()
        values[ONE_CALL] = await median_seconds(call)
        return with_size(values, [*map(definition_of, tools), client.instructions or ""])


async def mcp_call(size: int) -> dict[str, float]:
    """Call a tool of a server of each kind."""
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    values = {}
    (entry,) = configured().values()
    http = Client(streamable_http_client(os.environ[HTTP_URL]), read_timeout_seconds=_SECONDS)
    for title, client in ((OVER_STDIO, stdio_client_of(entry)), (OVER_HTTP, http)):
        async with client:
            await client.list_tools()
            values[title] = await median_seconds(lambda client=client: called(client)) / CALLS  # type: ignore[misc]
    return values


async def called(client: Client) -> None:
    """Call the first tool many times."""
    for _ in range(CALLS):
        assert not (await client.call_tool(FIRST_TOOL, {"text": LOAD_TURN})).is_error
