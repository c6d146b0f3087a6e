"""Memory for OneClaw: what an agent remembers about its user, and search in past sessions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import (
        ChatCommandRegistrar,
        CommandRegistrar,
        PluginContext,
        PromptSection,
        SettingsRegistrar,
        ToolRegistrar,
    )
    from oneclaw_core.plugins import RouteRegistrar


@hookimpl
def register_tools(register: ToolRegistrar) -> None:
    """Register ``save_memory`` and ``search_history``."""
    for name in ("save_memory", "search_history"):
        register.manifest(Path(__file__).with_name(f"{name}.json"))


@hookimpl
def register_settings(register: SettingsRegistrar) -> None:
    """Register ``memory_max_characters``."""
    register("oneclaw_memory.settings:MemorySettings", keys={"max_characters": "memory_max_characters"})


@hookimpl
def register_commands(register: CommandRegistrar) -> None:
    """Register ``oneclaw memory`` and ``oneclaw sessions search``."""
    register("memory", "oneclaw_memory.commands:memory", help="Show and change the memory about you.")
    summary = "Search all sessions for words."
    register("search", "oneclaw_memory.session_search:search_sessions", help=summary, parent="sessions")


@hookimpl
def register_routes(register: RouteRegistrar) -> None:
    """Add the page ``Memory`` to ``oneclaw serve``."""
    register("", "oneclaw_memory.page:show_page", methods=("GET", "POST"), title="Memory")


@hookimpl
def register_chat_commands(register: ChatCommandRegistrar) -> None:
    """Register ``/memory``."""
    register("memory", "oneclaw_memory.home_memory:show_memory", help="Show the memory about you.")


@hookimpl(tryfirst=True)  # before the sections of other plugins, as in the sessions of earlier versions
async def prompt_sections(context: PluginContext) -> list[PromptSection]:
    """Show the memory to the model."""
    from oneclaw_memory.home_memory import prompt_section

    return prompt_section(context)
