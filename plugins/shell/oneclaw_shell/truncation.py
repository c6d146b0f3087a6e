"""The beginning and the end of an output, however long it is."""

from __future__ import annotations

import codecs


class TruncatedOutput:
    """Takes an output piece by piece, and keeps as much of it as may be shown.

    Args:
        limit: how many characters to keep at most.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        # What is not UTF-8 is shown as such, and stops nothing.
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._beginning = ""
        self._end = ""
        self._character_count = 0
        self._line_count = 0

    def feed(self, piece: bytes) -> None:
        """Take the next bytes."""
        self._add(self._decoder.decode(piece))

    def finish(self) -> None:
        """Take what is left of a character that was never completed."""
        self._add(self._decoder.decode(b"", final=True))

    def __len__(self) -> int:
        """Return the length of :meth:`text` without a smaller limit, not counting a note about a gap."""
        return min(self._character_count, self._limit)

    def text(self, limit: int | None = None) -> str:
        """Give the output, with a note where something is left out of its middle.

        Args:
            limit: how many characters to give at most, if fewer than are kept. The cuts are made between lines,
                unless these are too long.
        """
        limit = self._limit if limit is None else min(limit, self._limit)
        kept = self._beginning + self._end
        if self._character_count <= limit:
            return kept
        beginning = _to_last_line_end(kept[: (limit + 1) // 2])
        end = _from_line_start(kept, len(kept) - limit // 2)
        shown_count = len(beginning) + len(end)
        lines = self._line_count - beginning.count("\n") - end.count("\n")
        note = (
            f"[left out here: {self._character_count - shown_count:,} of {self._character_count:,} characters, "
            f"{lines:,} line {'end' if lines == 1 else 'ends'}; to see them, write the output to a file or filter it]"
        )
        return f"{_with_line_end(beginning)}{note}\n{end}"

    def _add(self, text: str) -> None:
        self._character_count += len(text)
        self._line_count += text.count("\n")
        room = self._limit - len(self._beginning)
        if room > 0:
            self._beginning += text[:room]
            text = text[room:]
        if text:
            self._end = (self._end + text)[-self._limit :]


def _to_last_line_end(text: str) -> str:
    place = text.rfind("\n") + 1
    return text[:place] if place > len(text) // 2 else text


def _from_line_start(text: str, start: int) -> str:
    place = text.find("\n", start - 1) + 1
    return text[place:] if 0 < place < (start + len(text)) // 2 else text[start:]


def _with_line_end(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"
