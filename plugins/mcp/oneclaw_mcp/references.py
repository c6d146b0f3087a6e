"""References in the files of other clients, each in the form of its client, made references of ours."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneclaw_core import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

# ${env:X}, ${input:x}; ${X}, ${X:-default}; $X; %X%; {env:X}, {file:x}.
_FORMS = {
    "kinds": r"\$\{(?P<kind>env|secret|input):(?P<named>[\w.@+-]+)\}|\$\{(?P<own>[A-Za-z]\w*(?::[^}]*)?|/)\}",
    "braces": r"\$\{(?P<braced>[A-Za-z_]\w*)(?::-(?P<default>[^}]*))?\}",
    "plain": r"\$(?P<plain>[A-Za-z_]\w*)",
    "percent": r"%(?P<percent>[A-Za-z_]\w*)%",
    "curly": r"\{(?P<curly>env|file):(?P<target>[^}]+)\}",
}
_ALL = ("braces", "kinds", "plain", "percent")
_BY_CLIENT = {
    "claude": ("braces",),
    "claude-desktop": (),
    "codex": (),
    "cursor": ("kinds",),
    "gemini": ("braces", "plain", "percent"),
    "opencode": ("curly",),
    "vscode": ("kinds",),
    "windsurf": ("kinds",),
    "zed": (),
}
_OURS = re.compile(r"\$\{secret:[^}]+\}")
_MAX_FILE_BYTES = 100_000


def client_of(path: Path, document: Any) -> str:
    """Return the client that a file belongs to, ``""`` if it may be any."""
    keys, parts, name = (document if isinstance(document, dict) else {}), path.parts, path.name
    if path.suffix == ".toml":
        return "codex"
    if name == "claude_desktop_config.json":
        return "claude-desktop"
    if "context_servers" in keys:
        return "zed"
    if name.startswith("opencode."):
        return "opencode"
    for folder, client in (
        (".cursor", "cursor"),
        (".gemini", "gemini"),
        (".vscode", "vscode"),
        ("windsurf", "windsurf"),
    ):
        if folder in parts:
            return client
    if name in (".mcp.json", ".claude.json"):
        return "claude"
    return "vscode" if "servers" in keys and "inputs" in keys else ""


def referred(text: str, server: str, client: str, directory: Path) -> str:
    """Return a text with references of ours in the place of those of a client.

    Args:
        text: a value of an entry.
        server: the name of its server here.
        client: as :func:`client_of` returns it.
        directory: the project.

    Raises:
        UsageError: it refers to something that is not known here.
    """
    if (stored := _OURS.search(text)) is not None:  # which may be that of another server
        raise UsageError(f"it refers to a stored secret, {stored[0][:100]}; add it with: oneclaw mcp add")
    forms = _BY_CLIENT.get(client, _ALL)
    if not forms:
        return text

    def replaced(match: re.Match[str]) -> str:
        return _replacement(match.groupdict(), match[0], server, directory)

    return re.sub("|".join(_FORMS[each] for each in forms), replaced, text)


def _replacement(found: Mapping[str, str | None], whole: str, server: str, directory: Path) -> str:
    if found.get("kind") == "input":
        return f"${{secret:{server}.{found['named']}}}"
    if found.get("kind"):
        return f"${{env:{found['named']}}}"
    if found.get("curly") == "env":
        return f"${{env:{found['target']}}}"
    if found.get("curly") == "file":
        return _content(str(found["target"]), directory)
    name = found.get("own") or found.get("braced") or found.get("plain") or found.get("percent") or ""
    places = {
        "workspaceFolder": str(directory),
        "workspaceRoot": str(directory),
        "workspaceFolderBasename": directory.name,
        "cwd": str(directory),
        "userHome": str(Path.home()),
        "pathSeparator": os.sep,
        "/": os.sep,
    }
    if name in places:
        return places[name]
    if found.get("own"):
        raise UsageError(f"it refers to {whole[:100]}, which is not known here")
    if found.get("default") is not None and name not in os.environ:
        return str(found["default"])
    return f"${{env:{name}}}"


def _content(name: str, directory: Path) -> str:
    """Read a file of the project; one elsewhere may hold secrets that are none of the server's business.

    Raises:
        UsageError: it is elsewhere, or cannot be read.
    """
    path = (directory / Path(name).expanduser()).resolve()
    if not path.is_relative_to(directory.resolve()):
        raise UsageError(f"it refers to {path}, which is not in {directory}; add it with: oneclaw mcp add")
    try:
        return path.read_text("utf-8")[:_MAX_FILE_BYTES].strip()
    except (OSError, ValueError) as error:
        raise UsageError(f"it refers to the file {path}, which cannot be read: {error}") from None


def file_variables(name: str, directory: Path) -> dict[str, str]:
    """Read the variables of a file of the project with a line ``NAME=VALUE`` for each.

    Raises:
        UsageError: it cannot be read.
    """
    found = {}
    for line in _content(name, directory).splitlines():
        variable, equals, value = line.strip().removeprefix("export ").partition("=")
        if equals and re.fullmatch(r"[A-Za-z_]\w*", variable.strip()):
            value = value.strip()
            is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
            found[variable.strip()] = value[1:-1] if is_quoted else value
    return found
