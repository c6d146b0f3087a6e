"""Set-up for OneClaw: a model and its key, imports from other assistants, shell completion, profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import CommandRegistrar


_OF_GROUPS = {
    "models": {
        "add": ("add_model", "Add a model that its service does not list."),
        "remove": ("remove_model", "Remove a model that was added."),
        "set": ("set_override", "Set a property of a model."),
        "unset": ("unset_override", "Remove what was set for a model."),
    },
    "providers": {
        "set": ("set_options", "Change how requests are sent to a model service."),
        "enable": ("enable_provider", "Enable a disabled provider again."),
        "disable": ("disable_provider", "Disable a provider with its models."),
    },
}
"""Commands for groups of OneClaw's own, each with its function and its line for ``--help``."""


@hookimpl
def register_commands(register: CommandRegistrar) -> None:
    """Register the commands of set-up, and those that change models and services."""
    register("setup", "oneclaw_setup.commands:setup", help="Choose a model, test it, and store its configuration.")
    register("completion", "oneclaw_setup.completion:completion", help="Complete commands in bash, zsh or fish.")
    register("profiles", "oneclaw_setup.profiles:profiles", help="List the profiles, each a separate home.")
    for group, commands in _OF_GROUPS.items():
        for name, (function, summary) in commands.items():
            register(name, f"oneclaw_setup.model_services:{function}", help=summary, parent=group)
