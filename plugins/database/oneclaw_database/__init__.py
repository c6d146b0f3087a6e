"""Commands for databases: show, migrate, back up and restore one, copy it into another, and rescue a damaged one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import CommandRegistrar


@hookimpl
def register_commands(register: CommandRegistrar) -> None:
    """Register ``oneclaw db``."""
    register("db", "oneclaw_database.care:db", help="Show, migrate and copy the database.")
