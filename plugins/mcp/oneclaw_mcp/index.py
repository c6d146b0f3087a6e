"""The index of all manifests: names, groups and problems of servers in one file, so that a start reads nothing else."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
import zlib
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from oneclaw_core import OneClawError, ToolGroupDefinition
from oneclaw_core.plugins import PluginProblem
from oneclaw_core.tools import read_private, write_private
from oneclaw_mcp.naming import MANIFESTS_FOLDER, SERVERS_FILE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from oneclaw_mcp.manifest import KnownTool, Manifest, ManifestFolder
    from oneclaw_mcp.servers import Server

_FORMAT = 5
_MAX_BYTES = 64_000_000
_DESCRIPTION_CHARACTERS = 200
_COARSEST_TIME_NANOSECONDS = 2_000_000_000
_UNKNOWN = "An MCP server whose tools are found when it is first loaded"

_NOTHING: dict[str, Any] = {"configured": None, "folder": None, "manifests": {}, "servers": {}}

_log = logging.getLogger("oneclaw.mcp")


class IndexedGroup(NamedTuple):
    """A tool group of a server.

    Attributes:
        definition: its metadata; a long list of groups leaves it out.
        tools: the names of its tools; none if they are not known yet.
    """

    definition: ToolGroupDefinition
    tools: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str, display_name: str, description: str, tools: Iterable[str] = ()) -> IndexedGroup:
        """Make the group of its parts.

        Raises:
            ToolDefinitionError: they cannot be those of a group.
        """
        return cls(ToolGroupDefinition(name, display_name, description, may_be_unlisted=True), tuple(tools))

    def to_json(self) -> list[Any]:
        """Return the group as JSON data; the names of its tools are one text, which is read faster than many."""
        definition = self.definition
        return [definition.name, definition.display_name, definition.description, " ".join(self.tools)]

    @classmethod
    def from_json(cls, stored: list[str]) -> IndexedGroup:
        """Read what :meth:`to_json` returned."""
        name, display_name, description, tools = stored
        definition = ToolGroupDefinition.stored(name, display_name, description, may_be_unlisted=True)
        return cls(definition, tuple(tools.split()))


class IndexedServer(NamedTuple):
    """The facts of a server that are needed before its tools are.

    Attributes:
        digest: of its configuration.
        is_of_project: True if it can be used in one directory alone.
        is_known: False before its first contact.
        has_prompts: True if it has prompts.
        groups: its tool groups; none if it is disabled, or its manifest is damaged.
        problems: for ``oneclaw doctor``: cause, remedy, and whether each is an error.
    """

    digest: str
    is_of_project: bool = False
    is_known: bool = False
    has_prompts: bool = False
    groups: tuple[IndexedGroup, ...] = ()
    problems: tuple[tuple[str, str, bool], ...] = ()

    def to_json(self) -> list[Any]:
        """Return the server as JSON data; a list is read faster than a mapping."""
        groups = [each.to_json() for each in self.groups]
        return [self.digest, self.is_of_project, self.is_known, self.has_prompts, groups, self.problems]

    @classmethod
    def from_json(cls, stored: list[Any]) -> IndexedServer:
        """Read what :meth:`to_json` returned."""
        digest, is_of_project, is_known, has_prompts, groups, problems = stored
        return cls(
            digest, is_of_project, is_known, has_prompts, tuple(map(IndexedGroup.from_json, groups)), tuple(problems)
        )


class ServerIndex:
    """The index of a home. It is brought up to date when it is read, server by server.

    Args:
        folder: of the plugin, in the home.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / "index.json"
        self._configured, self._known = folder / SERVERS_FILE, folder / MANIFESTS_FOLDER
        self._servers: tuple[list[int], dict[str, Server]] | None = None
        self._last: tuple[list[int], str, Manifest | None] | None = None

    @cached_property
    def _manifests(self) -> ManifestFolder:
        # A start whose index is up to date reads no manifest.
        from oneclaw_mcp.manifest import ManifestFolder

        return ManifestFolder(self._folder)

    def servers(self) -> dict[str, Server]:
        """Return the configured servers; the file is read when it has changed.

        Raises:
            OneClawError: it is damaged.
        """
        from oneclaw_mcp.servers import ServerBook

        stamp = _stamp(self._configured)
        if self._servers is None or self._servers[0] != stamp:
            self._servers = stamp, ServerBook(self._folder).read()
        return self._servers[1]

    def manifest(self, server: Server) -> Manifest | None:
        """Return what is known of a server; the last one is kept until it changes.

        Raises:
            OneClawError: it is damaged.
        """
        stamp = _stamp(self._manifests.path(server.name))
        if self._last is None or self._last[:2] != (stamp, server.name):
            self._last = stamp, server.name, self._manifests.read(server)
        return self._last[2]

    def read(self) -> dict[str, IndexedServer]:
        """Return all servers by name, in the order of their names; what has changed is found anew and stored.

        Raises:
            OneClawError: the file of the servers is damaged.
        """
        configured, folder = _stamp(self._configured), _stamp(self._known)
        document = self._stored()
        known = {name: IndexedServer.from_json(each) for name, each in document["servers"].items()}
        # Each manifest is written anew as a whole, which changes the folder too.
        if document["configured"] == configured and document["folder"] == folder:
            return known
        manifests, before = dict(_stamps(self._known)), document["manifests"]
        settled = folder if _is_settled(folder) else None
        if document["configured"] == configured and before == manifests:
            if settled is not None:
                self._write({**document, "folder": settled})
            return known
        current = {}
        for name, server in self.servers().items():
            file, digest = self._manifests.path(name).name, _digest(server)
            found = known.get(name)
            if found is None or found.digest != digest or before.get(file) != manifests.get(file):
                found = self._indexed(server, digest)
            current[name] = found
        self._write(
            {
                "configured": configured,
                "folder": settled,
                "manifests": manifests,
                "servers": {name: each.to_json() for name, each in current.items()},
            }
        )
        return current

    def _stored(self) -> dict[str, Any]:
        """Return the stored servers, with the stamps of the files that they are made from."""
        try:
            header, _, body = (read_private(self._path, _MAX_BYTES) or b"").partition(b"\n")
        except OneClawError as error:
            _log.warning("%s cannot be used and is made anew: %s", self._path, error)
            header = body = b""
        # What has the right checksum was checked before it was written.
        found: dict[str, Any] = json.loads(body) if header == _header(body) else _NOTHING
        return found

    def _write(self, document: dict[str, Any]) -> None:
        body = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
        try:
            write_private(self._path, _header(body) + b"\n" + body)
        except OSError as error:
            _log.warning("%s cannot be written, so that each start reads all manifests: %s", self._path, error)

    def _indexed(self, server: Server, digest: str) -> IndexedServer:
        is_of_project = server.project is not None
        if not server.is_enabled:
            return IndexedServer(digest, is_of_project)
        try:
            manifest = self.manifest(server)
        except OneClawError as error:
            remedy = f"oneclaw mcp check {server.name} --accept"
            return IndexedServer(digest, is_of_project, problems=((str(error), remedy, True),))
        if manifest is None:
            unknown = IndexedGroup.of(server.group, f"MCP {server.name}", server.description or _UNKNOWN)
            return IndexedServer(digest, is_of_project, groups=(unknown,))
        return IndexedServer(
            digest,
            is_of_project,
            is_known=True,
            has_prompts=bool(manifest.prompts),
            groups=tuple(_groups(server, manifest)),
            problems=tuple((each.cause, each.remedy, each.is_error) for each in _problems(server, manifest)),
        )


def tools_by_group(server: Server, manifest: Manifest) -> dict[str, list[KnownTool]]:
    """Return the accepted tools of a server by their groups, and the one that reads its resources."""
    from oneclaw_mcp.manifest import read_resource_tool

    found: dict[str, list[KnownTool]] = {}
    for each in manifest.tools:
        found.setdefault(each.group, []).append(each)
    resources = read_resource_tool(server, manifest)
    if resources is not None:
        found.setdefault(resources.group, []).append(resources)
    return found


def _groups(server: Server, manifest: Manifest) -> Iterator[IndexedGroup]:
    for name, tools in sorted(tools_by_group(server, manifest).items()):
        part = name.removeprefix(server.group).strip("_")
        text = server.description or _described(server, manifest, tools, bool(part))
        of_part = f", {part}" if part else ""
        yield IndexedGroup.of(
            name,
            f"MCP {server.name}{of_part}",
            f"{text} (MCP server {server.name})",
            (each.name for each in tools),
        )


def _described(server: Server, manifest: Manifest, tools: list[KnownTool], is_part: bool) -> str:
    """Return what a group is for: in the server's words if it is trusted, else the names of its tools."""
    from oneclaw_mcp.cleaning import cleaned

    # A model reads this line before the group is loaded, and it marks no conversation.
    if server.trusts_annotations and not is_part:
        says = cleaned(" ".join(manifest.instructions.split()).partition(". ")[0], _DESCRIPTION_CHARACTERS)
        if says:
            return says
    return cleaned("Tools " + ", ".join(each.wire for each in tools), _DESCRIPTION_CHARACTERS)


def _problems(server: Server, manifest: Manifest) -> Iterator[PluginProblem]:
    where = f"MCP server {server.name}"
    remedy = f"look at it with: oneclaw mcp check {server.name}"
    for name, why in manifest.refused[:10]:
        yield PluginProblem(
            where, f"its tool {name} is left out: {why}", "tell the author of the server", is_error=False
        )
    if manifest.pending.changed:
        names = ", ".join(each.wire for each in manifest.pending.changed[:10])
        yield PluginProblem(where, f"it has changed tools, which are blocked until you accept them: {names}", remedy)
    if manifest.pending.new:
        count = len(manifest.pending.new)
        yield PluginProblem(where, f"it has {count} new tools, which are off", remedy, is_error=False)
    if manifest.pending.instructions is not None:
        yield PluginProblem(where, "it describes itself otherwise, which models are not shown", remedy, is_error=False)
    if manifest.pending.has_resources:
        yield PluginProblem(where, "it has resources now, which cannot be read", remedy, is_error=False)
    if manifest.pending.removed:
        names = ", ".join(manifest.pending.removed[:10])
        yield PluginProblem(where, f"it does not have these tools any more: {names}", remedy, is_error=False)


def _digest(server: Server) -> str:
    text = json.dumps({**server.to_dict(), "address": server.address}, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _header(body: bytes) -> bytes:
    """Return the first line of the file: its format, and the checksum of what follows."""
    return f"{_FORMAT} {zlib.crc32(body)}".encode()


def _stamps(folder: Path) -> Iterator[tuple[str, list[int]]]:
    try:
        with os.scandir(folder) as entries:
            for each in entries:
                yield each.name, _of(each.stat())
    except OSError:
        return


def _stamp(path: Path) -> list[int]:
    try:
        return _of(os.stat(path))  # noqa: PTH116  # at each start
    except OSError:
        return []


def _is_settled(stamp: list[int]) -> bool:
    """Return True if a folder was not changed just now, so that a further change gives it another time."""
    return not stamp or abs(time.time_ns() - stamp[0]) > _COARSEST_TIME_NANOSECONDS


def _of(state: os.stat_result) -> list[int]:
    return [state.st_mtime_ns, state.st_ino, state.st_size, state.st_mode]
