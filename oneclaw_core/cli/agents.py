"""The group `oneclaw agents`, whose commands come from plugins."""

from __future__ import annotations

from oneclaw_core.cli.command_group import CommandGroup

agents = CommandGroup(
    "agents",
    help="List agents and show, make, change and delete them: personas with a system prompt, a model, and tools.",
)
