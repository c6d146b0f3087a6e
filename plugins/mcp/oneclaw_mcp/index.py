"""The index of all manifests: names, groups and problems of servers in one file, so that a start reads nothing else."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from oneclaw_core import OneClawError, ToolGroupDefinition
from oneclaw_core.plugins import PluginProblem
from oneclaw_core.tools import ToolDefinitionError, read_private, write_private
from oneclaw_mcp.cleaning import cleaned
from oneclaw_mcp.manifest import ManifestFolder, read_resource_tool
from oneclaw_mcp.servers import ServerBook

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from oneclaw_mcp.manifest import KnownTool, Manifest
    from oneclaw_mcp.servers import Server

_FORMAT = 3
_MAX_BYTES = 64_000_000
_DESCRIPTION_CHARACTERS = 200
_UNKNOWN = "An MCP server whose tools are found when it is first loaded"

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


class IndexedServer(NamedTuple):
    """The facts of a server that are needed before its tools are.

    Attributes:
        stamp: of its manifest; it changes with the file.
        digest: of its configuration.
        is_of_project: True if it can be used in one directory alone.
        is_known: False before its first contact.
        has_prompts: True if it has prompts.
        groups: its tool groups; none if it is disabled, or its manifest is damaged.
        problems: for ``oneclaw doctor``: cause, remedy, and whether each is an error.
    """

    stamp: tuple[int, ...]
    digest: str
    is_of_project: bool = False
    is_known: bool = False
    has_prompts: bool = False
    groups: tuple[IndexedGroup, ...] = ()
    problems: tuple[tuple[str, str, bool], ...] = ()

    def to_json(self) -> list[Any]:
        """Return all but the stamp as JSON data; a list is read faster than a mapping."""
        groups = [each.to_json() for each in self.groups]
        return [self.digest, self.is_of_project, self.is_known, self.has_prompts, groups, self.problems]

    @classmethod
    def from_json(cls, name: str, stamp: Iterable[int], stored: Iterable[Any]) -> IndexedServer:
        """Read what :meth:`to_json` returned.

        Raises:
            ValueError, TypeError, ToolDefinitionError: it is something else, or names tools of others.
        """
        digest, is_of_project, is_known, has_prompts, stored_groups, problems = stored
        group, groups = f"mcp_{name}", []
        for of, display_name, description, tools in stored_groups:
            names = tuple(tools.split())
            is_own = of == group or of.startswith(f"{group}_")
            if not is_own or f" {tools}".count(f" {name}__") != len(names):
                raise ValueError(f"the group {of} is none of the server {name}")
            definition = ToolGroupDefinition(of, display_name, description, may_be_unlisted=True)
            groups.append(IndexedGroup(definition, names))
        return cls(
            tuple(stamp),
            str(digest),
            is_of_project is True,
            is_known is True,
            has_prompts is True,
            tuple(groups),
            tuple((str(cause), str(remedy), is_error is True) for cause, remedy, is_error in problems)
            if problems
            else (),
        )


class ServerIndex:
    """The index of a home. It is brought up to date when it is read, server by server.

    Args:
        folder: of the plugin, in the home.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / "index.json"
        self._book = ServerBook(folder)
        self._manifests = ManifestFolder(folder)
        self._servers: tuple[tuple[int, ...], dict[str, Server]] | None = None
        self._last: tuple[tuple[int, ...], str, Manifest | None] | None = None

    def servers(self) -> dict[str, Server]:
        """Return the configured servers; the file is read when it has changed.

        Raises:
            OneClawError: it is damaged.
        """
        stamp = _stamp(self._book.path)
        if self._servers is None or self._servers[0] != stamp:
            self._servers = stamp, self._book.read()
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
        configured = _stamp(self._book.path)
        stamps = {path.removesuffix(".json"): stamp for path, stamp in _stamps(self._manifests.folder)}
        stored, known = self._stored()
        if stored == configured and all(stamps.get(name, ()) == each.stamp for name, each in known.items()):
            return known
        servers = self.servers()
        current = {}
        for name, server in servers.items():
            stamp, digest = stamps.get(name, ()), _digest(server)
            found = known.get(name)
            if found is None or (found.stamp, found.digest) != (stamp, digest):
                found = self._indexed(server, stamp, digest)
            current[name] = found
        self._write(configured, current)
        return current

    def _stored(self) -> tuple[tuple[int, ...], dict[str, IndexedServer]]:
        """Return what the file says, with the stamp of the servers that it is about; nothing if it cannot be used."""
        try:
            text = read_private(self._path, _MAX_BYTES)
            document: Any = {"format": 0} if text is None else json.loads(text)
            if document["format"] != _FORMAT:
                return (), {}
            stamps, servers = document["stamps"], document["servers"]
            known = {name: IndexedServer.from_json(name, stamps[name], each) for name, each in servers.items()}
            return tuple(document["configured"]), known
        except (
            OneClawError, ToolDefinitionError, ValueError, LookupError, TypeError, AttributeError, RecursionError
        ) as error:  # fmt: skip
            _log.warning("%s cannot be used and is made anew: %s", self._path, error)
            return (), {}

    def _write(self, configured: tuple[int, ...], servers: Mapping[str, IndexedServer]) -> None:
        document = {
            "format": _FORMAT,
            "configured": configured,
            "stamps": {name: each.stamp for name, each in servers.items()},
            "servers": {name: each.to_json() for name, each in servers.items()},
        }
        try:
            write_private(self._path, json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode())
        except OSError as error:
            _log.warning("%s cannot be written, so that each start reads all manifests: %s", self._path, error)

    def _indexed(self, server: Server, stamp: tuple[int, ...], digest: str) -> IndexedServer:
        is_of_project = server.project is not None
        if not server.is_enabled:
            return IndexedServer(stamp, digest, is_of_project)
        try:
            manifest = self.manifest(server)
        except OneClawError as error:
            remedy = f"oneclaw mcp check {server.name} --accept"
            return IndexedServer(stamp, digest, is_of_project, problems=((str(error), remedy, True),))
        if manifest is None:
            unknown = IndexedGroup.of(server.group, f"MCP {server.name}", server.description or _UNKNOWN)
            return IndexedServer(stamp, digest, is_of_project, groups=(unknown,))
        return IndexedServer(
            stamp,
            digest,
            is_of_project,
            is_known=True,
            has_prompts=bool(manifest.prompts),
            groups=tuple(_groups(server, manifest)),
            problems=tuple((each.cause, each.remedy, each.is_error) for each in _problems(server, manifest)),
        )


def tools_by_group(server: Server, manifest: Manifest) -> dict[str, list[KnownTool]]:
    """Return the accepted tools of a server by their groups, and the one that reads its resources."""
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
        text = server.description or _sentence(manifest.instructions) or _named(tools)
        if part and not server.description:
            text = _named(tools)
        of_part = f", {part}" if part else ""
        yield IndexedGroup.of(
            name,
            f"MCP {server.name}{of_part}",
            f"{text} (MCP server {server.name})",
            (each.name for each in tools),
        )


def _sentence(text: str) -> str:
    line = " ".join(text.split())
    return cleaned(line.partition(". ")[0], _DESCRIPTION_CHARACTERS)


def _named(tools: list[KnownTool]) -> str:
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


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        return _of(os.stat(path))  # noqa: PTH116  # at each start, for each server
    except OSError:
        return ()


def _stamps(folder: Path) -> Iterator[tuple[str, tuple[int, ...]]]:
    try:
        with os.scandir(folder) as entries:
            for each in entries:
                yield each.name, _of(each.stat())
    except OSError:
        return


def _of(state: os.stat_result) -> tuple[int, ...]:
    return state.st_mtime_ns, state.st_ino, state.st_size, state.st_mode
