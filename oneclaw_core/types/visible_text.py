"""Show everything in a text of a question: nothing in it may hide or reorder a part of it."""

from __future__ import annotations

import re

# Letters and symbols to Unicode, and nothing to see; and the sign that a space is shown as.
_SPACE = "\u2423"
_UNSEEN = frozenset(f"\u115f\u1160\u2800\u3164\uffa0{_SPACE}")
# The indentation of a line is seen well enough.
_SPACES = re.compile(r"(?<=\S) {2,}| +$| {9,}")
_MOST_SPACES = 8


def visible_lines(text: str) -> str:
    """Make everything in a question visible that could hide or reorder a part of it; the lines stay."""
    return "\n".join(visible_line(line) for line in text.replace("\r\n", "\n").split("\n"))


def visible_line(line: str) -> str:
    """Make invisible characters and repeated spaces visible."""
    shown = "".join(each if each.isprintable() and each not in _UNSEEN else ascii(each)[1:-1] for each in line)
    return _SPACES.sub(_counted_spaces, shown)


def _counted_spaces(match: re.Match[str]) -> str:
    count = len(match[0])
    return _SPACE * count if count <= _MOST_SPACES else f"{_SPACE}[{count:,} spaces]{_SPACE}"
