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

    from oneclaw_core import Home
    from oneclaw_core.testing import HomeFactory

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
