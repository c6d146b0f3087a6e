"""The text of requests and answers, as all wire formats write and read it. No I/O."""

from __future__ import annotations

import json
from dataclasses import dataclass, field


def compact_json(value: object) -> str:
    """Write JSON the one way it is written: same value in, same text out."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def join_surrogates(text: str) -> str:
    """Join the halves of characters that JSON escapes write in two, and replace single ones."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@dataclass(slots=True)
class TextStream:
    """A text that comes in pieces.

    Some servers split the two halves of a character outside the basic plane between chunks.

    Attributes:
        pieces: what could be shown so far.
        held_back: the first half of a character whose second has not come yet.
    """

    pieces: list[str] = field(default_factory=list)
    held_back: str = ""

    def add(self, text: str) -> str:
        """Take a piece and give what can be shown of it now."""
        text = self.held_back + text
        self.held_back = text[-1] if text and "\ud800" <= text[-1] <= "\udbff" else ""
        text = join_surrogates(text[:-1] if self.held_back else text)
        if text:
            self.pieces.append(text)
        return text

    def whole(self) -> str:
        """The whole text."""
        return "".join(self.pieces) + join_surrogates(self.held_back)
