"""Thoughts that a server leaves in the text of an answer, as ``<think>...</think>`` before the answer itself.

Servers without a parser for the model's thoughts (llama.cpp, LM Studio, older Ollama and vLLM) send them so.
"""

from __future__ import annotations

_OPENING = ("<think>", "<thinking>")


class ThinkBlocks:
    """Parts an answer that comes in pieces into the thoughts at its beginning and the answer.

    A block that begins later belongs to the answer: a model may write about such tags.
    """

    def __init__(self) -> None:
        self._held_back = ""
        self._closing: str | None = None  # the tag that ends the block that has begun
        self._had_block = False
        self._has_answer_begun = False

    def split(self, text: str) -> tuple[str, str]:
        """Take a piece.

        Args:
            text: what came now.

        Returns:
            Thoughts and answer, as far as it is known which is which.
        """
        if self._has_answer_begun:
            return "", text
        text, self._held_back = self._held_back + text, ""
        thoughts = ""
        while True:
            if self._closing is not None:
                inside, closing, text = text.partition(self._closing)
                if not closing:
                    kept = len(inside) - _length_of_begun(inside, self._closing)
                    self._held_back = inside[kept:]
                    return thoughts + inside[:kept], ""
                thoughts += inside
                self._closing, self._had_block = None, True
            begun = text.lstrip()
            opening = next((each for each in _OPENING if begun.startswith(each)), None)
            if opening is None:
                if any(each.startswith(begun) for each in _OPENING):
                    self._held_back = text
                    return thoughts, ""
                self._has_answer_begun = True
                return thoughts, begun if self._had_block else text
            self._closing = opening.replace("<", "</")
            text = begun.removeprefix(opening)

    def rest(self) -> tuple[str, str]:
        """Give thoughts and answer of what was held back, now that nothing more comes."""
        text, self._held_back = self._held_back, ""
        if self._closing is not None:
            return text, ""
        return "", text.lstrip() if self._had_block else text


def _length_of_begun(text: str, tag: str) -> int:
    """Return the number of characters at the end of a text that may be the beginning of a tag."""
    return next((length for length in range(len(tag) - 1, 0, -1) if text.endswith(tag[:length])), 0)
