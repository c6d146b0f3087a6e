"""The plugin ``js_tool_management``: create, list, change and delete the user's own tools in JavaScript."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import ToolRegistrar


@hookimpl
def register_tools(register: ToolRegistrar) -> None:
    """Declare the tool group ``js_tool_management``; its functions are imported when they first run."""
    register.manifest(files(__name__) / "js_tool_management.json")
