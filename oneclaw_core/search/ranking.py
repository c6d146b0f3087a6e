"""The ranking by BM25, discounted by age, without near-duplicates, and the choice of excerpts.

How often the words are in everything stored is estimated by the search that finds the passages. The average length is a
constant: it makes no difference to the order that anybody would see.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from oneclaw_core.search.words import Query, folded, index_terms, is_unspaced, parts_with_places

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from oneclaw_core.types.provenance import Mark

EXCERPT_CHARACTERS = 500

_K1 = 1.2
_SMALLEST_SHARE = 1e-6
_B = 0.75
_AVERAGE_CHARACTERS = 400
# Half of what age can take away is gone after 69 days.
_DECAY_PER_DAY = 0.01
_AGELESS_SHARE = 0.25
_SECONDS_PER_DAY = 86_400
_SAME_SHARE = 0.8
# With some of the words only, what is much weaker than the best is chance.
_WEAKEST_SHARE = 0.25
_CONTEXT_CHARACTERS = 120
_PLACES_SEEN = 100


class Source(StrEnum):
    """The place of a passage."""

    NOTE = "note"
    MESSAGE = "message"
    SESSION = "session"


# Notes, such as entries of a memory, go before messages, and those before titles.
_WEIGHTS = {Source.NOTE: 1.0, Source.MESSAGE: 0.6, Source.SESSION: 0.5}


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A text that can be found.

    Attributes:
        source: where it stands.
        text: all of it.
        moment: when it was written, in UTC; ``None`` if no one knows.
        section: of a note: the heading above it.
        role: of a message: ``user`` or ``assistant``.
        sequence: of a message: its number.
        session_id: of a message or title: the session's.
        session_name: what the user calls the session.
        session_title: what it is about.
    """

    source: Source
    text: str
    moment: datetime | None = None
    section: str | None = None
    role: str | None = None
    sequence: int | None = None
    session_id: str | None = None
    session_name: str | None = None
    session_title: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that fits.

    Attributes:
        passage: the passage.
        score: how well, from 0 to 1.
        excerpt: what it says around the words looked for, on one line.
    """

    passage: Passage
    score: float
    excerpt: str


@dataclass(frozen=True, slots=True)
class Findings:
    """The result of a search.

    Attributes:
        hits: the best first.
        has_all_words: whether each hit has all words of the query; else nothing has, and these have some of them.
        marks: where the text of the sessions comes from that the hits are in.
    """

    hits: tuple[Hit, ...]
    has_all_words: bool = True
    marks: tuple[Mark, ...] = ()


def bm25(counts: Sequence[float], weights: Sequence[float], length: float) -> float:
    """Score one document by BM25 (Robertson and Zaragoza, 2009).

    Args:
        counts: by term of the query, how often the document has it.
        weights: by term, how rare it is.
        length: of the document, as a share of the average.
    """
    pairs = zip(counts, weights, strict=True)
    return sum(weight * bm25_share(count, length) for count, weight in pairs if count)


def bm25_share(count: float, length: float) -> float:
    """Return the score of one term of weight 1 in a document of a length that has it so often."""
    return count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * length))


def rank(
    query: Query,
    passages: Iterable[Passage],
    frequencies: Sequence[float],
    now: datetime,
    limit: int,
    *,
    wants_all: bool,
) -> list[Hit]:
    """Put passages in the order of how well they fit.

    Args:
        query: what is looked for.
        passages: where.
        frequencies: by unit of the query, the share of all messages that have it.
        now: for how old a passage is.
        limit: how many hits at most.
        wants_all: whether a passage has to have all units.
    """
    weights = [math.log(1 + 1 / max(share, _SMALLEST_SHARE)) for share in frequencies]
    highest = sum(weights) * (_K1 + 1)
    scored = []
    for passage in passages:
        counts = query.counts(passage.text)
        if all(counts) if wants_all else any(counts):
            length = len(passage.text) / _AVERAGE_CHARACTERS
            fitting = bm25(counts, weights, length) / highest if highest else 0.0
            scored.append((fitting * _WEIGHTS[passage.source] * _freshness(passage, now), passage))
    scored.sort(key=lambda each: (each[0], each[1].sequence or 0), reverse=True)
    if scored and not wants_all:
        weakest = scored[0][0] * _WEAKEST_SHARE
        scored = [each for each in scored if each[0] >= weakest]
    return _best(query, scored, limit)


def excerpt(text: str, query: Query) -> str:
    """Cut out of a text where it first has as much of a query as it has, on one line of 500 characters at most."""
    start = max(0, _densest(text, query) - _CONTEXT_CHARACTERS)
    # Room to spare for runs of white space.
    line = " ".join(text[start : start + 3 * EXCERPT_CHARACTERS].split())
    if start:
        # Cut between words, but not where there are no spaces.
        first, _, rest = line.partition(" ")
        line = "…" + (rest if rest and len(first) < _CONTEXT_CHARACTERS // 2 else line)
    is_cut = len(line) > EXCERPT_CHARACTERS or len(text) > start + 3 * EXCERPT_CHARACTERS
    return line[: EXCERPT_CHARACTERS - 1].rstrip() + "…" if is_cut else line


def _best(query: Query, scored: Iterable[tuple[float, Passage]], limit: int) -> list[Hit]:
    hits: list[Hit] = []
    seen: list[set[str]] = []
    sessions: set[str | None] = set()
    for score, passage in scored:
        if len(hits) == limit:
            break
        # A title adds nothing to what was said in the session.
        if passage.source is Source.SESSION and passage.session_id in sessions:
            continue
        shown = excerpt(passage.text, query)
        terms = index_terms(shown)
        if any(_are_alike(terms, other) for other in seen):
            continue
        hits.append(Hit(passage, score, shown))
        seen.append(terms)
        sessions.add(passage.session_id)
    return hits


def _freshness(passage: Passage, now: datetime) -> float:
    if passage.moment is None:
        return 1.0
    days = max(0.0, (now - passage.moment).total_seconds() / _SECONDS_PER_DAY)
    return _AGELESS_SHARE + (1 - _AGELESS_SHARE) * math.exp(-_DECAY_PER_DAY * days)


def _are_alike(some: set[str], others: set[str]) -> bool:
    return len(some & others) >= _SAME_SHARE * len(some | others)


def _densest(text: str, query: Query) -> int:
    """Find where the stretch of an excerpt's length begins that has most units of a query; of several, the first."""
    places = _places(text, query)
    best, most = 0, 0
    for number, (start, _) in enumerate(places):
        near = {unit for place, unit in places[number:] if place < start + EXCERPT_CHARACTERS - 2 * _CONTEXT_CHARACTERS}
        if len(near) > most:
            best, most = start, len(near)
    return best


def _places(text: str, query: Query) -> list[tuple[int, str]]:
    """Return the first positions at which units of a query begin."""
    words = {unit.text for unit in query.units if not unit.is_stretch}
    stretches = [unit.text for unit in query.units if unit.is_stretch]
    places: list[tuple[int, str]] = []
    for part, start, _ in parts_with_places(text):
        if is_unspaced(part):
            characters = folded(part) if stretches else ""
            found = [(characters.find(stretch), stretch) for stretch in stretches]
            # Folding keeps the places of characters nearly always, and an excerpt has room on both sides.
            places += sorted((start + min(at, len(part) - 1), stretch) for at, stretch in found if at >= 0)
        elif folded(part) in words:
            places.append((start, folded(part)))
        if len(places) >= _PLACES_SEEN:
            break
    return places
