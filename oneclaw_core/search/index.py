"""An index of documents in memory, ranked by BM25."""

from __future__ import annotations

import math
from array import array
from typing import TYPE_CHECKING

from oneclaw_core.search.ranking import bm25_norm, bm25_share

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class TermIndex:
    """Scores documents by the terms of a query.

    Args:
        documents: the terms of each, with how often it has them, 255 times at most.
    """

    def __init__(self, documents: Sequence[Mapping[str, int]]) -> None:
        self._size = len(documents)
        lengths = [sum(each.values()) for each in documents]
        average = sum(lengths) / max(self._size, 1)
        self._norms = [bm25_norm(length / average if average else 1.0) for length in lengths]
        # By term: the numbers of the documents that have it, and how often each does.
        self._places: dict[str, tuple[array[int], bytearray]] = {}
        for number, document in enumerate(documents):
            for term, count in document.items():
                found = self._places.get(term)
                if found is None:
                    found = self._places[term] = (array("I"), bytearray())
                found[0].append(number)
                found[1].append(min(count, 255))
        # Filled by the first query that has the term.
        self._shares: dict[str, array[float]] = {}

    def scores(self, terms: Iterable[str]) -> dict[int, float]:
        """Return the scores of all documents that have a term of the query, by their numbers.

        Args:
            terms: of the query; one that is there twice counts once.
        """
        scores: dict[int, float] = {}
        for term in dict.fromkeys(terms):
            if term in self._places:
                for number, share in zip(self._places[term][0], self._shares_of(term), strict=True):
                    scores[number] = scores.get(number, 0.0) + share
        return scores

    def _shares_of(self, term: str) -> array[float]:
        shares = self._shares.get(term)
        if shares is None:
            numbers, counts = self._places[term]
            weight = math.log(1 + (self._size - len(numbers) + 0.5) / (len(numbers) + 0.5))
            norms = self._norms
            found = (weight * bm25_share(count, norms[at]) for at, count in zip(numbers, counts, strict=True))
            shares = self._shares[term] = array("d", found)
        return shares
