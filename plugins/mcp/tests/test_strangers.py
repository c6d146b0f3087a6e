"""Servers and clients that others wrote: FastMCP, and programs of npm where they are installed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from mcp_homes import McpHome

if TYPE_CHECKING:
    from pathlib import Path

    from oneclaw_core import Home
    from oneclaw_core.testing import HomeFactory

FASTMCP = """
from fastmcp import Context, FastMCP

server = FastMCP("stranger", instructions="Counts words.")

@server.tool
async def count(text: str, ctx: Context) -> dict[str, int]:
    "Count words."
    await ctx.report_progress(1, 2)
    return {"words": len(text.split())}

server.run("stdio", show_banner=False)
"""


def test_fastmcp(oneclaw_factory: HomeFactory) -> None:
    home = McpHome(oneclaw_factory(["mcp"], allow=["mcp.stranger.*"]))
    manifest = home.add("stranger", sys.executable, "-c", FASTMCP)
    assert manifest is not None
    assert [each.name for each in manifest.tools] == ["stranger__count"]
    assert home.call("stranger__count", text="one two").result == {"words": 2}


def installed(program: str) -> str:
    """Return the path of a program of npm, or skip the test."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed: npm install -g @modelcontextprotocol/{program.removeprefix('mcp-')}")
    return found


def test_reference_server_with_everything(oneclaw_factory: HomeFactory) -> None:
    home = McpHome(oneclaw_factory(["mcp"], allow=["mcp.every.*"]))
    home.add("every", installed("mcp-server-everything"), "stdio")
    assert home.call("every__echo", message="hi").result == "Echo: hi"
    assert home.call("every__get-sum", a=1, b=2).is_success
    assert home.call("every__get-tiny-image").attachments[0].media_type == "image/png"
    assert home.call("every__trigger-long-running-operation", duration=0.2, steps=2).is_success
    assert "[resource " in str(home.call("every__get-resource-links", count=2).result)


def test_reference_server_of_files(oneclaw_factory: HomeFactory, tmp_path: Path) -> None:
    home = McpHome(oneclaw_factory(["mcp"], allow=["mcp.files.*"]))
    (tmp_path / "note").write_text("content")
    home.add("files", installed("mcp-server-filesystem"), str(tmp_path))
    result = home.call("files__read_text_file", path=str(tmp_path / "note")).result
    assert "content" in str(result)
    assert not home.call("files__read_text_file", path="/etc/hostname").is_success


def test_command_line_of_the_inspector(oneclaw_home: Home) -> None:
    server = [sys.executable, "-m", "oneclaw_core", "mcp", "serve", "-e", f"ONECLAW_HOME={oneclaw_home.path}"]

    def inspect(*arguments: str) -> Any:
        command = [installed("mcp-inspector"), "--cli", *server, *arguments]
        return json.loads(subprocess.run(command, check=True, capture_output=True, timeout=60).stdout)

    assert "find_tools" in [each["name"] for each in inspect("--method", "tools/list")["tools"]]
    call = ("--method", "tools/call", "--tool-name", "find_tools", "--tool-arg", "query=what time is it")
    assert "get_current_time" in inspect(*call)["content"][0]["text"]
