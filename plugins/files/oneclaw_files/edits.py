"""Exact edits of a text."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from oneclaw_files.errors import FilesError

_SHOWN_LINES = 8
# Comparing lines by similarity takes long in long files.
_COMPARED_LINES = 5_000
_SHOWN_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class Edit:
    """One replacement.

    Attributes:
        old_text: the text to replace, exactly as it stands in the file.
        new_text: the text to put there.
        replace_all: True to replace all occurrences; otherwise there must be exactly one.
    """

    old_text: str
    new_text: str
    replace_all: bool = False


def apply_edits(text: str, edits: list[Edit]) -> tuple[str, int]:
    """Apply edits in their order, each to the text that the one before left.

    Line endings of ``old_text`` and ``new_text`` follow those of a text that has CRLF throughout.

    Returns:
        The new text, and the number of places changed.

    Raises:
        FilesError: an edit does not match, or matches more than one place; no edit is applied then.
    """
    count = 0
    is_crlf = "\r\n" in text and text.count("\n") == text.count("\r\n")
    for number, edit in enumerate(edits, 1):
        which = f"edits[{number - 1}]" if len(edits) > 1 else "The edit"
        old, new = edit.old_text, edit.new_text
        if is_crlf:
            old, new = (each.replace("\r\n", "\n").replace("\n", "\r\n") for each in (old, new))
        if not old:
            raise FilesError(
                f"{which} has no old_text. Give the text to replace; write_file makes new files.", "validation_error"
            )
        if old == new:
            raise FilesError(f"{which} changes nothing: old_text and new_text are the same.", "validation_error")
        found = text.count(old)
        if not found:
            raise FilesError(f"{which} does not match: old_text does not stand in the file.{_hint(text, old)}")
        if found > 1 and not edit.replace_all:
            raise FilesError(
                f"{which} is ambiguous: old_text stands in the file {found} times, at {_places(text, old)}. "
                "Add lines around it, or set replace_all."
            )
        text = text.replace(old, new)
        count += found
    return text, count


def _places(text: str, part: str) -> str:
    lines: list[str] = []
    start = text.find(part)
    while start >= 0 and len(lines) <= _SHOWN_LINES:
        lines.append(str(text.count("\n", 0, start) + 1))
        start = text.find(part, start + len(part))
    shown = ", ".join(lines[:_SHOWN_LINES])
    return f"lines {shown}{' and more' if len(lines) > _SHOWN_LINES else ''}"


def _hint(text: str, old: str) -> str:
    """Say where something similar stands, as further sentences."""
    lines = text.splitlines()
    wanted = [line.strip() for line in old.splitlines()]
    stripped = [line.strip() for line in lines]
    for start in range(len(lines) - len(wanted) + 1):
        if stripped[start : start + len(wanted)] == wanted:
            return f" With other spaces or tabs it begins at line {start + 1}: read it again and copy it exactly."
    first = next((line for line in wanted if line), "")
    close = get_close_matches(first, stripped[:_COMPARED_LINES], n=1, cutoff=0.7) if len(first) < 500 else []
    if not close:
        return " Read the file again."
    number = stripped.index(close[0]) + 1
    return f" Line {number} is similar: {close[0][:_SHOWN_CHARACTERS]!r}. Read the file again and copy it exactly."
