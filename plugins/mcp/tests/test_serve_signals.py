"""`oneclaw mcp serve` ends soon after a signal, with a client connected and a call at work."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from click.testing import CliRunner
from mcp_homes import plain
from oneclaw_mcp.commands import mcp

if TYPE_CHECKING:
    from oneclaw_core import Home

# It takes less than two; the machine may be busy.
SECONDS = 5.0
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "client", "version": "1"}}
HANG = {"name": "call_tool", "arguments": {"name": "plain__hang", "arguments": {}}}
STOPPING = [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.long)]


def message(method: str, parameters: dict[str, Any], number: int | None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": parameters, **({"id": number} if number else {})}


@pytest.fixture
def server(oneclaw_home: Home) -> None:
    """A configured server whose tool never answers."""
    added = CliRunner().invoke(mcp, ["add", "plain", "--no-sandbox", "--", *plain("hang")], catch_exceptions=False)
    assert "plain__hang" in added.output


def serving(*options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "oneclaw_core", "mcp", "serve", "--allow", "mcp.plain.*", *options]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def stopped_after(running: subprocess.Popen[str], number: int) -> float:
    began = time.monotonic()
    running.send_signal(number)
    running.wait(20)
    return time.monotonic() - began


def until_the_call_runs(home: Home) -> None:
    log = home.plugin_folder("mcp") / "logs" / "plain.log"
    until = time.monotonic() + 60
    while not log.exists() or "called" not in log.read_text():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.long
@pytest.mark.parametrize("number", STOPPING)
@pytest.mark.usefixtures("server")
def test_gateway_on_standard_input_ends_on_a_signal(number: int, oneclaw_home: Home) -> None:
    with serving() as running:
        assert running.stdin is not None
        assert running.stdout is not None
        for each in (message("initialize", HELLO, 1), message("notifications/initialized", {}, None)):
            running.stdin.write(json.dumps(each) + "\n")
        running.stdin.flush()
        assert json.loads(running.stdout.readline())["id"] == 1
        running.stdin.write(json.dumps(message("tools/call", HANG, 2)) + "\n")
        running.stdin.flush()
        until_the_call_runs(oneclaw_home)
        assert stopped_after(running, number) < SECONDS


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.usefixtures("server")
def test_gateway_over_http_ends_on_a_signal(number: int, oneclaw_home: Home) -> None:
    token = CliRunner().invoke(mcp, ["token", "create", "client"], catch_exceptions=False).output.strip()
    with serving("--http", "0") as running:
        assert running.stderr is not None
        url = next(line for line in running.stderr if "serving MCP on" in line).split("on ")[1].split(";")[0]
        with client(token) as http:
            answer = http.post(url, json=message("initialize", HELLO, 1))
            http.headers["mcp-session-id"] = answer.headers["mcp-session-id"]
            http.post(url, json=message("notifications/initialized", {}, None))
            for request in (
                http.build_request("GET", url),
                http.build_request("POST", url, json=message("tools/call", HANG, 2)),
            ):
                threading.Thread(target=cut_off, args=(http, request), daemon=True).start()
            until_the_call_runs(oneclaw_home)
            assert stopped_after(running, number) < SECONDS


def client(token: str) -> httpx.Client:
    accept = "application/json, text/event-stream"
    return httpx.Client(headers={"Authorization": f"Bearer {token}", "Accept": accept}, timeout=60)


def cut_off(http: httpx.Client, request: httpx.Request) -> None:
    """Send a request whose answer does not end."""
    with suppress(httpx.HTTPError):
        http.send(request)
