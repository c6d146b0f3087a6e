"""Exact edits of a text."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial

from oneclaw_core.files import line_ending, split_lines
from oneclaw_files.errors import FilesError

# Of files with line feeds, where a single carriage return is data; and of those without.
_ENDING = re.compile(r"\r?\n")
_ANY_ENDING = re.compile(r"\r\n|\n|\r")

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

    A line ending in ``old_text`` stands for any; those in ``new_text`` become those of the place.

    Returns:
        The new text, and the number of places changed.

    Raises:
        FilesError: an edit does not match, or matches more than one place; no edit is applied then.
    """
    count = 0
    ending = _ENDING if "\n" in text or "\r" not in text else _ANY_ENDING
    endings = Counter(ending.findall(text))
    usual = endings.most_common(1)[0][0] if endings else "\n"
    for number, edit in enumerate(edits, 1):
        which = f"edits[{number - 1}]" if len(edits) > 1 else "The edit"
        old, new = edit.old_text, edit.new_text
        if not old:
            raise FilesError(
                f"{which} has no old_text. Give the text to replace; write_file makes new files.", "validation_error"
            )
        if old == new:
            raise FilesError(f"{which} changes nothing: old_text and new_text are the same.", "validation_error")
        is_about_endings = ending.split(old) == ending.split(new)
        parts = [old] if is_about_endings else ending.split(old)
        wanted = re.compile(f"(?:{ending.pattern})".join(map(re.escape, parts)))
        places = [found.start() for found in wanted.finditer(text)]
        if not places:
            raise FilesError(f"{which} does not match: old_text does not stand in the file.{_hint(text, old)}")
        if len(places) > 1 and not edit.replace_all:
            raise FilesError(
                f"{which} is ambiguous: old_text stands in the file {len(places)} times, at {_places(text, places)}. "
                "Add lines around it, or set replace_all."
            )
        replacement = (lambda _, new=new: new) if is_about_endings else partial(_replacement, new, usual, ending)
        text = wanted.sub(replacement, text)
        count += len(places)
    return text, count


def _replacement(new: str, usual: str, ending: re.Pattern[str], found: re.Match[str]) -> str:
    first = ending.search(found[0])
    return ending.sub(first[0] if first else usual, new)


def _places(text: str, places: list[int]) -> str:
    ending = line_ending(text)
    lines = [str(text.count(ending, 0, start) + 1) for start in places[: _SHOWN_LINES + 1]]
    shown = ", ".join(lines[:_SHOWN_LINES])
    return f"lines {shown}{' and more' if len(lines) > _SHOWN_LINES else ''}"


def _hint(text: str, old: str) -> str:
    """Say where something similar stands, as further sentences."""
    lines = split_lines(text)
    wanted = [line.strip() for line in split_lines(old)]
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
