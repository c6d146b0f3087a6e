"""Servers and clients that others wrote: FastMCP, and programs of npm.

The variable ``ONECLAW_TESTS_NPM_PROGRAMS`` names the directory with the programs of ``npm/package.json``, as
CONTRIBUTING.md says; a test whose program is missing there fails. Without it, the programs on the path are taken.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp_homes import McpHome, free_port, running_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_oneclaw import HomeFactory

    from oneclaw_core import Home
    from oneclaw_core.types.user_question import UserQuestion

NPM_PROGRAMS = os.environ.get("ONECLAW_TESTS_NPM_PROGRAMS")
TRANSPORTS = pytest.mark.parametrize("kind", ["stdio", pytest.param("http", marks=pytest.mark.long)])
FASTMCP = """
import os, sys
from fastmcp import Context, FastMCP
from fastmcp.utilities.types import Image

server = FastMCP("stranger", instructions="Counts words.")

@server.tool
async def count(text: str, ctx: Context) -> dict[str, int]:
    "Count words."
    await ctx.report_progress(1, 2)
    return {"words": len(text.split())}

@server.tool
def show() -> Image:
    "Show a picture."
    return Image(data=b"\\x89PNG\\r\\n\\x1a\\n0000", format="png")

@server.tool
def leave() -> str:
    "End the server."
    os._exit(3)

if len(sys.argv) > 1:
    server.run("http", port=int(sys.argv[1]), show_banner=False)
else:
    server.run("stdio", show_banner=False)
"""


@pytest.mark.long
@TRANSPORTS
def test_server_of_fastmcp_works(kind: str, oneclaw_factory: HomeFactory) -> None:
    home = McpHome(oneclaw_factory(["mcp"], allow=["mcp.stranger.*"]))
    program = (sys.executable, "-c", FASTMCP)
    if kind == "stdio":
        manifest = home.add("stranger", *program)
        _assert_counts(home, manifest)
        assert home.call("stranger__leave").error_type == "interrupted"
        assert home.call("stranger__count", text="it is back").result == {"words": 3}
        return
    port = free_port()
    with running_server(*program, str(port)):
        _assert_counts(home, home.add("stranger", transport="http", url=f"http://127.0.0.1:{port}/mcp"))
        assert home.call("stranger__leave").error_type == "interrupted"
    with running_server(*program, str(port)):
        assert home.call("stranger__count", text="it is back").result == {"words": 3}
        home.oneclaw.close()


def _assert_counts(home: McpHome, manifest: Any) -> None:
    assert [each.name for each in manifest.tools] == ["stranger__count", "stranger__leave", "stranger__show"]
    assert home.call("stranger__count", text="one two").result == {"words": 2}
    assert home.call("stranger__show").attachments[0].media_type == "image/png"


def npm_program(name: str) -> tuple[str, ...]:
    """Return the command of a program of npm, or skip the test."""
    found = shutil.which(name, path=NPM_PROGRAMS)
    if found is None:
        if NPM_PROGRAMS:
            pytest.fail(f"{name} is not in {NPM_PROGRAMS}")
        pytest.skip("needs the MCP programs of npm: see CONTRIBUTING.md")
    node = shutil.which("node", path=NPM_PROGRAMS) or shutil.which("node")
    assert node is not None
    return node, str(Path(found).resolve())


@contextmanager
def everything(home: McpHome, kind: str) -> Iterator[None]:
    """Have the reference server with everything."""
    program = npm_program("mcp-server-everything")
    if kind == "stdio":
        home.add("every", *program, "stdio")
        yield
        return
    port = free_port()
    with running_server("env", f"PORT={port}", *program, "streamableHttp", ready="listening on port"):
        home.add("every", transport="http", url=f"http://127.0.0.1:{port}/mcp")
        yield
        home.oneclaw.close()


@TRANSPORTS
def test_reference_server_with_everything(kind: str, oneclaw_factory: HomeFactory) -> None:
    home = McpHome(oneclaw_factory(["mcp"], allow=["mcp.every.*"]))
    with everything(home, kind):
        assert home.call("every__echo", message="hi").result == "Echo: hi"
        assert home.call("every__get-sum", a=1, b=2).is_success
        assert home.call("every__get-tiny-image").attachments[0].media_type == "image/png"
        assert home.call("every__get-structured-content", location="Chicago").result["conditions"]
        assert home.call("every__trigger-long-running-operation", duration=0.2, steps=2).is_success
        assert "[resource " in str(home.call("every__get-resource-links", count=2).result)
        assert not home.call("every__get-sum", a="one").is_success
        if kind == "stdio":
            variables = json.loads(home.call("every__get-env").result)
            assert "PATH" in variables
            assert not [each for each in variables if each.startswith("ONECLAW")]


@TRANSPORTS
def test_reference_server_asks_the_user(kind: str, oneclaw_factory: HomeFactory) -> None:
    home = McpHome(oneclaw_factory(["mcp"], allow=["mcp.every.*"]))
    asked: list[str] = []

    async def reply(question: UserQuestion) -> str | None:
        asked.append(question.question)
        return None

    home.oneclaw.user.reply = reply  # type: ignore[method-assign]
    with everything(home, kind):
        assert '"decline"' in str(home.call("every__trigger-elicitation-request").result)
    assert ["The MCP server every asks" in each for each in asked] == [True]


def test_reference_server_is_cancelled_and_goes_on(oneclaw_factory: HomeFactory) -> None:
    home = McpHome(oneclaw_factory(["mcp"], allow=["mcp.every.*"]))
    app = home.oneclaw.app

    async def cancelled() -> None:
        async with asyncio.timeout(0.5):
            await app.call_tool("every__trigger-long-running-operation", {"duration": 60, "steps": 60})

    with everything(home, "stdio"):
        assert home.call("every__echo", message="hi").is_success
        with pytest.raises(TimeoutError):
            home.oneclaw.run(cancelled())
        assert home.call("every__echo", message="still here").result == "Echo: still here"


def test_reference_server_of_files(oneclaw_factory: HomeFactory, tmp_path: Path) -> None:
    home = McpHome(oneclaw_factory(["mcp"], allow=["mcp.files.*"]))
    (tmp_path / "note").write_text("content")
    home.add("files", *npm_program("mcp-server-filesystem"), str(tmp_path))
    result = home.call("files__read_text_file", path=str(tmp_path / "note")).result
    assert "content" in str(result)
    assert not home.call("files__read_text_file", path="/etc/hostname").is_success


def test_command_line_of_the_inspector(oneclaw_home: Home) -> None:
    server = [sys.executable, "-m", "oneclaw_core", "mcp", "serve", "-e", f"ONECLAW_HOME={oneclaw_home.path}"]

    def inspect(*arguments: str) -> Any:
        command = [*npm_program("mcp-inspector"), "--cli", *server, "--connect-timeout", "100000", *arguments]
        return json.loads(subprocess.run(command, check=True, capture_output=True, timeout=120).stdout)

    assert "find_tools" in [each["name"] for each in inspect("--method", "tools/list")["tools"]]
    call = ("--method", "tools/call", "--tool-name", "find_tools", "--tool-arg", "query=what time is it")
    assert "get_current_time" in inspect(*call)["content"][0]["text"]
