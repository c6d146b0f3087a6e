"""The terms by which texts are searched, and queries: words of any script, without case and accents.

Scripts that put no spaces between words (Chinese, Japanese, Thai and others), and Korean, which hangs particles on
them, are searched by single characters and pairs of neighbours.

The full-text index in users' databases was made by :func:`index_terms`, and what is deleted from it is found by it
again: a change of what it gives needs a migration that makes the index anew.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from oneclaw_core.types.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterator

# What is longer was not written as a query; its beginning is enough to search by.
_READ_CHARACTERS = 2_000
_MOST_UNITS = 16

# A longer word is no word, but an encoded file.
_WORD_CHARACTERS = 64
_WORDS_REMEMBERED = 1 << 10

# Thai, Lao, Burmese, Khmer; Korean; Japanese and Chinese.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
    "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"
    "\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3040-\u3096\u3099-\u309a\u309d-\u30fa\u30fc-\u312f\u31a0-\u31bf"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uffdc\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
# What \w lacks: accents written apart, vowel signs, joiners; the scripts of India whole, but for the danda, which ends
# sentences.
_MARKS = (
    "\u00ad\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u0900-\u0963\u0971-\u0df3\u0f18-\u0f39"
    "\u0f3e-\u0f84\u0f86-\u0fbc\u135d-\u135f\u180b-\u180d\u1ab0-\u1aff\u1dc0-\u1dff\u200c\u200d\u20d0-\u20f0\ufe20-\ufe2f"
)
_EMOJI = "\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001f3fa\U0001f400-\U0001faff"

_LETTERS = f"(?:[^\\W_{_UNSPACED}]+|[{_MARKS}]+)+"
_PART = re.compile(f"{_LETTERS}(?:['\u2019]{_LETTERS})*|[{_UNSPACED}]+|[{_EMOJI}]")
_STRETCH = re.compile(f"[{_UNSPACED}]")
# Most texts are ASCII, and cut much faster so.
_ASCII_GAPS = {code: " " for code in range(128) if not chr(code).isalnum() and chr(code) != "'"}
_APOSTROPHES = re.compile("['\u2019]")
_JOINERS = re.compile("[\u00ad\u0640\u200c\u200d]")
_ASCII_SIGNS = re.compile(r"[\x00-\x7f](?<![0-9A-Za-z])")
# Letters that people write without their stroke, and that Unicode does not take apart.
_STROKES = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "\u0131": "i", "æ": "ae", "œ": "oe", "þ": "th"}
)
# The combining classes of accents: above and below letters, Hebrew points, Arabic vowels. Other marks make other
# letters: the vowel signs of India, the voicing of kana, the tones of Thai.
_LOWEST_ACCENT_CLASS = 200
_POINT_CLASSES = frozenset(range(10, 37))
_SHORTEST_PLURAL = 4


def parts(text: str) -> list[str]:
    """Cut a text into words, stretches of characters that are written without spaces, and emoji."""
    return text.translate(_ASCII_GAPS).split() if text.isascii() else _PART.findall(text)


def parts_with_places(text: str) -> Iterator[tuple[str, int, int]]:
    """The same, each part with where it begins and ends in the text."""
    return ((match[0], match.start(), match.end()) for match in _PART.finditer(text))


def is_unspaced(part: str) -> bool:
    """Return True if a part is a stretch of characters that may hold several words."""
    return not part.isascii() and _STRETCH.match(part) is not None


def folded(part: str) -> str:
    """Give a part the form that it is compared in: no case, no accents, no plural s; empty if nothing is left.

    Args:
        part: as :func:`parts` gives it.
    """
    if not part.isalpha() and not is_unspaced(part):
        # Of "user's" and "l'été", the word.
        part = max(_APOSTROPHES.split(part), key=len)
    part = part[:_WORD_CHARACTERS] if not is_unspaced(part) else part
    if part.isascii():
        return _singular(part.lower())
    # A long stretch does not come again.
    return _without_accents(part) if len(part) <= _WORD_CHARACTERS else _without_accents.__wrapped__(part)


@lru_cache(_WORDS_REMEMBERED)
def _without_accents(part: str) -> str:
    decomposed = unicodedata.normalize("NFKD", part).casefold()
    letters = "".join(each for each in unicodedata.normalize("NFKD", decomposed) if not _is_accent(each))
    letters = _JOINERS.sub("", letters).translate(_STROKES)
    return _singular(_ASCII_SIGNS.sub("", unicodedata.normalize("NFC", letters)))


def index_terms(text: str) -> set[str]:
    """Find the terms that a text is found by; none has a space or a sign of ASCII in it."""
    terms: set[str] = set()
    for part in set(parts(text)):
        if is_unspaced(part):
            characters = folded(part)
            terms.update(characters)
            terms.update(pairs(characters))
        else:
            terms.add(folded(part))
    terms.discard("")
    return terms


def pairs(characters: str) -> list[str]:
    """The pairs of neighbours in a stretch of characters."""
    return [characters[at : at + 2] for at in range(len(characters) - 1)]


def _is_accent(character: str) -> bool:
    combining_class = unicodedata.combining(character)
    return combining_class >= _LOWEST_ACCENT_CLASS or combining_class in _POINT_CLASSES


def _singular(word: str) -> str:
    """Drop a plural's s, after Harman's S stemmer; both sides of a comparison go through it, so no word is lost."""
    if len(word) < _SHORTEST_PLURAL or not word.endswith("s") or not word.isascii() or word.endswith(("ss", "us")):
        return word
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    return word[:-1]


@dataclass(frozen=True, slots=True)
class Unit:
    """One thing that a query looks for.

    Attributes:
        text: a word, an emoji, or a stretch of a script without spaces, folded.
        terms: the terms of the index that all texts with the unit have.
    """

    text: str
    terms: tuple[str, ...]

    @property
    def is_stretch(self) -> bool:
        """True if it may stand within a longer stretch of characters."""
        return is_unspaced(self.text)


@dataclass(frozen=True, slots=True)
class Query:
    """The terms to search for; falsy if there are none.

    Attributes:
        units: each once, in their order.
    """

    units: tuple[Unit, ...]

    def __bool__(self) -> bool:
        return bool(self.units)

    def loosened(self) -> Query:
        """The same with stretches taken apart into pairs: no one knows which of them are words."""
        units = []
        for unit in self.units:
            if unit.is_stretch and len(unit.text) > 1:
                units += [Unit(pair, (pair,)) for pair in pairs(unit.text)]
            else:
                units.append(unit)
        return Query(tuple(dict.fromkeys(units))[:_MOST_UNITS])

    def counts(self, text: str) -> list[int]:
        """Count how often a text has each unit."""
        words = Counter(map(folded, parts(text)))
        stretches = [(word, count) for word, count in words.items() if is_unspaced(word)]
        return [
            sum(word.count(unit.text) * count for word, count in stretches) if unit.is_stretch else words[unit.text]
            for unit in self.units
        ]


def parse_query(text: str) -> Query:
    """Read what somebody wrote as a query; whatever it is, it is one."""
    units: dict[str, Unit] = {}
    for part in parts(clean_text(text)[:_READ_CHARACTERS]):
        unit = folded(part)
        if unit:
            is_long = is_unspaced(unit) and len(unit) > 1
            units.setdefault(unit, Unit(unit, tuple(dict.fromkeys(pairs(unit))) if is_long else (unit,)))
    return Query(tuple(units.values())[:_MOST_UNITS])
