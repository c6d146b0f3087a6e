"""The commands and options that plugins register for the command line, told without importing them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from oneclaw_core.plugins.plugin import Plugin, Registration


@dataclass(frozen=True, slots=True)
class PluginCommand:
    """A command, or an option of one, that a plugin registered.

    Attributes:
        record: the plugin.
        registration: what it registered.
    """

    record: Plugin
    registration: Registration

    @property
    def name(self) -> str:
        """The name on the command line, without the parent's."""
        return self.registration.name.rpartition(" ")[2]

    @property
    def is_option(self) -> bool:
        """True for an option."""
        return self.name.startswith("--")

    @property
    def summary(self) -> str:
        """The line for ``--help``."""
        return str(self.registration.options.get("help") or "")

    @property
    def is_hidden(self) -> bool:
        """True if listings leave it out."""
        return bool(self.registration.options.get("is_hidden"))


def plugin_commands(
    records: Iterable[Plugin], *, parent: str | None = None, taken: Collection[str] = ()
) -> dict[str, PluginCommand]:
    """Gather what plugins add to the program, or to one of its commands; a name that is taken is reported.

    Args:
        records: the plugins, in the order of loading; of two that add the same name, the first one's stays.
        parent: the command, such as ``serve``; ``None`` for the program.
        taken: names of the commands and options that there are without plugins.

    Returns:
        Commands and options, by name.
    """
    found: dict[str, PluginCommand] = {}
    for record in records:
        for registration in record.registrations:
            if registration.hook != "register_commands" or registration.options.get("parent") != parent:
                continue
            command = PluginCommand(record, registration)
            kind = "option" if command.is_option else "command"
            if command.name in taken or command.name in found:
                cause = f"the {kind} {command.name!r} is taken"
                record.report("register_commands", cause, "use another name", check="names.command-taken")
            else:
                found[command.name] = command
    return found
