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
from oneclaw_mcp.servers import HTTP, SSE, Server, clean_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
}
_REFERENCE = re.compile(
    r"\$\{(?P<kind>env|secret|input):(?P<named>[\w.@+-]+)\}|\$\{(?P<braced>\w+)(?::-(?P<default>[^}]*))?\}"
    r"|\$(?P<plain>[A-Za-z_]\w*)|%(?P<percent>[A-Za-z_]\w*)%"
)
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
    """

    server: Server | None
    path: Path
    name: str
    problem: str = ""


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
    found = []
    for name, entry in _entries(document, directory):
        ours = clean_name(name)
        try:
            if not ours:
                raise UsageError(f"nothing of its name {name[:50]!r} can be used")
            server = Server.from_dict(ours, translated(ours, entry, directory, is_gemini=is_gemini))
            if _is_own_gateway(server.command):
                raise UsageError("it is OneClaw itself")
            found.append(Found(server, path, name))
        except (UsageError, ValueError, TypeError, AttributeError) as error:
            found.append(Found(None, path, name, str(error)))
    return found


def translated(name: str, entry: Mapping[str, Any], directory: Path, *, is_gemini: bool) -> dict[str, Any]:
    """Return an entry of another client in our form, with our references to variables.

    Raises:
        UsageError: it is in no form that is known.
    """
    if not isinstance(entry, dict):
        raise UsageError("its entry is not an object")

    def referred(value: object) -> str:
        return _referred(str(value), name, directory)

    command, arguments = entry.get("command"), list(entry.get("args") or [])
    if isinstance(command, list):
        command, *arguments = command
    url = entry.get("httpUrl") or entry.get("url") or entry.get("serverUrl")
    kind = str(entry.get("type") or entry.get("transport") or "").lower()
    is_sse = kind == SSE or (is_gemini and "httpUrl" not in entry)
    made: dict[str, Any] = {}
    if command:
        made |= {"type": "stdio", "command": referred(command), "args": [referred(each) for each in arguments]}
        environment = {**(entry.get("env") or {}), **(entry.get("environment") or {})}
        made["env"] = {key: referred(value) for key, value in environment.items()}
        made["env"] |= {each: f"${{env:{each}}}" for each in entry.get("env_vars") or [] if isinstance(each, str)}
        if entry.get("cwd"):
            made["cwd"] = referred(entry["cwd"])
    elif url:
        made |= {"type": SSE if is_sse else HTTP, "url": referred(url)}
        headers = {**(entry.get("headers") or {}), **(entry.get("http_headers") or {})}
        made["headers"] = {key: referred(value) for key, value in headers.items()}
        made["headers"] |= {key: f"${{env:{value}}}" for key, value in (entry.get("env_http_headers") or {}).items()}
        if entry.get("bearer_token_env_var"):
            made["headers"]["Authorization"] = f"Bearer ${{env:{entry['bearer_token_env_var']}}}"
    else:
        raise UsageError("it has neither a command nor a url")
    if entry.get("disabled") is True or entry.get("enabled") is False:
        made["disabled"] = True
    # Milliseconds in some files, seconds in others.
    if isinstance(entry.get("timeout"), int | float) and entry["timeout"] >= 1_000:
        made["call_seconds"] = min(entry["timeout"] / 1_000, 86_400)
    for theirs, ours in (("startup_timeout_sec", "start_seconds"), ("tool_timeout_sec", "call_seconds")):
        if isinstance(entry.get(theirs), int | float):
            made[ours] = entry[theirs]
    if isinstance(entry.get("description"), str):
        made["description"] = entry["description"]
    return made


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


def _referred(text: str, name: str, directory: Path) -> str:
    def replaced(match: re.Match[str]) -> str:
        if match["kind"] == "input":
            return f"${{secret:{name}.{match['named']}}}"
        if match["kind"] == "secret":  # which may be that of another server
            raise UsageError(f"it refers to a stored secret, {match['named'][:100]}; add it with: oneclaw mcp add")
        if match["kind"]:
            return match[0]
        variable = match["braced"] or match["plain"] or match["percent"]
        if variable in ("workspaceFolder", "workspaceRoot"):
            return str(directory)
        if variable == "userHome":
            return str(Path.home())
        if match["default"] is not None:
            import os

            return f"${{env:{variable}}}" if variable in os.environ else match["default"]
        return f"${{env:{variable}}}"

    return _REFERENCE.sub(replaced, text)


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
    tables = [document.get(key) for key in ("mcpServers", "servers", "mcp_servers", "mcp")]
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
