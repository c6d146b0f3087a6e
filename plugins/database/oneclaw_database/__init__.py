"""Commands for databases: copying one into another one, and rescuing a damaged one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import CommandRegistrar


@hookimpl
def register_commands(register: CommandRegistrar) -> None:
    """Register ``oneclaw db copy`` and ``oneclaw db salvage``."""
    register("copy", "oneclaw_database.commands:copy", parent="db", help="Copy everything into an empty database.")
    register(
        "salvage",
        "oneclaw_database.commands:salvage",
        parent="db",
        help="Rescue the readable content of a damaged file.",
    )
