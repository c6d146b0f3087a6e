"""MCP servers of other assistants: ``oneclaw mcp import`` takes them over, where its plugin is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from oneclaw_core import OneClawError, redact
from oneclaw_core.cli import printable_line, warn

if TYPE_CHECKING:
    from pathlib import Path

    from oneclaw_setup.imports.findings import Findings

_MAX_BYTES = 20_000_000
_FILES = {"claude": ".claude.json", "codex": "config.toml", "nanobot": "config.json"}
_MENTIONS = (b"mcpServers", b"mcp_servers")


def servers_file(source: str, folder: Path) -> Path | None:
    """Return the file in which an assistant keeps MCP servers; ``None`` if it has none.

    Args:
        source: the name of the assistant.
        folder: its home.
    """
    name = _FILES.get(source)
    if name is None:
        return None
    # That of Claude Code lies beside its folder, unless the user has put the folder elsewhere.
    places = [folder / name, *([folder.with_name(name)] if folder.name == ".claude" else [])]
    for path in places:
        try:
            if path.is_file() and path.stat().st_size <= _MAX_BYTES:
                content = path.read_bytes()
                if any(each in content for each in _MENTIONS):
                    return path
        except OSError:
            continue
    return None


def offer_servers(found: Findings, *, says_yes: bool, only_lists: bool = False) -> None:
    """Have ``oneclaw mcp import`` show the servers, ask, and add them; it starts none."""
    if found.mcp_file is None:
        return
    options = ["--list"] if only_lists else ["--yes"] if says_yes else []
    root = click.get_current_context().find_root()
    try:
        command = root.command.get_command(root, "mcp") if isinstance(root.command, click.Group) else None
        if command is None:
            warn(f"left out: the MCP servers in {found.mcp_file}; the plugin oneclaw-mcp takes them over")
            return
        command.main(["import", str(found.mcp_file), *options], prog_name="oneclaw mcp", standalone_mode=False)
    except OneClawError as error:
        warn(f"left out: the MCP servers in {found.mcp_file}: {redact(printable_line(str(error)))}")
