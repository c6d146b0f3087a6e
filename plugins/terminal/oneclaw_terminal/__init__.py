"""The terminal as a channel: `oneclaw chat`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import CommandRegistrar


@hookimpl
def register_commands(register: CommandRegistrar) -> None:
    """Register ``oneclaw chat``."""
    register("chat", "oneclaw_terminal.chat:chat", help="Talk with a model in the terminal.")
