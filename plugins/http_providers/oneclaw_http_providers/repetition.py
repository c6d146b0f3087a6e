"""Find an answer that repeats itself without end. No I/O.

A model may fall into a cycle of a word, a sentence or a few paragraphs, and pay for them until a limit. Ordinary texts
repeat as well: rows of tables, drawings of characters, zeros of a matrix, blanks in code. So a cycle counts only if
it is long, and of words or much longer than such texts are.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from oneclaw_core.providers import ModelResponse, ReasoningDelta, StopReason, TextDelta, TextWithdrawn

if TYPE_CHECKING:
    from oneclaw_core import TokenUsage
    from oneclaw_core.providers import ModelEvent

LONGEST_CYCLE = 4_000
# Of the characters in a cycle: of words, and of other signs.
WORDS_CHARACTERS = 12_000
SIGNS_CHARACTERS = 64_000
FEWEST_CYCLES = 4
_CHECK_CHARACTERS = 2_000
_NEEDLE_CHARACTERS = 64
_WORD = re.compile(r"[^\W\d_]{2,}")


class AnswerWatch:
    """Watches the text and the thoughts of an answer."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._of_text = RepetitionGuard()
        self._of_thoughts = RepetitionGuard()

    def repeats(self, event: ModelEvent) -> bool:
        """Take an event; return True if the answer has been repeating itself for too long."""
        if isinstance(event, TextDelta):
            self._text.append(event.text)
            return self._of_text.repeats(event.text)
        if isinstance(event, TextWithdrawn):
            self._text.clear()
        return isinstance(event, ReasoningDelta) and self._of_thoughts.repeats(event.text)

    def stopped(self, usage: TokenUsage) -> ModelResponse:
        """Return the response of an answer that was stopped, with the text that was shown."""
        return ModelResponse(
            text="".join(self._text),
            usage=replace(usage, is_at_least=True),
            stop_reason=StopReason.REPETITION,
            finish_reason=str(StopReason.REPETITION),
        )


class RepetitionGuard:
    """Watches a text that comes in pieces."""

    def __init__(self) -> None:
        self._tail = ""
        self._new: list[str] = []
        self._length = 0

    def repeats(self, piece: str) -> bool:
        """Take a piece; return True if the text has been repeating itself for too long."""
        self._new.append(piece)
        self._length += len(piece)
        if self._length < _CHECK_CHARACTERS:
            return False
        self._tail = (self._tail + "".join(self._new))[-(SIGNS_CHARACTERS + LONGEST_CYCLE) :]
        self._new.clear()
        self._length = 0
        return _is_in_cycle(self._tail)


def _is_in_cycle(text: str) -> bool:
    """Return True if a text ends in many repetitions of one part."""
    if len(text) < WORDS_CHARACTERS:
        return False
    needle = text[-_NEEDLE_CHARACTERS:]
    place = text.rfind(needle, max(0, len(text) - _NEEDLE_CHARACTERS - LONGEST_CYCLE), len(text) - 1)
    if place < 0:
        return False
    length = len(text) - _NEEDLE_CHARACTERS - place
    needed = WORDS_CHARACTERS if _WORD.search(text[-length:] * 2) else SIGNS_CHARACTERS
    needed = max(needed, FEWEST_CYCLES * length)
    # Each character is the same as the one a cycle before it.
    return len(text) >= needed and text[-needed + length :] == text[-needed:-length]
