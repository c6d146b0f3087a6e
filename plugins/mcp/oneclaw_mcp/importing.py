"""Servers as other clients configure them, read from their files and made ours."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneclaw_core import UsageError
from oneclaw_mcp.references import client_of, file_variables, referred
from oneclaw_mcp.servers import HTTP, SSE, Server, clean_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

MAX_FILE_BYTES = 20_000_000
PROJECT_FILE = ".mcp.json"
# Where each client keeps its servers: in the user's directory, and in a project.
CLIENTS = {
    "claude": (
        "~/.claude.json",
        PROJECT_FILE,
        "~/.config/Claude/claude_desktop_config.json",
        "~/Library/Application Support/Claude/claude_desktop_config.json",
    ),
    "vscode": (
        ".vscode/mcp.json",
        "~/.config/Code/User/mcp.json",
        "~/Library/Application Support/Code/User/mcp.json",
    ),
    "codex": ("~/.codex/config.toml",),
    "cursor": ("~/.cursor/mcp.json", ".cursor/mcp.json"),
    "gemini": ("~/.gemini/settings.json", ".gemini/settings.json"),
    "windsurf": ("~/.codeium/windsurf/mcp_config.json",),
    "zed": ("~/.config/zed/settings.json", ".zed/settings.json"),
    "opencode": ("~/.config/opencode/opencode.json", "opencode.json", "opencode.jsonc"),
    "cline": (
        "~/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        "~/Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
    ),
}
# What only limits a server: what of it is not taken over is named first.
_RESTRICTIONS = (
    "sandbox", "sandboxEnabled", "include_tags", "exclude_tags", "tools", "permissions", "scopes", "headersHelper",
)  # fmt: skip
# Permissions that the user gave in another client.
_APPROVALS = ("alwaysAllow", "autoApprove", "trust", "default_tools_approval_mode", "approval", "auto_approve")
_TAKEN = frozenset(
    {
        "type", "transport", "command", "args", "env", "environment", "env_vars", "envFile", "env_file", "cwd",
        "workingDirectory", "url", "httpUrl", "serverUrl", "headers", "http_headers", "env_http_headers",
        "bearer_token_env_var", "disabled", "enabled", "timeout", "startup_timeout_sec", "startup_timeout_ms",
        "tool_timeout_sec", "description", "name", "source", "enabled_tools", "includeTools", "disabled_tools",
        "excludeTools", "disabledTools",
    }
)  # fmt: skip
# What has no end goes to the end of the text, so that each part of it is looked at once.
_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*(?:"|\\?\Z))|//[^\n]*|/\*(?:.*?\*/|.*\Z)', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*(?:"|\\?\Z))|,(?=\s*[}\]])', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Found:
    """A server in the file of another client.

    Attributes:
        server: as OneClaw would have it.
        path: the file.
        problem: why it cannot be used, ``""`` if it can.
        dropped: what of its entry is not taken over, restrictions first.
    """

    server: Server | None
    path: Path
    name: str
    problem: str = ""
    dropped: tuple[str, ...] = ()


def find_servers(source: str, directory: Path) -> list[Found]:
    """Find the servers of a client, or in a file.

    Args:
        source: a key of ``CLIENTS``, or a path.
        directory: the project.

    Raises:
        UsageError: there is no file, or it cannot be read.
    """
    places = [directory / Path(each).expanduser() for each in CLIENTS.get(source, (source,))]
    paths = [each for each in places if each.is_file()]
    if not paths:
        raise UsageError(f"there is no {' and no '.join(map(str, places))}")
    return [found for path in paths for found in read_servers(path, directory, is_gemini=source == "gemini")]


def read_servers(path: Path, directory: Path, *, is_gemini: bool = False) -> list[Found]:
    """Read the servers in a file.

    Args:
        path: the file.
        directory: the project, for ``${workspaceFolder}`` and for entries of a single project.
        is_gemini: True for a file in which ``url`` means server-sent events.

    Raises:
        UsageError: it cannot be read.
    """
    document = _document(path)
    client = "gemini" if is_gemini else client_of(path, document)
    off = _switched_off(document, directory)
    found = []
    for name, entry in _entries(document, directory):
        ours = clean_name(name)
        try:
            if not ours:
                raise UsageError(f"nothing of its name {name[:50]!r} can be used")
            made, dropped = translated(ours, entry, directory, client)
            server = Server.from_dict(ours, {**made, **({"disabled": True} if off(name) else {})})
            if _is_own_gateway(server.command):
                raise UsageError("it is OneClaw itself")
            found.append(Found(server, path, name, dropped=tuple(dropped)))
        except (UsageError, ValueError, TypeError, AttributeError) as error:
            found.append(Found(None, path, name, str(error)))
    return found


def translated(name: str, entry: Mapping[str, Any], directory: Path, client: str) -> tuple[dict[str, Any], list[str]]:
    """Return an entry of another client in our form, and what of it is not taken over, restrictions first.

    Args:
        name: of the server here.
        entry: of the server there.
        directory: the project.
        client: as :func:`~oneclaw_mcp.references.client_of` returns it.

    Raises:
        UsageError: it is in no form that is known.
    """
    if not isinstance(entry, dict):
        raise UsageError("its entry is not an object")
    if isinstance(entry.get("command"), dict):  # of Zed
        program = entry["command"]
        entry = {**entry, **program, "command": program.get("path") or program.get("command")}
        entry.pop("path", None)
    made = _program_or_address(name, entry, directory, client)
    if entry.get("disabled") is True or entry.get("enabled") is False:
        made["disabled"] = True
    made |= _tools_of(entry)
    timeout = entry.get("timeout")
    if isinstance(timeout, int | float) and timeout > 0:  # milliseconds in some files, seconds in others
        made["call_seconds"] = min(timeout / 1_000 if timeout >= 1_000 else timeout, 86_400)
    for theirs, ours, unit in (
        ("startup_timeout_sec", "start_seconds", 1),
        ("startup_timeout_ms", "start_seconds", 1_000),
        ("tool_timeout_sec", "call_seconds", 1),
    ):
        if isinstance(entry.get(theirs), int | float):
            made[ours] = entry[theirs] / unit
    if isinstance(entry.get("description"), str):
        made["description"] = entry["description"]
    return made, list(_dropped(entry))


def _program_or_address(name: str, entry: Mapping[str, Any], directory: Path, client: str) -> dict[str, Any]:
    def ours(value: object) -> str:
        return referred(str(value), name, client, directory)

    command, arguments = entry.get("command"), list(entry.get("args") or [])
    if isinstance(command, list):
        command, *arguments = command
    url = entry.get("httpUrl") or entry.get("url") or entry.get("serverUrl")
    kind = str(entry.get("type") or entry.get("transport") or "").lower()
    if command:
        made: dict[str, Any] = {"type": "stdio", "command": ours(command), "args": [ours(each) for each in arguments]}
        file = entry.get("envFile") or entry.get("env_file")
        made["env"] = file_variables(ours(file), directory) if file else {}
        environment = {**(entry.get("env") or {}), **(entry.get("environment") or {})}
        made["env"] |= {key: ours(value) for key, value in environment.items() if value is not None}
        made["env"] |= {each: f"${{env:{each}}}" for each in entry.get("env_vars") or [] if isinstance(each, str)}
        where = entry.get("cwd") or entry.get("workingDirectory")
        if where:
            made["cwd"] = str(directory / Path(ours(where)).expanduser())
        return made
    if not url:
        raise UsageError("it has neither a command nor a url")
    is_sse = kind == SSE or (client == "gemini" and "httpUrl" not in entry and kind != HTTP)
    made = {"type": SSE if is_sse else HTTP, "url": ours(url)}
    headers = {**(entry.get("headers") or {}), **(entry.get("http_headers") or {})}
    made["headers"] = {key: ours(value) for key, value in headers.items()}
    made["headers"] |= {key: f"${{env:{value}}}" for key, value in (entry.get("env_http_headers") or {}).items()}
    if entry.get("bearer_token_env_var"):
        made["headers"]["Authorization"] = f"Bearer ${{env:{entry['bearer_token_env_var']}}}"
    return made


def _tools_of(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tools that an entry allows and forbids.

    Raises:
        UsageError: one of its lists cannot be read.
    """

    def names(*keys: str) -> list[str] | None:
        given = [entry[key] for key in keys if entry.get(key) is not None]
        if not all(isinstance(each, list) and all(isinstance(name, str) for name in each) for each in given):
            raise UsageError(f"its list of tools cannot be read: {' or '.join(keys)}")
        return [name.partition("(")[0] for each in given for name in each] if given else None

    only = names("enabled_tools", "includeTools", *(["tools"] if isinstance(entry.get("tools"), list) else []))
    without = names("disabled_tools", "excludeTools", "disabledTools")
    made: dict[str, Any] = {"without_tools": without} if without else {}
    if only == []:
        made["disabled"] = True
    elif only and "*" not in only:
        made["only_tools"] = only
    return made


def _dropped(entry: Mapping[str, Any]) -> Iterator[str]:
    """Yield what of an entry is not taken over."""
    rest = {key: value for key, value in entry.items() if key not in _TAKEN and value not in (None, False, [], {})}
    if isinstance(rest.get("tools"), list):
        del rest["tools"]
    for key in sorted(rest, key=lambda each: (each not in _RESTRICTIONS, each not in _APPROVALS, each)):
        if key in _RESTRICTIONS:
            yield f"the restriction {key}"
        elif key in _APPROVALS:
            yield f"the permission {key}: here you are asked"
        elif key in ("oauth", "auth", "oauth_resource"):
            yield f"{key}: sign in with oneclaw mcp login"
        else:
            yield key


def _switched_off(document: Any, directory: Path) -> Callable[[str], bool]:
    """Return what says which servers are switched off elsewhere in a file than in their entries."""
    keys = document if isinstance(document, dict) else {}
    projects = keys.get("projects")
    project = projects.get(str(directory)) if isinstance(projects, dict) else None
    off: set[str] = set()
    for table in (keys, project if isinstance(project, dict) else {}):
        for key in ("disabledMcpServers", "disabledMcpjsonServers"):
            off |= {each for each in table.get(key) or () if isinstance(each, str)}
    rules = keys.get("mcp")  # of Gemini CLI
    allowed = rules.get("allowed") if isinstance(rules, dict) else None
    excluded = rules.get("excluded") if isinstance(rules, dict) else None
    off |= {each for each in excluded or () if isinstance(each, str)} if isinstance(excluded, list) else set()
    return lambda name: name in off or (isinstance(allowed, list) and name not in allowed)


def project_digest(path: Path, name: str) -> str:
    """Return the hash of an entry in the file of a project; ``""`` if there is none."""
    entry = next((entry for each, entry in _entries(_document(path), path.parent) if each == name), None)
    if entry is None:
        return ""
    return hashlib.sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()


def variables_of(server: Server) -> list[str]:
    """Return the names of the variables of the environment that a server is given."""
    values = (*server.command, server.url or "", *server.environment.values(), *server.headers.values())
    return sorted({name for value in values for name in re.findall(r"\$\{env:([^}]+)\}", value)})


def _is_own_gateway(command: Sequence[str]) -> bool:
    """Return True for ``oneclaw mcp serve``, which a client has in the place of its servers."""
    programs = {"oneclaw", "oneclaw_core"}
    return any(
        Path(command[at]).stem in programs and command[at + 1 : at + 3] == ("mcp", "serve")
        for at in range(len(command))
    )


def _document(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise UsageError(f"{path} is too long")
        text = data.decode("utf-8-sig")
        if path.suffix == ".toml":
            return tomllib.loads(text)
        try:
            return json.loads(text)
        except ValueError:  # perhaps with comments
            text = _COMMENT.sub(lambda match: match[1] or "", text)
            return json.loads(_TRAILING_COMMA.sub(lambda match: match[1] or "", text))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None


def _entries(document: Any, directory: Path) -> Iterator[tuple[str, Any]]:
    if not isinstance(document, dict):
        return
    tables = [document.get(key) for key in ("mcpServers", "servers", "mcp_servers", "context_servers", "mcp")]
    tools = document.get("tools")
    if isinstance(tools, dict):  # of nanobot
        tables.append(tools.get("mcpServers"))
    projects = document.get("projects")
    if isinstance(projects, dict) and isinstance(projects.get(str(directory)), dict):
        tables.append(projects[str(directory)].get("mcpServers"))
    for table in tables:
        nested = table.get("servers") if isinstance(table, dict) else None
        for each in (nested, table):
            if isinstance(each, dict):
                for name, entry in each.items():
                    if isinstance(entry, dict) and not (each is table and name == "servers" and nested is not None):
                        yield name, entry
