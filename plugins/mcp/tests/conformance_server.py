"""The server that the conformance suite of MCP tests: OneClaw over HTTP in a new home, with the tools that it calls.

The suite sends no token, so one is added to its requests. See ``conformance.py``.
"""

from __future__ import annotations

import asyncio
import base64
import sys
import tempfile
from typing import Any

import click
from oneclaw_mcp.http_serving import PATH, HttpServer, guarded_server, listener
from oneclaw_mcp.offer import Offer
from oneclaw_mcp.serving import open_journal

from oneclaw_core import Attachment, OneClaw, ToolContext, ToolResult, tool
from oneclaw_core.http import ServerTokens

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@tool(read_only=True)
def test_simple_text() -> str:
    """Return a text."""
    return "This is a simple text response for testing."


@tool(read_only=True)
def test_image_content() -> ToolResult:
    """Return a picture."""
    return ToolResult.success("a picture", (Attachment("pixel.png", "image/png", base64.b64decode(PIXEL)),))


@tool(read_only=True)
def test_error_handling() -> ToolResult:
    """Fail."""
    return ToolResult.error("execution_error", "This tool intentionally returns an error for testing")


@tool(read_only=True)
async def test_tool_with_progress(context: ToolContext) -> str:
    """Report progress.

    Args:
        context: of the call.
    """
    for fraction in (0.0, 0.5, 1.0):
        context.progress(f"{fraction:.0%}", fraction)
        await asyncio.sleep(0.05)
    return "done"


@tool(read_only=True)
async def test_elicitation(message: str, context: ToolContext) -> str:
    """Ask the user.

    Args:
        message: the question.
        context: of the call.
    """
    return f"User response: {await context.ask_user(message)}"


async def main() -> None:
    """Serve on the port that is the last argument, until it is ended."""
    port = int(sys.argv[-1])
    with tempfile.TemporaryDirectory() as home:
        async with OneClaw.open(home, plugins=["mcp"], environ={}, start_directory=home) as claw:
            claw.add_tools(
                test_simple_text,
                test_image_content,
                test_error_handling,
                test_tool_with_progress,
                test_elicitation,
                group="suite",
            )
            source: Any = await claw.services.tool_source("mcp", "servers")
            tokens = ServerTokens(source.context.storage)
            token = await tokens.create("suite", ("mcp.call", "mcp.approve"))
            journal = await open_journal(source.context.storage)
            offer = Offer(frozenset({"suite"}))
            app = HttpServer(claw, tokens, offer, journal, is_direct=True)

            async def with_token(scope: Any, receive: Any, send: Any) -> None:
                if scope["type"] == "http":
                    given = (b"authorization", f"Bearer {token}".encode())
                    scope = {**scope, "headers": [*scope["headers"], given]}
                await app(scope, receive, send)

            server = guarded_server(with_token, port)  # type: ignore[arg-type]  # an application as well
            sock = listener(port)
            click.echo(f"http://127.0.0.1:{port}{PATH}")
            await server.serve(sockets=[sock])


if __name__ == "__main__":
    asyncio.run(main())
