"""A shell for OneClaw: run commands."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import ChatCommandRegistrar, ToolRegistrar


@hookimpl
def register_tools(register: ToolRegistrar) -> None:
    """Register the core tool ``exec`` and the tool group ``background``."""
    register.manifest(files(__name__) / "exec.json")
    register.manifest(files(__name__) / "background.json")


@hookimpl
def register_chat_commands(register: ChatCommandRegistrar) -> None:
    """Register what people look at in a chat."""
    summary = "List the commands in the background; /commands stop ID stops one."
    register("commands", "oneclaw_shell.commands:commands_command", help=summary)
