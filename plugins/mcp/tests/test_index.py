"""The index of manifests: a start reads one file, and tools are read when they are needed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from oneclaw_mcp.index import ServerIndex
from oneclaw_mcp.manifest import Manifest, ManifestFolder, known_tools
from oneclaw_mcp.servers import Server, ServerBook

if TYPE_CHECKING:
    from pathlib import Path

    from oneclaw_core import Home
    from oneclaw_core.testing import HomeFactory


def learn(folder: Path, name: str, *tools: str) -> None:
    """Write what is known of a server, as its first contact would."""
    server = Server(name, command=("server", name))
    definitions = [{"name": each, "description": f"Do {each} with a boat.", "inputSchema": {}} for each in tools]
    known, _ = known_tools(server, definitions, None)
    ManifestFolder(folder).write(name, Manifest("2025-11-25", tools=known, address=server.address))


@pytest.fixture
def folder(oneclaw_home: Home) -> Path:
    """The plugin's folder in a home with 50 servers of two tools each."""
    folder = oneclaw_home.plugin_folder("mcp")
    for number in range(50):
        learn(folder, f"s{number}", "sail", "row")
    with ServerBook(folder)._changing() as servers:
        servers.update({f"s{number}": Server(f"s{number}", command=("server", f"s{number}")) for number in range(50)})
    ServerIndex(folder).read()
    return folder


def names(index: ServerIndex) -> list[str]:
    return [tool for server in index.read().values() for group in server.groups for tool in group.tools]


@pytest.mark.one_python
def test_home_with_many_servers_is_opened_without_their_manifests(
    folder: Path, oneclaw_factory: HomeFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    read_one = ManifestFolder.read
    monkeypatch.setattr(ManifestFolder, "read", lambda self, server: read.append(server.name) or read_one(self, server))
    oneclaw = oneclaw_factory(["mcp"])
    request, _ = oneclaw.run(oneclaw.app.next_request())
    assert [each.name for each in request.tools.core][:2] == ["load_tool_group", "find_tool_groups"]
    assert "mcp_" not in request.system_prompt
    assert read == []
    loaded = oneclaw.run(oneclaw.app.call_tool("load_tool_group", {"group_name": "mcp_s7"}))
    assert "- s7__sail: Do sail with a boat." in loaded.result.text()
    assert read == ["s7"]
    found = oneclaw.run(oneclaw.app.call_tool("find_tool_groups", {"query": "sailing boats"}))
    assert "Tools that fit: s0__sail" in found.result.text()
    assert len(read) == 51 - 1  # each once


def test_index_follows_the_files_of_the_servers(folder: Path) -> None:
    index = ServerIndex(folder)
    before = (folder / "index.json").read_bytes()
    assert len(names(index)) == 100
    assert (folder / "index.json").read_bytes() == before
    learn(folder, "s3", "dive")
    ServerBook(folder).change("s4", is_enabled=False)
    ServerBook(folder).remove("s5")
    found = names(ServerIndex(folder))
    assert [each for each in found if each.startswith(("s3_", "s4_", "s5_"))] == ["s3__dive"]
    assert names(index) == found


@pytest.mark.parametrize(
    "damage",
    [
        lambda document: b"{",
        lambda document: b"[]",
        lambda document: {**document, "format": 1},
        lambda document: {**document, "configured": "now"},
        lambda document: {**document, "stamps": {}},
        lambda document: {**document, "stamps": {**document["stamps"], "s7": 3}},
        lambda document: with_group(document, ["mcp_s0", "MCP", "Text", "s0__sail read_file"]),
        lambda document: with_group(document, ["pdf", "MCP", "Text", "s0__sail"]),
        lambda document: with_group(document, ["mcp_s0", "", 3, "s0__sail"]),
        lambda document: with_group(document, ["mcp_s0", "MCP", "Text", ["s0__sail"]]),
    ],
)
def test_damaged_index_is_made_anew(folder: Path, damage: Any) -> None:
    path = folder / "index.json"
    good = path.read_bytes()
    damaged = damage(json.loads(good))
    path.write_bytes(damaged if isinstance(damaged, bytes) else json.dumps(damaged).encode())
    assert len(names(ServerIndex(folder))) == 100
    assert path.read_bytes() == good


def with_group(document: dict[str, Any], group: list[Any]) -> dict[str, Any]:
    document["servers"]["s0"][4] = [group]
    return document


def test_index_that_others_can_read_or_no_one_can_write_does_no_harm(folder: Path) -> None:
    (folder / "index.json").chmod(0o666)
    assert len(names(ServerIndex(folder))) == 100
    (folder / "index.json").unlink()
    (folder / "index.json").mkdir()
    assert len(names(ServerIndex(folder))) == 100
