"""The names of chat commands, for listings: nothing here imports asyncio."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from oneclaw_core.plugins.registration.entry import Registration
    from oneclaw_core.plugins.registration.record import PluginRecord

CHAT_COMMAND_HOOK = "register_chat_commands"
TERMINAL_COMMANDS = (
    "help",
    "tools",
    "groups",
    "session",
    "model",
    "agent",
    "attach",
    "detach",
    "compact",
    "verbose",
    "clear",
    "quit",
)
"""The commands of ``oneclaw chat`` itself, without the slash; plugins cannot take their names."""


def plugin_chat_commands(records: Iterable[PluginRecord], taken: Collection[str]) -> dict[str, Registration]:
    """Gather the chat commands of plugins, by name without the slash; a name that is taken is reported.

    Args:
        records: the plugins, in the order of loading; of two that bring the same name, the first one's stays.
        taken: names of the commands that there are without plugins.
    """
    found: dict[str, Registration] = {}
    for record in records:
        for registration in record.registrations:
            if registration.hook != CHAT_COMMAND_HOOK:
                continue
            name = registration.name
            if name in taken or name in found:
                cause = f"the chat command /{name} is taken"
                record.report(CHAT_COMMAND_HOOK, cause, "use another name", check="names.command-taken")
            else:
                found[name] = registration
    return found
