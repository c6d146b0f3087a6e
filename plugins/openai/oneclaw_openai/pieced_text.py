"""A text whose pieces may repeat, replace or complete one another. No I/O.

Some servers send all of the text so far with each piece or at the end, in place of the new piece or beside it.
"""

from __future__ import annotations

# A model that repeats so much of its text, from the beginning and in one piece, is a server that sends it again.
_SURE_CHARACTERS = 16
_SURE_WORDS = 3


class PiecedText:
    """Puts a text together from pieces and returns what is new of each."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._pieces = 0
        self._grown: str | None = None  # the second piece, as long as it may hold the first
        self._repeats = False  # each piece is all of the text so far

    def add(self, piece: str, *, is_last: bool = False) -> str:
        """Take a piece and return what is new.

        Args:
            piece: what came.
            is_last: True if the model is done with it.
        """
        if not piece:
            return ""
        self._pieces += 1
        if self._grown is not None:
            grown = self._grown
            if not piece.startswith(grown):
                return self.rest() + self._add(piece)
            self._grown, self._repeats = None, True
            return self._replace(piece)
        whole = "".join(self._parts) if len(piece) >= self._length > 0 else ""
        if whole.strip() and piece.startswith(whole):
            is_whole_again = is_last and len(piece) == self._length and self._pieces > 2
            is_sure = self._length >= _SURE_CHARACTERS and len(set(whole.split())) >= _SURE_WORDS
            if self._repeats or is_whole_again or is_sure:
                return self._replace(piece)
            if self._pieces == 2 and len(piece) > self._length and not is_last:
                self._grown = piece  # the third piece shows what it is
                return ""
        return self._add(piece)

    def complete(self, whole: str) -> str:
        """Take the whole text, or all of it so far, and return what is new; nothing if it contradicts the pieces."""
        new = self.rest()
        return new + (self._replace(whole) if whole.startswith("".join(self._parts)) else "")

    def rest(self) -> str:
        """Return what was held back."""
        grown, self._grown = self._grown, None
        return self._add(grown) if grown is not None else ""

    def _add(self, piece: str) -> str:
        self._parts.append(piece)
        self._length += len(piece)
        return piece

    def _replace(self, whole: str) -> str:
        return self._add(whole[self._length :])
