"""Show everything in a text of a question: nothing in it may hide or reorder a part of it."""

from __future__ import annotations

import re
import unicodedata

from oneclaw_core.types.text import BLANKS

# The sign that a space is shown as.
_SPACE = "\u2423"
# Letters, marks and symbols to Unicode, and nothing to see.
_UNSEEN = re.compile(f"[{BLANKS}{_SPACE}\U0001d159\U00016fe4]")
# It asks for a symbol in colours or in black.
_PRESENTATIONS = "\ufe0e\ufe0f"
# The indentation of a line is seen well enough.
_SPACES = re.compile(r"(?<=\S) {2,}| +$| {9,}")
_MOST_SPACES = 8


def visible_lines(text: str) -> str:
    """Make everything in a question visible that could hide or reorder a part of it; the lines stay."""
    return "\n".join(visible_line(line) for line in text.replace("\r\n", "\n").split("\n"))


def visible_line(line: str) -> str:
    """Make invisible characters and repeated spaces visible."""
    shown = "".join(
        each if _is_seen(each) or (each in _PRESENTATIONS and _is_symbol(before)) else ascii(each)[1:-1]
        for before, each in zip(f" {line}", line, strict=False)
    )
    return _SPACES.sub(_counted_spaces, shown)


def _is_seen(character: str) -> bool:
    return character.isprintable() and (character.isascii() or _UNSEEN.match(character) is None)


def _is_symbol(character: str) -> bool:
    return unicodedata.category(character) in ("So", "Sm")


def _counted_spaces(match: re.Match[str]) -> str:
    count = len(match[0])
    return _SPACE * count if count <= _MOST_SPACES else f"{_SPACE}[{count:,} spaces]{_SPACE}"
