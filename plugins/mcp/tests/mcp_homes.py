"""A home with MCP servers, which are real programs."""

from __future__ import annotations

import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneclaw_mcp.adding import add_server
from oneclaw_mcp.servers import Server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneclaw_mcp.manifest import Manifest
    from oneclaw_mcp.source import ServerSource
    from pytest_oneclaw import HomeUnderTest

HERE = Path(__file__).parent


class McpHome:
    """A home whose servers a test adds and calls."""

    def __init__(self, oneclaw: HomeUnderTest) -> None:
        self.oneclaw = oneclaw

    @property
    def source(self) -> ServerSource:
        return self.oneclaw.run(self.oneclaw.app.services.tool_source("mcp", "servers"))

    def add(self, name: str, *command: str, is_started: bool = True, **options: Any) -> Manifest | None:
        server = Server(name, command=command or plain(), **options)
        return self.oneclaw.run(add_server(self.source, server, is_started=is_started))

    def call(self, tool: str, **arguments: Any) -> Any:
        return self.oneclaw.call_tool(tool, **arguments)


def plain(*options: str) -> tuple[str, ...]:
    """The command of the server without a library."""
    return (sys.executable, "-S", "-E", str(HERE / "plain_server.py"), *options)


def free_port() -> int:
    """A port of 127.0.0.1 that nothing listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextmanager
def running_server(*command: str, ready: str = "Uvicorn running") -> Iterator[None]:
    """Run a server over HTTP; it is ready when it writes so to standard error."""
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        try:
            while ready not in (line := running.stderr.readline()):
                assert line, f"it ended with {running.wait()}"
            yield
        finally:
            running.kill()
