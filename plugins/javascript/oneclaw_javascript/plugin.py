"""The plugin ``javascript``: the core tool ``js_eval``, the user's own tools as a tool source, and ``oneclaw env``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import CommandRegistrar, SettingsRegistrar, ToolRegistrar


@hookimpl
def register_tools(register: ToolRegistrar) -> None:
    """Register ``js_eval`` and the source of the user's own tools."""
    register.manifest(Path(__file__).with_name("js_eval.json"))
    register.source(
        "tools",
        "oneclaw_javascript.user_tools.folder:open_user_tools",
        starts="open",
        listing="oneclaw_javascript.user_tools.listing:list_user_tools",
        listed_as="user",
    )


@hookimpl
def register_commands(register: CommandRegistrar) -> None:
    """Register ``oneclaw env``."""
    register("env", "oneclaw_javascript.commands:env", help="Set environment variables for your own tools.")


@hookimpl
def register_settings(register: SettingsRegistrar) -> None:
    """Register the setting that enables tools in Python, under the key that earlier versions stored it."""
    register("oneclaw_javascript.settings:JavaScriptSettings", keys={"user_tools_python": "user_tools_python"})
