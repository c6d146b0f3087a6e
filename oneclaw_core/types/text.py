"""Text as it is stored and shown, and characters that make it show something other than what it says."""

from __future__ import annotations

import json
import re
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
