"""The plugin ``javascript``: the core tool ``js_eval``, and the user's own tools as a tool source."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import SettingsRegistrar, ToolRegistrar


@hookimpl
def register_tools(register: ToolRegistrar) -> None:
    """Register ``js_eval`` and the source of the user's own tools."""
    register.manifest(files(__package__) / "js_eval.json")
    register.source(
        "tools",
        "oneclaw_javascript.user_tools.folder:open_user_tools",
        starts="open",
        listing="oneclaw_javascript.user_tools.listing:list_user_tools",
        listed_as="user",
    )


@hookimpl
def register_settings(register: SettingsRegistrar) -> None:
    """Register the setting that enables tools in Python, under the key that earlier versions stored it."""
    register("oneclaw_javascript.settings:JavaScriptSettings", keys={"user_tools_python": "user_tools_python"})
