"""Thoughts that a server leaves in the text of an answer, before the answer itself.

Servers without a parser for the model's thoughts (llama.cpp, LM Studio, older Ollama and vLLM) send them so. Where the
chat template has the opening mark in the prompt, only the closing one is sent.
"""

from __future__ import annotations

import re
from typing import NamedTuple

# By model family: most, some fine-tunes, Magistral, Kimi-VL, Seed-OSS, gpt-oss, Gemma 4.
_MARKS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "<reasoning>": "</reasoning>",
    "[THINK]": "[/THINK]",
    "\u25c1think\u25b7": "\u25c1/think\u25b7",
    "<seed:think>": "</seed:think>",
    "<|channel|>analysis<|message|>": "<|end|>",
    "<|channel>thought\n": "<channel|>",
}
# These begin the answer behind thoughts, and are no part of it.
_ANSWER_MARKS = (
    "<|start|>assistant<|channel|>final<|message|>",
    "<|channel|>final<|message|>",
)
_BEGINNINGS = (*_MARKS, *_ANSWER_MARKS)
# Without their opening mark; others are found in ordinary texts.
# The channels of gpt-oss, whose marks are special tokens, without these.
_CHANNELS = ("analysis", "assistantfinal")
_LONE_MARKS = (_CHANNELS[1], "</think>", "</thinking>", "[/THINK]", "\u25c1/think\u25b7", "</seed:think>")
_LONE = re.compile("|".join(map(re.escape, _LONE_MARKS)))
_OPENED = re.compile("|".join(map(re.escape, _MARKS)))
_QUOTES = "`'\"\u201c\u2018\u201d\u2019(*"


class Split(NamedTuple):
    """A piece of text, parted into thoughts and answer.

    Attributes:
        thoughts: of the model.
        text: of the answer.
        has_withdrawn: True if all text before was thoughts as well.
    """

    thoughts: str
    text: str
    has_withdrawn: bool = False


class ThinkBlocks:
    """Parts an answer that comes in pieces into the thoughts at its beginning and the answer.

    A block that begins later belongs to the answer: a model may write about such tags.

    Args:
        finds_lone_marks: True to take everything before a closing mark for thoughts that has no opening one.
    """

    def __init__(self, *, finds_lone_marks: bool = False) -> None:
        self._held_back = ""
        self._closing: str | None = None  # the mark that ends the block that has begun
        self._had_block = False
        self._has_answer_begun = False
        self._answer: list[str] | None = [] if finds_lone_marks else None  # while a lone mark may come

    @property
    def may_withdraw(self) -> bool:
        """True if the text so far may turn out to be thoughts."""
        return self._answer is not None

    def expect_no_thoughts(self) -> None:
        """Take the text as the answer from here on: the thoughts have come in a place of their own."""
        if any(each.strip() for each in self._answer or ()):
            self._answer = None

    def split(self, text: str) -> Split:
        """Take a piece and tell, as far as it is known, what it is."""
        text, self._held_back = self._held_back + text, ""
        if self._has_answer_begun:
            return self._split_answer(text)
        thoughts = ""
        while True:
            if self._closing is not None:
                inside, closing, text = text.partition(self._closing)
                if not closing:
                    kept = len(inside) - _length_of_begun(inside, self._closing)
                    self._held_back = inside[kept:]
                    return Split(thoughts + inside[:kept], "")
                thoughts += inside
                self._closing, self._had_block = None, True
            begun = text.lstrip()
            opening = next((each for each in _BEGINNINGS if begun.startswith(each)), None)
            if opening is None:
                if any(each.startswith(begun) for each in _BEGINNINGS):
                    self._held_back = text
                    return Split(thoughts, "")
                return self._begin_answer(thoughts, begun if self._had_block else text)
            text = begun.removeprefix(opening)
            if opening in _ANSWER_MARKS:
                return self._begin_answer(thoughts, text)
            self._closing = _MARKS[opening]

    def rest(self) -> Split:
        """Tell what is held back, now that nothing more comes."""
        text, self._held_back = self._held_back, ""
        if self._closing is not None:
            return Split(text, "")
        if self._has_answer_begun:
            return self._split_answer(text, is_end=True)
        return Split("", text.lstrip() if self._had_block else text)

    def _begin_answer(self, thoughts: str, text: str) -> Split:
        self._has_answer_begun = True
        if self._had_block:  # one that is marked well has no other
            self._answer = None
        answer = self._split_answer(text)
        return Split(thoughts + answer.thoughts, answer.text, answer.has_withdrawn)

    def _split_answer(self, text: str, *, is_end: bool = False) -> Split:
        if self._answer is None:
            return Split("", text)
        found = _LONE.search(text)
        if found is None:
            kept = len(text) if is_end else len(text) - max(_length_of_begun(text, each) for each in _LONE_MARKS)
            self._answer.append(text[:kept])
            self._held_back = text[kept:]
            return Split("", text[:kept])
        if found.end() == len(text) and not is_end:  # what follows decides
            self._answer.append(text[: found.start()])
            self._held_back = text[found.start() :]
            return Split("", text[: found.start()])
        before = "".join(self._answer) + text[: found.start()]
        after = text[found.end() :]
        if not _ends_thoughts(found[0], before, after):
            self._answer = None
            return Split("", text)
        self._answer = None
        self._has_answer_begun, self._had_block = False, True
        answer = self.split(after)
        return Split(text[: found.start()] + answer.thoughts, answer.text, has_withdrawn=True)


def _ends_thoughts(mark: str, before: str, after: str) -> bool:
    """Return True if a closing mark ends thoughts, and is not spoken of."""
    if mark == _CHANNELS[1]:
        return before.lstrip().startswith(_CHANNELS[0])
    if _OPENED.search(before) or before.count("```") % 2:
        return False
    if not before.strip() or before.endswith("\n") or after.startswith("\n"):
        return True
    if before[-1].isspace() or before[-1] in _QUOTES:
        return False
    return not after or after[0] not in _QUOTES


def _length_of_begun(text: str, mark: str) -> int:
    """Return the number of characters at the end of a text that may be the beginning of a mark."""
    return next((length for length in range(min(len(mark) - 1, len(text)), 0, -1) if text.endswith(mark[:length])), 0)
