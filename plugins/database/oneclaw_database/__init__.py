"""Commands for databases: show, migrate, back up and restore one, copy it into another, and rescue a damaged one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import hookimpl

if TYPE_CHECKING:
    from oneclaw_core import CommandRegistrar


@hookimpl
def register_commands(register: CommandRegistrar) -> None:
    """Register ``oneclaw db``, ``oneclaw usage``, and what exports and removes stored things."""
    register("db", "oneclaw_database.care:db", help="Show, migrate and copy the database.")
    register("usage", "oneclaw_database.usage:usage", help="Show what models used and cost.")
    register(
        "prune", "oneclaw_database.stored:prune", help="Delete old sessions, after listing them.", parent="sessions"
    )
    summary = "Export a session as Markdown, JSON, or a cassette for tests."
    register("export", "oneclaw_database.export:export", help=summary, parent="sessions")
    summary = "Remove a plugin's values and tables from the database."
    register("forget", "oneclaw_database.stored:forget", help=summary, parent="plugins")
