"""The tools of all servers as a tool source: known from files, and no server is started before it is called."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from oneclaw_core import OneClawError, SourceTool, ToolSource
from oneclaw_core.plugins import GroupTools, PluginProblem, SourceGroup
from oneclaw_mcp.naming import MANIFESTS_FOLDER, SERVERS_FILE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from oneclaw_core import PluginContext, SourceTools, ToolContext, ToolDefinition, ToolResult
    from oneclaw_core.plugins import ListingContext
    from oneclaw_mcp.connection import Connection
    from oneclaw_mcp.index import IndexedGroup, ServerIndex
    from oneclaw_mcp.manifest import KnownTool, Manifest, ManifestFolder
    from oneclaw_mcp.servers import Server, ServerBook

_log = logging.getLogger("oneclaw.mcp")
# The longest that a call can take, with its progress; its server's own limit comes before.
TIMEOUT_SECONDS = 630.0


def open_servers(context: PluginContext) -> ServerSource:
    """Make the source for an open home."""
    return ServerSource(context)


def list_servers(context: ListingContext, tools: SourceTools) -> None:
    """Publish what is known of the servers in a listing, where none can be started."""
    folder = context.home / "plugins" / "mcp"
    if (folder / SERVERS_FILE).exists():
        _Published(folder, None).publish(tools)


class McpTool(NamedTuple):
    """A tool of a server.

    Attributes:
        definition: for models.
        server: the name of its server.
        known: as it was accepted.
        source: starts the server; ``None`` in listings.
    """

    definition: ToolDefinition
    server: str
    known: KnownTool
    source: ServerSource | None

    async def execute(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        """Call the tool of the server."""
        from oneclaw_mcp.calling import call_tool, read_resource
        from oneclaw_mcp.manifest import READ_RESOURCE

        assert self.source is not None
        connection = self.source.connection(self.server)
        if not self.known.digest and self.known.wire == READ_RESOURCE:
            return await read_resource(connection, arguments.get("uri"), context)
        return await call_tool(connection, self.known, arguments, context)


class ServerSource(ToolSource):
    """The servers of an open home.

    Args:
        context: of the plugin.

    Attributes:
        signing_in: what signs the requests to servers while the user signs in, by their names.
    """

    def __init__(self, context: PluginContext) -> None:
        self.context = context
        self._published = _Published(context.folder, self)
        self._tools: SourceTools | None = None
        self._connections: dict[str, Connection] = {}
        self._seen: object = None
        self.signing_in: dict[str, Any] = {}

    @cached_property
    def book(self) -> ServerBook:
        """The configured servers."""
        from oneclaw_mcp.servers import ServerBook

        return ServerBook(self.context.folder)

    @cached_property
    def manifests(self) -> ManifestFolder:
        """The manifests of the servers, with the tools that were accepted."""
        from oneclaw_mcp.manifest import ManifestFolder

        return ManifestFolder(self.context.folder)

    async def start(self, tools: SourceTools) -> None:
        """Publish what is known."""
        self._tools = tools
        await self.refresh()

    async def refresh(self) -> None:
        """Look for changes that were made by ``oneclaw mcp``, here or in another process."""
        stamp = self._published.stamp()
        if stamp != self._seen:
            self._seen = stamp
            await self._close_changed()
            self._publish()

    async def stop(self) -> None:
        """Stop all servers, side by side."""
        import asyncio

        await asyncio.gather(*(each.aclose() for each in self._connections.values()))
        self._connections.clear()

    def connection(self, name: str) -> Connection:
        """Return the connection to a server, which may not be started.

        Raises:
            OneClawError: it is not configured any more.
        """
        found = self._connections.get(name)
        if found is None:
            from oneclaw_mcp.starting import new_connection

            found = self._connections[name] = new_connection(self, self.book.get(name))
        return found

    async def signed_in(self, server: Server, auth: Any) -> None:
        """Start a server with a sign-in that the user is asked for, and stop it.

        Raises:
            OneClawError: it does not start.
        """
        from oneclaw_mcp.starting import new_connection

        self.signing_in[server.name] = auth
        connection = new_connection(self, server)
        try:
            await connection.started()
        finally:
            await connection.aclose()
            del self.signing_in[server.name]

    async def close(self, name: str) -> None:
        """Stop a server, if it runs."""
        found = self._connections.pop(name, None)
        if found is not None:
            await found.aclose()

    def learn(self, server: Server, found: Manifest) -> Manifest:
        """Keep what was found at a contact: the first one pins the tools, later ones note differences."""
        before = self.manifests.read(server)
        manifest = (
            found.outside(self.groups_of_others(server), server.group) if before is None else before.compared(found)
        )
        self.manifests.write(server.name, manifest)
        if before is None or before.refused != manifest.refused:
            for name, why in manifest.refused:
                _log.info("the tool %s of the MCP server %s is left out: %s", name, server.name, why)
        if before is None or before.pending != manifest.pending or before.refused != manifest.refused:
            self._publish()
        return manifest

    def groups_of_others(self, server: Server) -> set[str]:
        """Return the names of the tool groups of all other servers."""
        found: set[str] = set()
        for each in self.book.read().values():
            if each.name != server.name:
                with suppress(OneClawError):  # a damaged manifest has no groups
                    known = self.manifests.read(each)
                    found |= {tool.group for tool in known.tools} if known is not None else set()
                found.add(each.group)
        return found

    async def _close_changed(self) -> None:
        if not self._connections:
            return
        try:
            servers = self.book.read()
        except OneClawError:
            return
        for name, connection in list(self._connections.items()):
            if servers.get(name) != connection.server:
                await self.close(name)

    def _publish(self) -> None:
        if self._tools is not None:
            self._published.publish(self._tools)


class _Published:
    """Makes groups of the index of the servers; their tools are read from manifests when they are needed.

    Args:
        folder: of the plugin.
        source: starts servers; ``None`` in listings.
    """

    def __init__(self, folder: Path, source: ServerSource | None) -> None:
        self._folder = folder
        self._configured, self._known = f"{folder}/{SERVERS_FILE}", f"{folder}/{MANIFESTS_FOLDER}"
        self._source = source

    @cached_property
    def _index(self) -> ServerIndex:
        # A home without servers needs no more than a look for their file.
        from oneclaw_mcp.index import ServerIndex

        return ServerIndex(self._folder)

    def stamp(self) -> object:
        """Return what changes with the files; each manifest is written anew as a whole."""
        try:
            state = os.stat(self._configured)  # noqa: PTH116  # before each request
        except OSError:
            return None
        try:
            known = os.stat(self._known).st_mtime_ns  # noqa: PTH116
        except OSError:
            known = None
        return state.st_mtime_ns, state.st_ino, state.st_size, known

    def publish(self, tools: SourceTools) -> None:
        """Publish all groups of servers that are enabled."""
        groups: list[SourceGroup] = []
        problems: list[PluginProblem] = []
        try:
            for name, indexed in self._index.read().items():
                if indexed.is_of_project and not is_usable_here(self._index.servers()[name]):
                    continue
                where = f"MCP server {name}"
                for cause, remedy, is_error in indexed.problems:
                    problems.append(PluginProblem(where, cause, remedy, is_error=is_error))
                for each in indexed.groups:
                    groups.append(self._group(name, each, where))
        except OneClawError as error:
            groups, problems = [], [PluginProblem("MCP servers", str(error), "correct the file")]
        tools.publish([], groups, problems)

    def _group(self, server: str, group: IndexedGroup, where: str) -> SourceGroup:
        if not group.tools:
            return SourceGroup(group.definition, self._opener(server), where)
        read = partial(self._read, server, group.definition.name, where)
        return SourceGroup(group.definition, None, where, group.tools, read)

    def _read(self, name: str, group: str, where: str) -> GroupTools:
        """Read the tools of a group from the manifest of its server, which says what was accepted."""
        from oneclaw_mcp.index import tools_by_group

        server = self._index.servers().get(name)
        manifest = None if server is None else self._index.manifest(server)
        if server is None or manifest is None:
            return GroupTools(())
        known = tools_by_group(server, manifest).get(group, ())
        tools = (McpTool(each.definition(server, TIMEOUT_SECONDS), name, each, self._source) for each in known)
        return GroupTools(
            tuple(SourceTool(each, group, where) for each in tools),
            {each.permission: f"use {each.name[:60]} of the MCP server {name}" for each in known},
        )

    def _opener(self, name: str) -> Callable[[], Awaitable[None]]:
        async def open_group() -> None:
            if self._source is not None:
                await self._source.connection(name).started()

        return open_group


def is_usable_here(server: Server) -> bool:
    """Return False for a server of another project, or whose entry has changed since the user trusted it."""
    if server.project is None:
        return True
    from oneclaw_mcp.importing import PROJECT_FILE, find_servers, project_digest

    directory = Path.cwd()
    path = directory / PROJECT_FILE
    if str(directory.resolve()) != server.project or not path.is_file():
        return False
    try:
        names = [
            each.name for each in find_servers(str(path), directory) if each.server and each.server.name == server.name
        ]
        return bool(names) and project_digest(path, names[0]) == server.project_digest
    except OneClawError:
        return False
