"""The core tool ``save_memory``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core import ToolResult
from oneclaw_memory.file import MemoryChangeError
from oneclaw_memory.home_memory import memory_of

if TYPE_CHECKING:
    from oneclaw_core import ToolContext

_SHOWN_CHARACTERS = 3_000
_DONE = {"added": "Saved.", "replaced": "Replaced.", "deleted": "Forgotten."}


def save_memory(
    content: str, category: str = "notes", replaces: str | None = None, *, context: ToolContext
) -> ToolResult:
    """Remember something about the user, or replace or forget what was remembered.

    Args:
        content: what to remember; empty to forget what it replaces.
        category: what kind of thing it is; an unknown one is notes.
        replaces: the old text, to the letter.
        context: of the call.
    """
    try:
        change = memory_of(context.plugin).change(content, category, replaces)
    except MemoryChangeError as error:
        return ToolResult.error(error.error_type, f"Nothing was saved: {error}.")
    shown = change.section.text if change.section is not None else ""
    if len(shown) > _SHOWN_CHARACTERS:
        shown = f"[…]\n{shown[-_SHOWN_CHARACTERS:]}"
    return ToolResult.success(f"{_DONE[change.done]} The section is now:\n\n{shown}" if shown else _DONE[change.done])
