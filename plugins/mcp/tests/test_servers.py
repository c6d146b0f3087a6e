"""Servers as groups: added, listed, called, removed; nothing runs before a call or after OneClaw."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result
from mcp_homes import HERE, McpHome, free_port, plain, running_server
from oneclaw_mcp.commands import mcp
from oneclaw_mcp.connection import ServerError
from oneclaw_mcp.servers import Server, clean_name
from pytest_oneclaw import HomeFactory, assert_group_loaded

from oneclaw_core import Home, OneClawError
from oneclaw_core.cli import load_catalog

if TYPE_CHECKING:
    from oneclaw_mcp.manifest import Manifest


SDK_TOOLS = ["add", "book", "files", "greet", "grow", "leave", "picture", "slow", "variables"]


def command(*arguments: str) -> Result:
    return CliRunner().invoke(mcp, arguments, catch_exceptions=False)


def is_alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:1]
    except OSError:
        return False


def wait_for_end(pids: list[int]) -> list[int]:
    until = time.monotonic() + 10
    while (left := [each for each in pids if is_alive(each)]) and time.monotonic() < until:
        os.sched_yield()
    return left


def test_server_is_added_listed_called_and_removed(oneclaw_home: Home, oneclaw_factory: HomeFactory) -> None:
    added = command("add", "plain", "--env", "API_TOKEN=abcdef123456", "--env", "LEVEL=3", "--", *plain())
    assert "plain is added: plain 1, protocol 2025-11-25" in added.output
    assert "plain__echo  " in added.output
    assert "mcp_plain" in added.output

    stored = (oneclaw_home.plugin_folder("mcp") / "servers.json").read_text()
    assert "abcdef123456" not in stored
    assert "${secret:plain.env.API_TOKEN}" in stored
    listed = json.loads(command("list", "--json").output)
    assert [(each["name"], each["state"], len(each["tools"])) for each in listed] == [("plain", "known", 6)]
    assert listed[0]["environment"] == ["API_TOKEN", "LEVEL"]
    registry = load_catalog().registry
    definition = registry.get_definition("plain__echo")
    assert definition is not None
    assert definition.required_permissions == ("mcp.plain.echo",)
    assert registry.get_tool_groups()["mcp_plain"] == [f"plain__{each}" for each in sorted(
        ["ask", "content", "die", "echo", "pids", "variables"])]  # fmt: skip

    oneclaw = oneclaw_factory(["mcp"], allow=["mcp.plain.echo", "mcp.plain.variables"])
    assert oneclaw.call_tool("plain__echo", text="hi").result == "hi"
    names = set(str(oneclaw.call_tool("plain__variables").result).split())
    assert {"API_TOKEN", "LEVEL", "PATH"} <= names
    assert "ONECLAW_HOME" not in names
    assert oneclaw.call_tool("plain__die").error_type == "permission_denied"

    command("disable", "plain")
    assert load_catalog().registry.get_tool("plain__echo") is None
    command("enable", "plain")
    assert load_catalog().registry.get_tool("plain__echo") is not None
    command("remove", "plain")
    assert json.loads(command("list", "--json").output) == []
    assert "abcdef123456" not in "".join(
        each.read_text(errors="replace")
        for each in oneclaw_home.path.rglob("*")
        if each.is_file() and each.suffix != ".db"
    )


@pytest.mark.long
def test_nothing_starts_before_the_first_call(oneclaw_factory: HomeFactory) -> None:
    oneclaw = oneclaw_factory(["mcp"], allow=["mcp.plain.echo"])
    home = McpHome(oneclaw)
    home.add("plain")
    oneclaw.reopen()
    log = home.source.book.folder / "logs" / "plain.log"
    log.unlink()  # the server writes to it when it is started
    oneclaw.model.calls("load_tool_group", group_name="mcp_plain")
    oneclaw.model.says("hello")
    assert_group_loaded(oneclaw.send("hello"), "mcp_plain")
    assert load_catalog().registry.get_tool("plain__echo") is not None
    assert not log.exists()
    assert home.call("plain__echo", text="hi").result == "hi"
    assert log.exists()


@pytest.mark.long
def test_unknown_server_is_a_group_that_finds_its_tools_when_loaded(mcp_home: McpHome) -> None:
    assert mcp_home.add("plain", is_started=False) is None
    loaded = mcp_home.call("load_tool_group", group_name="mcp_plain")
    assert "plain__echo: Say it again." in str(loaded.result)


@pytest.mark.long
def test_idle_server_is_stopped_and_started_again_by_the_next_call(oneclaw_factory: HomeFactory) -> None:
    home = McpHome(oneclaw_factory(["mcp"], allow=["mcp.plain.pids"]))
    home.add("plain", *plain("child"), idle_seconds=0.05)
    pids = [int(each) for each in str(home.call("plain__pids").result).split()]
    connection = home.source.connection("plain")

    async def until_stopped() -> None:
        if connection._owner is not None:
            await connection._owner

    home.oneclaw.run(until_stopped())
    assert wait_for_end(pids) == []
    assert [int(each) for each in str(home.call("plain__pids").result).split()] != pids


@pytest.mark.long
def test_no_process_is_left_after_oneclaw_was_killed(oneclaw_home: Home) -> None:
    code = (
        "import asyncio, os, signal, sys\n"
        "from oneclaw_core import OneClaw\n"
        "from oneclaw_mcp.adding import add_server\n"
        "from oneclaw_mcp.servers import Server\n"
        "async def main():\n"
        "    async with OneClaw.open(allow=['mcp.plain.pids']) as claw:\n"
        "        source = await claw.services.tool_source('mcp', 'servers')\n"
        "        await add_server(source, Server('plain', command=tuple(sys.argv[1:])), is_started=True)\n"
        "        outcome = await claw.call_tool('plain__pids', '{}')\n"
        "        print(outcome.result.result, flush=True)\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())\n"
    )
    # A wrapper, as npx is one.
    wrapped = ["sh", "-c", '"$@"; true', "sh", *plain("child")]
    done = subprocess.run([sys.executable, "-c", code, *wrapped], capture_output=True, text=True, timeout=60)
    assert done.returncode == -signal.SIGKILL, done.stderr
    pids = [int(each) for each in done.stdout.split()]
    assert len(pids) == 2
    assert wait_for_end(pids) == []


def test_death_during_a_call_is_told_with_what_the_server_wrote(oneclaw_factory: HomeFactory) -> None:
    home = McpHome(oneclaw_factory(["mcp"], allow=["mcp.plain.die", "mcp.plain.echo"]))
    home.add("plain")
    result = home.call("plain__die")
    assert result.error_type == "interrupted"
    assert "exit status 3" in str(result.error_message)
    assert "the disk is on fire" in str(result.error_message)
    assert home.call("plain__echo", text="again").result == "again"
    home.call("plain__die")
    home.call("plain__die")
    left_alone = home.call("plain__echo", text="again")
    assert left_alone.error_type == "not_available"
    assert "3 times within a minute" in str(left_alone.error_message)


@pytest.mark.long
def test_server_that_does_not_start_is_not_added(mcp_home: McpHome) -> None:
    with pytest.raises(ServerError, match=r"(?s)server plain does not start: ended with exit status 7; .*no licence"):
        mcp_home.add("plain", *plain("exits"))
    with pytest.raises(
        ServerError, match="server plain does not start: cannot be run: no program missing-program is found"
    ):
        mcp_home.add("plain", "missing-program")
    assert mcp_home.source.book.read() == {}


@pytest.mark.long
def test_relative_path_of_a_server_is_pointed_at(
    oneclaw_home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "server.py").write_text("raise SystemExit(3)")

    refused = CliRunner().invoke(mcp, ["add", "mine", "--", sys.executable, "server.py"])

    assert f"in another directory: write {(tmp_path / 'server.py').resolve()} instead of server.py" in refused.output
    refused = CliRunner().invoke(mcp, ["add", "mine", "--", sys.executable, "-c", "raise SystemExit(3)", "."])
    assert f"in another directory: write {tmp_path.resolve()} instead of .\n" in refused.output
    code = f"{'x' * 5000} = 0; raise SystemExit(3)"
    refused = CliRunner().invoke(mcp, ["add", "mine", "--", sys.executable, "-c", code, "", str(tmp_path)])
    assert isinstance(refused.exception, ServerError)
    assert "in another directory" not in refused.output


def test_names_that_are_taken_are_refused(mcp_home: McpHome) -> None:
    mcp_home.add("plain")
    with pytest.raises(OneClawError, match=r"there is an MCP server 'plain' already|there is a tool group mcp_plain"):
        mcp_home.add("plain")
    with pytest.raises(OneClawError, match=r"'My Server' is not a valid name for an MCP server.*for example my_server"):
        Server.from_dict("My Server", {"command": "x"})
    assert clean_name("io.github.acme/My-Server.v2") == "my_server_v2"


def test_damaged_file_of_servers_is_reported(mcp_home: McpHome) -> None:
    mcp_home.add("plain")
    path = mcp_home.source.book.path
    for content, fault in (
        ('{"mcpServers": {"plain": {"command": 3}}}', "command must be made of texts"),
        ('{"mcpServers": {"plain": {"url": "ftp://x"}}}', "the url begins with"),
        ("[]", "is damaged"),
    ):
        path.write_text(content)
        with pytest.raises(OneClawError, match=fault):
            mcp_home.source.book.read()
        mcp_home.oneclaw.run(mcp_home.source.refresh())
        assert mcp_home.oneclaw.app.catalog.registry.get_tool("plain__echo") is None


@pytest.mark.parametrize("kind", [*(pytest.param(kind, marks=pytest.mark.long) for kind in ("stdio", "http")), "sse"])
def test_server_of_the_sdk_is_called_over_each_transport(kind: str, oneclaw_factory: HomeFactory) -> None:
    home = McpHome(oneclaw_factory(["mcp"], allow=["mcp.sdk.add", "mcp.sdk.slow"]))
    program = [sys.executable, str(HERE / "sdk_server.py"), kind]
    if kind == "stdio":
        manifest = home.add("sdk", *program)
        _assert_works(home, manifest)
        return
    port = free_port()
    with running_server(*program, str(port)):
        path = "mcp" if kind == "http" else "sse"
        manifest = home.add("sdk", transport=kind, url=f"http://127.0.0.1:{port}/{path}")
        _assert_works(home, manifest)
        home.oneclaw.close()


def _assert_works(home: McpHome, manifest: Manifest | None) -> None:
    assert manifest is not None
    assert [each.wire for each in manifest.tools] == SDK_TOOLS
    assert home.call("sdk__add", a=1, b=2).result == {"result": 3}
    assert home.call("sdk__slow", steps=2, seconds=0).result == "done"
