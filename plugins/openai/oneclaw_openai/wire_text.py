"""Texts and ids as OpenAI's wire formats write and read them. No I/O."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re

# What OpenAI calls the levels of reasoning. Ollama, OpenRouter, vLLM and others took over the words.
EFFORTS = {"off": "none", "low": "low", "medium": "medium", "high": "high"}


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


def valid_id(given: str, accepted: re.Pattern[str], characters: int = 64) -> str:
    """Make an id acceptable, always the same for the same id; other services use other characters.

    Args:
        given: the id.
        accepted: what the service takes as one.
        characters: how long the ids are that stand for those it does not take, at most 64.
    """
    return (
        given
        if accepted.fullmatch(given)
        else hashlib.sha256(given.encode("utf-8", "replace")).hexdigest()[:characters]
    )
