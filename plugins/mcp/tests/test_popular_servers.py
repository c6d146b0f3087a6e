"""The most popular servers of npm and PyPI, each in the sandbox that it gets by itself.

They are installed into a directory of the test run; where a registry cannot be reached, the tests are skipped.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp_homes import McpHome
from oneclaw_mcp.sandboxing import derived_sandbox

if TYPE_CHECKING:
    from pytest_oneclaw import HomeFactory

pytestmark = [pytest.mark.long, pytest.mark.one_python, pytest.mark.needs("bubblewrap")]
INSTALL_SECONDS = 300
CHROMIUM = shutil.which("chromium") or "chromium"


@dataclass(frozen=True)
class Popular:
    """A server, and a call that needs no network.

    Attributes:
        package: with its registry.
        program: the file of the package that is run, for npm; the name of the program, for PyPI.
        arguments: for it; ``{data}`` is a directory that it may write.
        tool: to call; ``""`` for none that works without a key.
        call: the arguments of that.
        words: of the result.
    """

    package: str
    program: str
    arguments: tuple[str, ...] = ()
    tool: str = ""
    call: dict[str, Any] = field(default_factory=dict)
    words: str = ""


THOUGHT = {"thought": "x", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}
SERVERS = [
    Popular(
        "npm:@playwright/mcp",
        "cli.js",
        ("--headless", "--no-sandbox", "--executable-path", CHROMIUM),
        "browser_navigate",
        {"url": "data:text/html,<title>Hi</title>"},
        "Page Title: Hi",
    ),
    Popular("npm:@upstash/context7-mcp", "dist/index.js"),
    Popular(
        "npm:chrome-devtools-mcp",
        "build/src/bin/chrome-devtools-mcp.js",
        ("--headless", "--isolated", f"--executablePath={CHROMIUM}", "--chromeArg=--no-sandbox"),
        "list_pages",
        words="about:blank",
    ),
    Popular(
        "npm:@modelcontextprotocol/server-filesystem",
        "dist/index.js",
        ("{data}",),
        "list_directory",
        {"path": "{data}"},
        "note",
    ),
    Popular("npm:@modelcontextprotocol/server-memory", "dist/index.js", (), "read_graph", {}, "runs in a sandbox"),
    Popular(
        "npm:@modelcontextprotocol/server-sequential-thinking", "dist/index.js", (), "sequentialthinking", THOUGHT, "1"
    ),
    Popular("npm:@notionhq/notion-mcp-server", "bin/cli.mjs"),
    Popular("pypi:mcp-server-fetch", "mcp-server-fetch", (), "fetch", {"url": "http://127.0.0.1:9/"}, "127.0.0.1"),
    Popular(
        "pypi:mcp-server-git", "mcp-server-git", ("--repository", "{data}"), "git_log", {"repo_path": "{data}"}, "first"
    ),
    Popular("pypi:mcp-server-time", "mcp-server-time", (), "get_current_time", {"timezone": "UTC"}, "UTC"),
]


def installed(server: Popular, folder: Path) -> list[str]:
    """Install a server; return its command, or skip the test."""
    registry, _, package = server.package.partition(":")
    if registry == "npm":
        if shutil.which("npm") is None:
            pytest.skip("needs npm")
        install = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), package]
        command = ["node", str(folder / "node_modules" / package / server.program)]
    else:
        environment = folder / "environment"
        made = subprocess.run([sys.executable, "-m", "venv", str(environment)], check=False, capture_output=True)
        if made.returncode:
            pytest.skip("needs venv")
        install = [str(environment / "bin" / "python"), "-m", "pip", "install", "-q", package]
        command = [str(environment / "bin" / server.program)]
    try:
        done = subprocess.run(install, check=False, capture_output=True, timeout=INSTALL_SECONDS)
    except subprocess.TimeoutExpired:
        pytest.skip(f"{package} cannot be obtained in time")
    if done.returncode:
        pytest.skip(f"{package} cannot be obtained: {done.stderr[-300:]!r}")
    return command


@pytest.mark.parametrize("server", SERVERS, ids=[each.package for each in SERVERS])
def test_popular_server_works_in_its_sandbox(server: Popular, oneclaw_factory: HomeFactory, tmp_path: Path) -> None:
    if CHROMIUM in " ".join(server.arguments) and not Path(CHROMIUM).exists():
        pytest.skip("needs chromium")
    data = tmp_path / "data"
    data.mkdir()
    (data / "note").write_text("x")
    for each in (
        ("init", "-q"),
        ("add", "note"),
        ("-c", "user.email=a@b", "-c", "user.name=n", "commit", "-qm", "first"),
    ):
        subprocess.run(["git", "-C", str(data), *each], check=False)

    def filled(value: str) -> str:
        return value.replace("{data}", str(data))

    command = [*installed(server, tmp_path), *map(filled, server.arguments)]
    home = McpHome(oneclaw_factory(["mcp"], allow=["mcp.popular.*"]))
    manifest = home.add("popular", *command, sandbox=derived_sandbox(command, None, (), (), has_network=True))
    assert manifest is not None
    assert manifest.tools
    assert manifest.refused == ()
    if server.tool:
        result = home.call(f"popular__{server.tool}", **json.loads(filled(json.dumps(server.call))))
        assert server.words in f"{result.result} {result.error_message}"
