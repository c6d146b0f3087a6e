"""The index of manifests: a start reads one file, and tools are read when they are needed."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest
from how_long import some
from oneclaw_mcp.index import ServerIndex
from oneclaw_mcp.manifest import Manifest, ManifestFolder, known_tools
from oneclaw_mcp.servers import Server, ServerBook

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytest_oneclaw import HomeFactory

    from oneclaw_core import Home


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


def test_index_counts_only_a_folder_that_was_not_changed_just_now(folder: Path) -> None:
    """A second change within a step of the file system's clock would not show in the folder's time."""
    index = folder / "index.json"
    assert b'"folder":null' in index.read_bytes()
    an_hour_ago = time.time() - 3600
    os.utime(folder / "manifests", (an_hour_ago, an_hour_ago))
    assert len(names(ServerIndex(folder))) == 100
    settled = index.read_bytes()
    assert b'"folder":null' not in settled
    learn(folder, "s3", "dive", "swim", "float")
    os.utime(folder / "manifests", (an_hour_ago + 60, an_hour_ago + 60))
    assert len(names(ServerIndex(folder))) == 101
    assert index.read_bytes() != settled


def test_index_is_not_written_again_where_nothing_changed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oneclaw_mcp.index._COARSEST_TIME_NANOSECONDS", 10**18)  # the folder counts as just changed
    index = folder / "index.json"
    first = ServerIndex(folder).read()
    written = index.stat()
    assert ServerIndex(folder).read() == first
    assert (index.stat().st_ino, index.stat().st_mtime_ns) == (written.st_ino, written.st_mtime_ns)


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
    some(
        [
            lambda good: b"",
            lambda good: b"{",
            lambda good: good[:-1],
            lambda good: good.replace(b"s0__sail", b"s0__sink"),
            lambda good: good.replace(b"s0__sail", b"read_file"),
            lambda good: good.replace(b"5 ", b"4 ", 1),
            lambda good: b'{"format": 3, "configured": [], "stamps": {}, "servers": {}}',
        ],
        3,
    ),
)
def test_damaged_index_is_made_anew(folder: Path, damage: Callable[[bytes], bytes]) -> None:
    path = folder / "index.json"
    good = path.read_bytes()
    damaged = damage(good)
    assert damaged != good
    path.write_bytes(damaged)
    assert len(names(ServerIndex(folder))) == 100
    assert path.read_bytes() == good


def test_index_that_others_can_read_or_no_one_can_write_does_no_harm(folder: Path) -> None:
    (folder / "index.json").chmod(0o666)
    assert len(names(ServerIndex(folder))) == 100
    (folder / "index.json").unlink()
    (folder / "index.json").mkdir()
    assert len(names(ServerIndex(folder))) == 100
