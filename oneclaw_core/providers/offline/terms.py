"""Words: taking a text of any language apart, so that forms of one word meet."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

# Scripts that put no spaces between words: Thai to Burmese, kana, Han and Hangul.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_RUN = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+")
_UNSPACED_START = re.compile(rf"[{_UNSPACED}]")
_CAMEL_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_E_MAIL = re.compile(r"\be-mail", re.IGNORECASE)
_LONGEST_WORD = 64


def _without_marks(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize("NFKC", "".join(each for each in decomposed if unicodedata.category(each)[0] != "M"))


def normal_words(text: str) -> list[str]:
    """Split a text into words: case-folded, without accents, ``snake_case`` and ``camelCase`` taken apart.

    A camelCase word gives itself and its parts; a run of a script without spaces gives its pairs of characters.
    """
    if not text.isascii():
        text = _without_marks(text)
    words: list[str] = []
    for run in _RUN.findall(_E_MAIL.sub("email", text)):
        if len(run) > _LONGEST_WORD:
            continue
        if run.isascii():
            words.append(run.lower())
            if not run.islower() and not run.isdigit():
                parts = _CAMEL_PARTS.findall(run)
                if len(parts) > 1:
                    words.extend(part.lower() for part in parts)
        elif len(run) > 1 and _UNSPACED_START.match(run):
            words.extend(run[at : at + 2] for at in range(len(run) - 1))
        else:
            words.append(run.casefold())
    return words


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Take the commonest English endings off a word, so that its forms meet; other scripts stay as they are."""
    if len(word) < 4 or not (word.isascii() and word.isalpha()):
        return word
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith(("sses", "xes", "ches", "shes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending, shortest in (("ing", 6), ("ed", 5)):
        if word.endswith(ending) and len(word) >= shortest:
            word = word[: -len(ending)]
            if word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


def word_set(words: str) -> frozenset[str]:
    """A set of words, written down as one text."""
    return frozenset(words.split())


def stem_set(words: str) -> frozenset[str]:
    """The stems of words, written down as one text."""
    return frozenset(map(stem, words.split()))
