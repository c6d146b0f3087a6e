"""Configured MCP servers: a file for the contestants that start all of them, and homes in which OneClaw knows them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from benchmarks.results import SUBJECT
from benchmarks.running import UnavailableError, run_program
from benchmarks.work import MCP_CALL

if TYPE_CHECKING:
    from types import TracebackType

TOOLS_PER_SERVER = 50
HTTP_SERVER = "web"
CONFIGURATION = "BENCHMARK_MCP_SERVERS"
"""The environment variable with the path of the file of servers."""
HTTP_URL = "BENCHMARK_MCP_URL"
"""The environment variable with the address of the server over HTTP."""
_SERVER = Path(__file__).with_name("mcp_server.py")
_PREPARING_SECONDS = 180
_PREFIX = ".benchmark-mcp-"


def server_name(number: int) -> str:
    """Return the name of a configured server."""
    return f"service_{number}"


class McpHomes:
    """Homes by their number of servers, made at first use; they last until the ``with`` block ends."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._folder = Path()
        self._url = ""

    def __enter__(self) -> Self:
        """Start the server over HTTP, and make a folder for the homes."""
        _remove_stale()
        # Not among temporary files, of which a sandbox has its own.
        prefix = f"{_PREFIX}{os.getpid()}-"
        folder = tempfile.TemporaryDirectory(dir=Path.home(), prefix=prefix, ignore_cleanup_errors=True)
        self._folder = Path(self._stack.enter_context(folder))
        command = [sys.executable, "-S", "-E", str(_SERVER), "0", str(TOOLS_PER_SERVER), "http"]
        # The server ends with its input, so that none is left when this process is killed.
        pipe = subprocess.PIPE
        process = self._stack.enter_context(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True))  # noqa: S603
        self._stack.callback(process.terminate)
        assert process.stdout is not None
        self._url = f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the server and remove the homes."""
        self._stack.close()

    def environ(self, work: str, contestant: str, count: int) -> dict[str, str]:
        """Return the variables that tell a contestant where its servers are.

        Raises:
            UnavailableError: OneClaw cannot make a home that knows them.
        """
        folder = self._folder / f"{'call' if work == MCP_CALL else 'start'}-{count}"
        if not folder.exists():
            folder.mkdir()
            (folder / "servers.json").write_text(json.dumps({"mcpServers": _entries(count)}), encoding="utf-8")
        environ = {CONFIGURATION: str(folder / "servers.json"), HTTP_URL: self._url}
        if contestant == SUBJECT:
            environ["ONECLAW_HOME"] = str(folder / "oneclaw")
            if not (folder / "oneclaw").exists():
                self._make(folder, work, count)
        return environ

    def _make(self, folder: Path, work: str, count: int) -> None:
        """Add the servers as a user would, and have each started once."""
        environ = {"ONECLAW_HOME": str(folder / "oneclaw")}
        commands = [["oneclaw", "mcp", "list"]]
        if count:
            commands += [["oneclaw", "mcp", "import", f"{folder}/servers.json", "--yes"], ["oneclaw", "mcp", "check"]]
        if work == MCP_CALL:
            commands.append(["oneclaw", "mcp", "add", HTTP_SERVER, "--url", self._url])
        for command in commands:
            print(f"preparing {count} MCP servers: {' '.join(command[:3])}", file=sys.stderr, flush=True)
            done = run_program(SUBJECT, command, extra_environ=environ, longest_seconds=_PREPARING_SECONDS)
            if isinstance(done, str):
                raise UnavailableError(f"oneclaw {' '.join(command[1:3])} {done}")


def _remove_stale() -> None:
    """Remove the homes that a run left behind when it was killed."""
    for folder in Path.home().glob(f"{_PREFIX}*-*"):
        with suppress(ValueError):
            if not _is_running(int(folder.name.removeprefix(_PREFIX).partition("-")[0])):
                shutil.rmtree(folder, ignore_errors=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _entries(count: int) -> dict[str, Any]:
    return {
        server_name(number): {
            "command": sys.executable,
            "args": ["-S", "-E", str(_SERVER), str(number), str(TOOLS_PER_SERVER)],
        }
        for number in range(count)
    }
