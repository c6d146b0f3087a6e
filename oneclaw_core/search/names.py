"""Ranking of what has a name and a description, such as tools and methods of an API."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from oneclaw_core.search.index import TermIndex
from oneclaw_core.search.words import folded

if TYPE_CHECKING:
    from collections.abc import Iterable

# A word of a name says more than one of a description.
_NAME_WEIGHT = 3
_SHORTEST_STEM = 4
# Of a query: nothing that is asked for is longer, and what is sent by others may be.
_QUERY_CHARACTERS = 4_000
# Words of questions that say nothing of a tool, unlike "get" and "find".
_STOP_WORDS = frozenset(
    # One word a line would take a page.
    """
    a am an and are as at be but by can could did do does for from had has have how i if in into is it its me my
    of on or our please so that the their them there these this to us was we were what when where which who will
    with would you your
    """.split()  # noqa: SIM905
)
_WORDS = re.compile(r"[^\W_]+")
_CAMEL_CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class NameIndex:
    """Ranks entries by BM25 over the words of their names and descriptions.

    Words of names such as ``find_free_time`` and ``freeBusy`` are found one by one, and weigh more than others.

    Args:
        entries: the names of each, and what describes it.
    """

    def __init__(self, entries: Iterable[tuple[str, str]]) -> None:
        self._index = TermIndex([_counts(text, names) for names, text in entries])

    def scores(self, query: str) -> dict[int, float]:
        """Return the scores of all entries that have a word of the query, by their numbers.

        Args:
            query: words in any order.
        """
        return self._index.scores(_words_of_query(query))

    def find(self, query: str, limit: int) -> list[int]:
        """Return the numbers of the entries that fit best, the best first.

        Args:
            query: words in any order.
            limit: how many at most.
        """
        ranked = ((-score, number) for number, score in self.scores(query).items())
        return [number for _, number in heapq.nsmallest(limit, ranked)]


def _counts(text: str, names: str) -> Counter[str]:
    counts = Counter(_words(text))
    for word in set(_words(names)):
        counts[word] += _NAME_WEIGHT
    return counts


def _words(text: str) -> list[str]:
    """Return the words of a text; those of names are taken apart, and the commonest endings are left out."""
    return [_term(word) for word in _WORDS.findall(_CAMEL_CASE.sub(" ", text))]


def _words_of_query(query: str) -> list[str]:
    """Return the words of a query without those that say nothing, unless it has no others."""
    words = _WORDS.findall(_CAMEL_CASE.sub(" ", query[:_QUERY_CHARACTERS]))
    return [_term(word) for word in words if word.lower() not in _STOP_WORDS] or [_term(word) for word in words]


@lru_cache(maxsize=4_096)
def _term(word: str) -> str:
    word = folded(word)
    for ending in ("ing", "es", "ed", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM - 1:
            return word.removesuffix(ending).removesuffix("e")
    return word.removesuffix("e") if len(word) >= _SHORTEST_STEM else word
