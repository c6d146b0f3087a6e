"""Which documents fit a query: BM25 (Robertson and Zaragoza, 2009) over stemmed words."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# The usual values; length matters less here than in prose, because long descriptions are good ones.
_SATURATION = 1.2
_LENGTH_WEIGHT = 0.3


@dataclass(frozen=True, slots=True)
class Document:
    """Something that can be found.

    Attributes:
        key: what the finder gets back.
        terms: how much each term counts in it.
    """

    key: str
    terms: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """One word of what is looked for.

    Attributes:
        term: the stemmed word.
        weight: how much a document gains by having it.
        alternatives: terms that may stand for it, with what part of the weight they earn.
        is_telling: whether it can speak for a document on its own.
        weak_terms: alternatives that cannot, even where it can.
    """

    term: str
    weight: float = 1.0
    alternatives: tuple[tuple[str, float], ...] = ()
    is_telling: bool = True
    weak_terms: frozenset[str] = frozenset()


@dataclass(slots=True)
class Score:
    """How well one document fits.

    Attributes:
        total: the BM25 sum.
        weight: the weights of the query's terms that were found.
        is_telling: whether a telling term was found in a place that counts.
    """

    total: float = 0.0
    weight: float = 0.0
    is_telling: bool = False


class Corpus:
    """An index of documents, made once and asked many times."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self.documents: Sequence[Document] = tuple(documents)
        self.length = sum(sum(document.terms.values()) for document in self.documents)
        average = self.length / len(self.documents) if self.documents else 1.0
        self._postings: dict[str, list[tuple[str, float, float]]] = defaultdict(list)
        for document in self.documents:
            relative_length = sum(document.terms.values()) / (average or 1.0)
            norm = _SATURATION * (1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * relative_length)
            for term, frequency in document.terms.items():
                gain = frequency * (_SATURATION + 1) / (frequency + norm)
                self._postings[term].append((document.key, gain, frequency))
        self._by_prefix: dict[str, list[str]] = defaultdict(list)
        for term in self._postings:
            if len(term) >= 4:
                self._by_prefix[term[:4]].append(term)

    def postings(self, term: str) -> Sequence[tuple[str, float, float]]:
        """The documents with a term: key, BM25 gain and plain frequency."""
        return self._postings.get(term, ())

    def similar(self, term: str) -> list[str]:
        """Terms that are probably another form of a word, or a part of a compound."""
        if len(term) < 4 or term.isdigit():
            return []
        found = [
            other
            for other in self._by_prefix.get(term[:4], ())
            if other != term and _common_prefix(term, other) >= max(4, 0.7 * max(len(term), len(other)))
        ]
        shortest = 5 if term.isascii() else 4
        for cut in range(shortest, len(term)):
            found.extend(part for part in (term[:cut], term[-cut:]) if part in self._postings)
        return found


def _common_prefix(one: str, other: str) -> int:
    length = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        length += 1
    return length


def rank(query: Sequence[QueryTerm], corpora: Sequence[Corpus], telling_frequency: float = 0.5) -> dict[str, Score]:
    """Score all documents that share a term with a query (BM25).

    Args:
        query: what is looked for; a term that no document has is tried in its similar forms.
        corpora: the documents, their statistics taken together; keys are unique over all of them.
        telling_frequency: how often a document must have a telling term for it to count as such.

    Returns:
        The scores by key, only of documents that share a term, in a fixed order.
    """
    total_documents = sum(len(corpus.documents) for corpus in corpora)
    scores: dict[str, Score] = {}
    for wanted in query:
        choices = [(wanted.term, 1.0), *wanted.alternatives]
        if not any(corpus.postings(term) for term, _ in choices for corpus in corpora):
            choices = [(other, 0.6) for corpus in corpora for other in corpus.similar(wanted.term)]
        best: dict[str, tuple[float, float]] = {}
        told_by: set[str] = set()
        for term, share in choices:
            postings = [posting for corpus in corpora for posting in corpus.postings(term)]
            rarity = math.log(1 + (total_documents - len(postings) + 0.5) / (len(postings) + 0.5))
            is_strong = wanted.is_telling and term not in wanted.weak_terms
            for key, gain, frequency in postings:
                value = wanted.weight * share * rarity * gain
                if is_strong and frequency >= telling_frequency:
                    told_by.add(key)
                if key not in best or value > best[key][0]:
                    best[key] = (value, wanted.weight * share)
        for key, (value, weight) in best.items():
            score = scores.setdefault(key, Score())
            score.total += value
            score.weight += weight
            score.is_telling |= key in told_by
    return scores
