"""MCP servers as tool groups of OneClaw: lazy, pinned and permitted tool by tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import (
        CommandRegistrar,
        CommandUse,
        ExpandedMessage,
        MessageCommand,
        PluginContext,
        ServiceRegistrar,
        SettingsRegistrar,
        ToolRegistrar,
    )


@hookimpl
def register_tools(register: ToolRegistrar) -> None:
    """Register the source of the servers' tools; it reads what is known of them and starts none."""
    register.source(
        "servers", "oneclaw_mcp.source:open_servers", starts="open", listing="oneclaw_mcp.source:list_servers"
    )


@hookimpl
async def message_commands(context: PluginContext) -> list[MessageCommand]:
    """Return a chat command for each prompt of a server."""
    from oneclaw_mcp.prompts import prompt_commands

    return prompt_commands(context)


@hookimpl
async def expand_command(context: PluginContext, command: CommandUse) -> ExpandedMessage | None:
    """Fetch the prompt that a chat command stands for."""
    from oneclaw_mcp.prompts import expanded_prompt

    return await expanded_prompt(context, command)


@hookimpl
def register_commands(register: CommandRegistrar) -> None:
    """Register ``oneclaw mcp``."""
    register("mcp", "oneclaw_mcp.commands:mcp", help="Use MCP servers as tool groups.")


@hookimpl
def register_settings(register: SettingsRegistrar) -> None:
    """Register the settings of the gateway."""
    register("oneclaw_mcp.settings:McpSettings")


@hookimpl
def register_services(register: ServiceRegistrar) -> None:
    """Run the gateway in ``oneclaw serve``."""
    register(
        "mcp",
        "oneclaw_mcp.http_serving:serve_gateway",
        help="gives tools to MCP clients",
        grace_seconds=10,
        needs="gateway_port",
    )
