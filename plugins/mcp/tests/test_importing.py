"""Servers of other clients and of projects: read in each form, shown first, and never started before a yes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner
from mcp_homes import McpHome, plain
from oneclaw_mcp import commands
from oneclaw_mcp.commands import mcp
from oneclaw_mcp.importing import find_servers, read_servers, variables_of

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from pytest_oneclaw import HomeFactory

    from oneclaw_core import Home

VSCODE = """{
  // a comment with "quotes"
  "inputs": [{"id": "key", "type": "promptString"}],
  "servers": {
    "My Docs": {"type": "http", "url": "https://docs.example.com/mcp", "headers": {"X-Key": "${input:key}"}, },
    "local": {"command": "uvx", "args": ["thing", "${workspaceFolder}/data", "// no comment"]},
  }
}"""
CODEX = """
[mcp_servers.linear]
url = "https://mcp.linear.app/mcp"
bearer_token_env_var = "LINEAR_TOKEN"
tool_timeout_sec = 30
[mcp_servers.off]
command = "x"
enabled = false
env_vars = ["HOME_PAGE"]
"""


def read(tmp_path: Path, name: str, text: str, **options: Any) -> dict[str, Any]:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return {each.name: each for each in read_servers(path, tmp_path, **options)}


def test_vscode_with_comments_and_inputs(tmp_path: Path) -> None:
    found = read(tmp_path, ".vscode/mcp.json", VSCODE)
    docs, local = found["My Docs"].server, found["local"].server
    assert (docs.name, docs.transport, docs.headers) == ("my_docs", "http", {"X-Key": "${secret:my_docs.key}"})
    assert local.command == ("uvx", "thing", f"{tmp_path}/data", "// no comment")
    assert {each.name for each in find_servers("vscode", tmp_path)} >= {"My Docs", "local"}


def test_codex_in_toml(tmp_path: Path) -> None:
    found = read(tmp_path, "config.toml", CODEX)
    linear, off = found["linear"].server, found["off"].server
    assert linear.headers == {"Authorization": "Bearer ${env:LINEAR_TOKEN}"}
    assert (linear.call_seconds, variables_of(linear)) == (30, ["LINEAR_TOKEN"])
    assert (off.is_enabled, off.environment) == (False, {"HOME_PAGE": "${env:HOME_PAGE}"})


def test_claude_gemini_and_opencode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MISSING", raising=False)
    entry = {
        "command": "npx",
        "args": ["-y", "pkg"],
        "env": {"A": "${TOKEN}", "B": "${MISSING:-plain}"},
        "timeout": 5000,
    }
    claude = read(tmp_path, "c.json", json.dumps({"projects": {str(tmp_path): {"mcpServers": {"a": entry}}}}))[
        "a"
    ].server
    assert (claude.environment, claude.call_seconds) == ({"A": "${env:TOKEN}", "B": "plain"}, 5)
    gemini = read(tmp_path, "g.json", '{"mcpServers": {"a": {"url": "https://x/sse"}}}', is_gemini=True)["a"].server
    assert gemini.transport == "sse"
    opencode = read(
        tmp_path, "o.json", '{"mcp": {"a": {"type": "local", "command": ["bun", "x"], "environment": {"K": "$V"}}}}'
    )
    assert opencode["a"].server.command == ("bun", "x")
    assert opencode["a"].server.environment == {"K": "${env:V}"}
    assert "neither a command nor a url" in read(tmp_path, "b.json", '{"mcpServers": {"a": {}}}')["a"].problem


def test_import_shows_first_and_adds_after_a_yes(oneclaw_home: Home, tmp_path: Path) -> None:
    path = tmp_path / "servers.json"
    entry = {"command": plain()[0], "args": [*plain()[1:]], "env": {"MY_TOKEN": "secret-value-123"}}
    path.write_text(json.dumps({"mcpServers": {"plain": entry, "bad name!": {"args": []}}}))
    shown = CliRunner().invoke(mcp, ["import", str(path)]).output
    assert "  gets: MY_TOKEN" in shown
    assert "secret-value-123" not in shown
    assert "nothing was added" in shown
    assert "bad name!" in shown
    added = CliRunner().invoke(mcp, ["import", "--yes", str(path)]).output
    assert "plain is added; start it and pin its tools with: oneclaw mcp check plain" in added
    assert "secret-value-123" not in (oneclaw_home.plugin_folder("mcp") / "servers.json").read_text()
    assert not (oneclaw_home.plugin_folder("mcp") / "logs" / "plain.log").exists()


def test_project_server_needs_trust_in_its_entry(
    oneclaw_factory: HomeFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "work"
    project.mkdir()
    path = project / ".mcp.json"
    path.write_text(json.dumps({"mcpServers": {"plain": {"command": plain()[0], "args": [*plain()[1:]]}}}))
    monkeypatch.chdir(project)
    listed = json.loads(CliRunner().invoke(mcp, ["list", "--json"]).output)
    assert [(each["name"], each["state"]) for each in listed] == [("plain", "project")]
    refused = CliRunner().invoke(mcp, ["trust", "plain"])
    assert "takes a yes on a terminal" in str(refused.exception)

    monkeypatch.setattr(commands, "_is_agreed", lambda question: True)
    assert "can be used in" in CliRunner().invoke(mcp, ["trust", "plain"]).output
    home = McpHome(oneclaw_factory(["mcp"], allow=["mcp.plain.*"]))
    assert "plain__echo" in str(home.call("load_tool_group", group_name="mcp_plain").result)

    path.write_text(path.read_text().replace("-S", "-I"))  # the repository has changed it
    home.oneclaw.reopen()
    assert home.oneclaw.app.catalog.registry.get_group_definition("mcp_plain") is None
    listed = json.loads(CliRunner().invoke(mcp, ["list", "--json"]).output)
    assert "its entry has changed" in listed[-1]["problem"]


CLINE = {
    "command": "npx",
    "args": ["-y", "pkg"],
    "alwaysAllow": ["delete_all"],
    "disabledTools": ["drop"],
    "timeout": 90,
    "headersHelper": "get-token",
    "tools": ["read", "list"],
    "icon": "x",
}


def test_restrictions_are_taken_over_or_named_first(tmp_path: Path) -> None:
    found = read(tmp_path, "mcp_settings.json", json.dumps({"mcpServers": {"db": CLINE}}))["db"]
    assert found.server is not None
    assert (found.server.only_tools, found.server.without_tools) == (("read", "list"), ("drop",))
    assert [found.server.uses(each) for each in ("read", "drop", "write")] == [True, False, False]
    assert found.server.call_seconds == 90
    assert found.dropped == (
        "the restriction headersHelper",
        "the permission alwaysAllow: here you are asked",
        "icon",
    )
    odd = read(tmp_path, "odd.json", json.dumps({"mcpServers": {"a": {**CLINE, "includeTools": "read"}}}))["a"]
    assert "its list of tools cannot be read" in odd.problem
    none = read(tmp_path, "none.json", json.dumps({"mcpServers": {"a": {**CLINE, "tools": []}}}))["a"].server
    assert not none.is_enabled


def test_tools_that_an_entry_leaves_out_are_not_used(mcp_home: McpHome) -> None:
    manifest = mcp_home.add("plain", only_tools=("e*", "pids"), without_tools=("pids",))
    assert manifest is not None
    assert [each.wire for each in manifest.tools] == ["echo"]
    assert mcp_home.source.book.read()["plain"].only_tools == ("e*", "pids")


def test_servers_that_are_switched_off_elsewhere_stay_off(tmp_path: Path) -> None:
    entries = {"a": {"command": "x"}, "b": {"command": "y"}}
    project = {str(tmp_path): {"disabledMcpServers": ["b"]}}
    claude = read(tmp_path, ".claude.json", json.dumps({"mcpServers": entries, "projects": project}))
    assert [claude[each].server.is_enabled for each in "ab"] == [True, False]
    gemini = read(tmp_path, ".gemini/settings.json", json.dumps({"mcpServers": entries, "mcp": {"allowed": ["b"]}}))
    assert [gemini[each].server.is_enabled for each in "ab"] == [False, True]


def test_references_are_those_of_their_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MISSING", raising=False)

    def command(name: str, *arguments: str, key: str = "mcpServers", **more: Any) -> Any:
        entry = {"command": "x", "args": [*arguments], **more}
        server = read(tmp_path, name, json.dumps({key: {"a": entry}}))["a"].server
        return server.command[1:] if server is not None else None

    assert command("claude_desktop_config.json", "$HOME", "${X}", "%Y%") == ("$HOME", "${X}", "%Y%")
    assert command(".mcp.json", "$5", "${X}", "${MISSING:-d}") == ("$5", "${env:X}", "d")
    assert command(".cursor/mcp.json", "${env:X}", "${workspaceFolderBasename}${/}a", "$x") == (
        "${env:X}",
        f"{tmp_path.name}/a",
        "$x",
    )
    assert command(".gemini/settings.json", "$X", "${Y}", "%Z%") == ("${env:X}", "${env:Y}", "${env:Z}")
    (tmp_path / "key.txt").write_text("from a file\n")
    assert command("opencode.json", "{env:X}", "{file:./key.txt}", key="mcp") == ("${env:X}", "from a file")
    zed = {"path": "z", "args": ["${X}"], "env": {"A": "1"}}
    found = read(tmp_path, "settings.json", json.dumps({"context_servers": {"a": {"command": zed}}}))["a"].server
    assert (found.command, found.environment) == (("z", "${X}"), {"A": "1"})
    assert command(".vscode/mcp.json", "${command:pick}", key="servers") is None
    assert command("opencode.json", "{file:/etc/hostname}", key="mcp") is None


def test_file_of_variables_is_read_within_the_project_alone(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("# keys\nexport A=1\nB='two words'\nno line\n")
    entry = {"command": "x", "envFile": "${workspaceFolder}/.env", "env": {"A": "own"}}
    found = read(tmp_path, ".vscode/mcp.json", json.dumps({"servers": {"a": entry}}))["a"].server
    assert found.environment == {"A": "own", "B": "two words"}
    outside = {"command": "x", "envFile": "/etc/hostname"}
    found = read(tmp_path, ".vscode/mcp.json", json.dumps({"servers": {"a": outside}}))["a"]
    assert "which is not in" in found.problem


def test_import_names_what_is_not_taken_over_and_not_seen(oneclaw_home: Home, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    entry = {
        **CLINE,
        "command": plain()[0],
        "args": [*plain()[1:]],
        "env": {"DATA": f"{data}/new.db", "K": "${input:k}"},
    }
    path = tmp_path / ".vscode" / "mcp.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"servers": {"db": entry}}))
    shown = CliRunner().invoke(mcp, ["import", "--list", str(path)]).output
    order = [
        shown.index(each) for each in ("the restriction headersHelper", "the permission alwaysAllow", "over: icon")
    ]
    assert order == sorted(order)
    assert f"is given {data}/new.db (DATA), which its sandbox does not show" in shown
    assert "only these tools are used: read, list" in shown
    assert "needs a stored value: oneclaw mcp secret db.k" in shown
