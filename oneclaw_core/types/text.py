"""Text as it is stored and shown, and characters that make it show something other than what it says."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

# Parts of character classes for ``re``.
LINE_SEPARATORS = "\u2028\u2029"
DIRECTION_MARKS = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
INVISIBLE_CHARACTERS = (
    f"{LINE_SEPARATORS}{DIRECTION_MARKS}\u180e\u200b\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
)
"""Line separators, direction marks and what cannot be seen. The joiners U+200C and U+200D, which scripts and emoji are
written with, are not among them."""
BLANKS = (
    "\xa0\xad\u034f\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200a\u202f\u205f\u2800\u3000\u3164\ufe00-\ufe0f"
    "\uffa0\ufff0-\uffff\U000e0080-\U000e0fff"
)
"""Characters that look like a blank or like nothing, without the ordinary blank."""


# C0 without tab and newline, DEL, C1, and what cannot be seen: also letters of nothing and marks that no font has.
_CONTROL = re.compile(
    f"[\x00-\x08\x0b-\x1f\x7f-\x9f{INVISIBLE_CHARACTERS}\u3164\uffa0\U000e0080-\U000e00ff\U000e01f0-\U000e0fff]"
)


def printable(text: str) -> str:
    """Make a text from a model, a tool or a plugin harmless for terminals, pages and messengers.

    Newlines and tabs stay; carriage returns go. Control characters, escape sequences, invisible characters and those
    that change the order of reading become visible.
    """
    return _CONTROL.sub(lambda match: ascii(match[0])[1:-1], text.replace("\r", ""))


def printable_document(document: Any) -> Any:
    """Return JSON data with all its texts printable, names of members included."""
    if isinstance(document, str):
        return printable(document)
    if isinstance(document, dict):
        return {printable_document(name): printable_document(each) for name, each in document.items()}
    return [printable_document(each) for each in document] if isinstance(document, list | tuple) else document


def clean_text(text: str) -> str:
    """Replace what no database or wire format can hold: lone surrogates and NUL."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\ufffd")


def shown_part(text: str, shown_characters: int | None) -> str:
    """Cut a tool's output to what a model is shown, with a note that says how much is missing.

    Args:
        text: the whole output.
        shown_characters: the limit in characters, ``None`` for none.
    """
    if shown_characters is None or len(text) <= shown_characters:
        return text
    missing = len(text) - shown_characters
    return (
        f"{text[:shown_characters]}\n[cut here: {missing:,} of {len(text):,} characters are not shown; "
        "ask for a smaller part]"
    )


# json.dumps makes one for each call.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def compact_json(value: object) -> str:
    """Write JSON the one way it is written: same value in, same text out."""
    return _ENCODER.encode(value)


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
