"""Names of chat commands, those of plugins too.

Listings use this module too: importing it imports no asyncio.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from oneclaw_core.app import OneClaw
    from oneclaw_core.plugins.catalog import Catalog
    from oneclaw_core.plugins.plugin import Plugin, Registration

CHAT_COMMAND_HOOK = "register_chat_commands"
OWN_COMMANDS = (
    *("help", "usage", "session", "sessions", "model", "reasoning", "agent", "compact"),
    *("continue", "copy", "clear", "exit", "quit", "steer", "queue", "stop"),
    *("tools", "groups", "attach", "detach", "verbose"),
)
"""The names that plugins cannot take: of the commands of every channel, and of those of ``oneclaw chat`` alone."""


def is_slash_command(line: str) -> bool:
    """Return True for a command; a message that begins with a slash is written with a space before it."""
    return line.startswith("/")


def chat_command_names(catalog: Catalog) -> frozenset[str]:
    """Return the names of the commands of ``oneclaw chat``, those of plugins too, without the slash."""
    return frozenset([*OWN_COMMANDS, *plugin_chat_commands(catalog.plugins, OWN_COMMANDS)])


async def expandable_command(claw: OneClaw, line: str) -> tuple[str, str] | None:
    """Read a line such as ``/pdf-report sales.pdf``, which a plugin expands into a message.

    Returns:
        The command's name and its arguments; ``None`` if no plugin expands it.
    """
    if not is_slash_command(line):
        return None
    name, *rest = line.split(maxsplit=1)
    if name[1:].lower() in OWN_COMMANDS or name[1:] in plugin_chat_commands(claw.catalog.plugins, OWN_COMMANDS):
        return None
    command = (await claw.plugins.message_commands()).get(name[1:])
    if command is None or command.problem is not None:
        return None
    return command.name, "".join(rest).rstrip()


def plugin_chat_commands(records: Iterable[Plugin], taken: Collection[str]) -> dict[str, Registration]:
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
