"""Set-up for OneClaw: a model and its key, imports from other assistants, shell completion, profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import CommandRegistrar


@hookimpl
def register_commands(register: CommandRegistrar) -> None:
    """Register ``oneclaw setup``, ``oneclaw completion`` and ``oneclaw profiles``."""
    register("setup", "oneclaw_setup.commands:setup", help="Choose a model, test it, and store its configuration.")
    register("completion", "oneclaw_setup.completion:completion", help="Complete commands in bash, zsh or fish.")
    register("profiles", "oneclaw_setup.profiles:profiles", help="List the profiles, each a separate home.")
