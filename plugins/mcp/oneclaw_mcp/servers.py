"""The configured servers, as a file of the home keeps them."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Self

from oneclaw_core import DuplicateError, NotFoundError, OneClawError, UsageError
from oneclaw_core.tools import make_private_directory, read_private, write_private
from oneclaw_mcp.naming import SERVERS_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from oneclaw_mcp.sandboxing import Sandbox

STDIO, HTTP, SSE = "stdio", "http", "sse"
TRANSPORTS = (STDIO, HTTP, SSE)
MAX_NAME_CHARACTERS = 24
_NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_FORMAT = 1
_MAX_BYTES = 4_000_000
_LOCK_SECONDS = 10.0
_MOST_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class Server:
    """A configured server.

    Attributes:
        name: unique, in snake_case.
        transport: ``stdio``, ``http`` or ``sse``.
        command: the program and its arguments, for ``stdio``.
        environment: environment variables beyond the few that each server gets; a value can hold ``${env:NAME}`` and
            ``${secret:NAME}``.
        directory: where it is started, ``None`` for a separate folder.
        url: its address, for the others.
        headers: HTTP headers; with references like ``environment``.
        description: for the listing of groups; empty for that of the server.
        is_enabled: False if its tools are withdrawn.
        trusts_annotations: True if what it says of its tools counts, such as that one reads only.
        parts: patterns of tool names by the part of the group that they belong to.
        only_tools: patterns of the names of its tools that are used; none for all.
        without_tools: patterns of the names of tools that are not.
        start_seconds: how long its start may take.
        call_seconds: how long a call may go on without progress.
        idle_seconds: how long it runs without a call.
        sandbox: of a program; ``None`` for no sandbox.
        project: the only directory in which it can be used; ``None`` for all.
        project_digest: of its entry in the file of that project, as the user has trusted it.
    """

    name: str
    transport: str = STDIO
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    directory: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    description: str = ""
    is_enabled: bool = True
    trusts_annotations: bool = False
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    only_tools: tuple[str, ...] = ()
    without_tools: tuple[str, ...] = ()
    start_seconds: float = 60.0
    call_seconds: float = 60.0
    idle_seconds: float = 600.0
    sandbox: Sandbox | None = None
    project: str | None = None
    project_digest: str = ""

    @property
    def group(self) -> str:
        """The name of its tool group."""
        return f"mcp_{self.name}"

    @property
    def address(self) -> str:
        """The command, or the URL without its query, on one line."""
        if self.url is not None:
            return self.url.partition("?")[0]
        import shlex

        return shlex.join(self.command)

    def uses(self, tool: str) -> bool:
        """Return True if the user wants a tool of it, by its true name."""
        is_wanted = not self.only_tools or any(fnmatchcase(tool, each) for each in self.only_tools)
        return is_wanted and not any(fnmatchcase(tool, each) for each in self.without_tools)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON data, in the form that other clients use as far as they have one."""
        found: dict[str, Any] = {"type": self.transport}
        if self.transport == STDIO:
            found |= {"command": self.command[0], "args": list(self.command[1:])}
        optional = {
            "env": dict(self.environment),
            "cwd": self.directory,
            "url": self.url,
            "headers": dict(self.headers),
            "description": self.description,
            "disabled": not self.is_enabled,
            "trust_annotations": self.trusts_annotations,
            "groups": {part: list(patterns) for part, patterns in self.parts.items()},
            "only_tools": list(self.only_tools),
            "without_tools": list(self.without_tools),
            "project": self.project,
            "project_digest": self.project_digest,
            "sandbox": self.sandbox.to_dict() if self.sandbox is not None else None,
        }
        found |= {name: value for name, value in optional.items() if value}
        defaults = Server("default")
        for name in ("start_seconds", "call_seconds", "idle_seconds"):
            if getattr(self, name) != getattr(defaults, name):
                found[name] = getattr(self, name)
        return found

    @classmethod
    def from_dict(cls, name: str, stored: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_dict` returned, or a person wrote.

        Raises:
            UsageError: something in it is of another type; the message names the server.
        """
        made = cls(
            check_name(name),
            _of(name, stored, "type", str, HTTP if stored.get("url") else STDIO),
            tuple(_texts(name, "command", [stored.get("command"), *_of(name, stored, "args", list, [])]))
            if stored.get("command") is not None
            else (),
            _text_map(name, stored, "env"),
            _of(name, stored, "cwd", str, None),
            _of(name, stored, "url", str, None),
            _text_map(name, stored, "headers"),
            _of(name, stored, "description", str, ""),
            not _of(name, stored, "disabled", bool, default=False),
            _of(name, stored, "trust_annotations", bool, default=False),
            {
                part: tuple(_texts(name, "groups", patterns))
                for part, patterns in _of(name, stored, "groups", dict, {}).items()
            },
            only_tools=tuple(_texts(name, "only_tools", _of(name, stored, "only_tools", list, []))),
            without_tools=tuple(_texts(name, "without_tools", _of(name, stored, "without_tools", list, []))),
            start_seconds=_seconds(name, stored, "start_seconds", 60.0),
            call_seconds=_seconds(name, stored, "call_seconds", 60.0),
            idle_seconds=_seconds(name, stored, "idle_seconds", 600.0),
            sandbox=_sandbox(name, stored),
            project=_of(name, stored, "project", str),
            project_digest=_of(name, stored, "project_digest", str, ""),
        )
        if made.transport not in TRANSPORTS:
            raise UsageError(f"MCP server {name}: type is one of {', '.join(TRANSPORTS)}, not {made.transport!r}")
        if bool(made.command) == (made.transport != STDIO) or bool(made.url) == (made.transport == STDIO):
            raise UsageError(f"MCP server {name}: give either a command or a url")
        if made.url is not None and not made.url.startswith(("http://", "https://")):
            raise UsageError(f"MCP server {name}: the url begins with https:// or http://")
        if any("\0" in each for each in made.command):
            raise UsageError(f"MCP server {name}: the command contains a NUL character")
        return made


class ServerBook:
    """The configured servers of a home.

    Args:
        folder: of the plugin, in the home.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / SERVERS_FILE

    def read(self) -> dict[str, Server]:
        """Return all servers by name, in the order of their names.

        Raises:
            OneClawError: the file is damaged or open to others.
        """
        text = read_private(self.path, _MAX_BYTES)
        if text is None:
            return {}
        try:
            document = json.loads(text)
            entries = document["mcpServers"]
            if document.get("format", _FORMAT) != _FORMAT:
                raise OneClawError(f"{self.path} was written by a later version of OneClaw: upgrade oneclaw-mcp")
            return {name: Server.from_dict(name, entries[name]) for name in sorted(entries)}
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise OneClawError(f"{self.path} is damaged: {error}; correct it, or remove it") from None

    def get(self, name: str) -> Server:
        """Return a server.

        Raises:
            NotFoundError: there is none of that name.
        """
        servers = self.read()
        if name not in servers:
            known = f"there are: {', '.join(servers)}" if servers else "add one with: oneclaw mcp add"
            raise NotFoundError(f"there is no MCP server {name!r}; {known}")
        return servers[name]

    def add(self, server: Server) -> None:
        """Add a server.

        Raises:
            DuplicateError: there is one of that name, or of a name whose tools would be named alike.
            OneClawError: the file cannot be written.
        """
        with self._changing() as servers:
            if server.name in servers:
                raise DuplicateError(
                    f"there is an MCP server {server.name!r} already: choose another name, or remove it with: "
                    f"oneclaw mcp remove {server.name}"
                )
            servers[server.name] = server

    def change(self, name: str, **changes: Any) -> Server:
        """Change fields of a server, and return it.

        Raises:
            NotFoundError: there is none of that name.
            OneClawError: the file cannot be written.
        """
        self.get(name)
        with self._changing() as servers:
            servers[name] = replace(servers[name], **changes)
            return servers[name]

    def remove(self, name: str) -> Server:
        """Remove a server, and return it.

        Raises:
            NotFoundError: there is none of that name.
            OneClawError: the file cannot be written.
        """
        self.get(name)
        with self._changing() as servers:
            return servers.pop(name)

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Server]]:
        from filelock import FileLock, Timeout

        try:
            make_private_directory(self.folder)
            with FileLock(self.path.with_name(".servers.lock"), timeout=_LOCK_SECONDS, mode=0o600):
                servers = self.read()
                yield servers
                document = {
                    "format": _FORMAT,
                    "mcpServers": {name: servers[name].to_dict() for name in sorted(servers)},
                }
                write_private(self.path, json.dumps(document, indent=2, ensure_ascii=False).encode())
        except Timeout:
            raise OneClawError("another process is changing the MCP servers: try again when it is done") from None
        except OSError as error:
            raise OneClawError(f"{self.path} cannot be written: {error.strerror or error}") from None


def check_name(name: str) -> str:
    """Return a name that a server can have.

    Raises:
        UsageError: it cannot.
    """
    if len(name) <= MAX_NAME_CHARACTERS and _NAME.fullmatch(name):
        return name
    suggestion = clean_name(name)
    hint = f"; for example {suggestion}" if suggestion else ""
    raise UsageError(
        f"{name!r} is not a valid name for an MCP server: use at most {MAX_NAME_CHARACTERS} small letters, digits and "
        f"single '_', beginning with a letter{hint}"
    )


def clean_name(name: str) -> str:
    """Return the name for a server that another client calls so; ``""`` if nothing of it can be used."""
    words = "_".join(re.findall(r"[a-z0-9]+", name.rpartition("/")[2].lower()))
    return words.lstrip("0123456789_")[:MAX_NAME_CHARACTERS].rstrip("_")


def _sandbox(name: str, stored: Mapping[str, Any]) -> Sandbox | None:
    found = _of(name, stored, "sandbox", dict)
    if found is None:
        return None
    from oneclaw_mcp.sandboxing import Sandbox

    return Sandbox.from_dict(name, found)


def _of(name: str, stored: Mapping[str, Any], key: str, kind: Any, default: Any = None) -> Any:
    value = stored.get(key)
    if value is None:
        return default
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise UsageError(f"MCP server {name}: {key} is of the wrong type")
    return value


def _seconds(name: str, stored: Mapping[str, Any], key: str, default: float) -> float:
    seconds = float(_of(name, stored, key, (int, float), default))
    if not 0 < seconds <= _MOST_SECONDS:
        raise UsageError(f"MCP server {name}: {key} is above 0 and at most {_MOST_SECONDS:g}")
    return seconds


def _texts(name: str, key: str, values: Any) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        raise UsageError(f"MCP server {name}: {key} must be made of texts")
    return values


def _text_map(name: str, stored: Mapping[str, Any], key: str) -> dict[str, str]:
    found = _of(name, stored, key, dict, {})
    _texts(name, key, [*found, *found.values()])
    return dict(found)
