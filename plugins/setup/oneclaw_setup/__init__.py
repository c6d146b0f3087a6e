"""Set-up for OneClaw: a model and its key, imports from other assistants, shell completion, profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import CommandRegistrar


_OF_GROUPS = {
    "models": {
        "add": ("model_commands:add_model", "Add a model that its service does not list."),
        "remove": ("model_commands:remove_model", "Remove a model that was added."),
        "set": ("model_commands:set_override", "Set a property of a model."),
        "unset": ("model_commands:unset_override", "Remove what was set for a model."),
    },
    "providers": {
        "add": ("provider_commands:add_provider", "Add a model service, or change one that was added."),
        "remove": ("provider_commands:remove_provider", "Remove a model service or a chain that was added."),
        "set": ("provider_commands:set_options", "Change how requests are sent to a model service."),
        "enable": ("provider_commands:enable_provider", "Enable a disabled provider again."),
        "disable": ("provider_commands:disable_provider", "Disable a provider with its models."),
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
        for name, (target, summary) in commands.items():
            register(name, f"oneclaw_setup.{target}", help=summary, parent=group)
