"""MCP servers as tool groups of OneClaw: lazy, pinned and permitted tool by tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import CommandRegistrar, ToolRegistrar


@hookimpl
def register_tools(register: ToolRegistrar) -> None:
    """Register the source of the servers' tools; it reads what is known of them and starts none."""
    register.source(
        "servers", "oneclaw_mcp.source:open_servers", starts="open", listing="oneclaw_mcp.source:list_servers"
    )


@hookimpl
def register_commands(register: CommandRegistrar) -> None:
    """Register ``oneclaw mcp``."""
    register("mcp", "oneclaw_mcp.commands:mcp", help="Use MCP servers as tool groups.")
