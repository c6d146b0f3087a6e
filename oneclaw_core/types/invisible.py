"""Characters that make a text show something other than what it says, as parts of character classes for ``re``."""

from __future__ import annotations

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
