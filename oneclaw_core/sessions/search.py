"""Find messages and sessions by their words.

Hits are read from the messages and ranked outside the database. That keeps a search fast for a word in half a million
messages: only the newest matches are ranked.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from oneclaw_core.search.ranking import Passage, Source
from oneclaw_core.sessions.backend import Connection, SearchIndex, to_datetime, value_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from oneclaw_core.search.words import Query

_CANDIDATES = 400
_LOOSE_CANDIDATES = 80
_SESSION_CANDIDATES = 100
_SAMPLE = 200
_RAREST_UNITS = 4
# A pair of words is looked for only if one of them is in so few messages that this is quick.
_RARE_MESSAGES = 20_000
# The year 10000: what is later is no moment that could be shown.
_END_OF_TIME = 253_402_300_800_000_000

_TURN_START = """
    SELECT sequence FROM messages WHERE session_id = :session AND type = 'user' ORDER BY sequence DESC LIMIT 1"""


@dataclass(frozen=True, slots=True)
class SearchRange:
    """The place to search.

    Attributes:
        since: from this moment on, as it is stored; ``None`` for no limit.
        until: before this moment.
        asking_sessions: whose turn under way, and whose title, are not to be found.
    """

    since: int | None = None
    until: int | None = None
    asking_sessions: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Found:
    """The candidates that a search ranks in full.

    Attributes:
        passages: messages and titles that may fit.
        frequencies: by unit of the query, the share of all messages that have it, estimated.
    """

    passages: tuple[Passage, ...]
    frequencies: tuple[float, ...]


def find(connection: Connection, query: Query, where: SearchRange, *, wants_all: bool) -> Found:
    """Find passages that may match a query, for :func:`oneclaw_core.search.ranking.rank`.

    Args:
        query: not an empty one.
        where: in what part of what is stored.
        wants_all: look for what has all units of the query, else for what has some.
    """
    index = connection.search_index
    index.prepare_search()
    newest = value_of(connection.execute(index.newest))
    frequencies = tuple(_share(index, unit.terms, newest) for unit in query.units)
    if wants_all:
        searches = [(index.all_of(term for unit in query.units for term in unit.terms), _CANDIDATES)]
    else:
        searches = [(each, _LOOSE_CANDIDATES) for each in _loose_searches(index, query, frequencies, newest)]
    limits = _moments(where)
    turns = {each: _turn_start(connection, each) for each in where.asking_sessions}
    passages: dict[int, Passage] = {}
    for expression, limit in searches:
        for passage in _messages(index, {"expression": expression, "limit": limit, **limits}, turns):
            passages.setdefault(passage.sequence or 0, passage)
    return Found((*passages.values(), *_sessions(index, query, where, wants_all=wants_all)), frequencies)


def _loose_searches(index: SearchIndex, query: Query, frequencies: Sequence[float], newest: int) -> list[str]:
    """Search for each unit, and for pairs of the rarest: texts with both may be older than the newest with one."""
    by_rarity = sorted(zip(frequencies, query.units, strict=True), key=lambda each: each[0])
    searches = [
        index.all_of((*unit.terms, *other.terms))
        for (share, unit), (_, other) in combinations(by_rarity[:_RAREST_UNITS], 2)
        if share * newest <= _RARE_MESSAGES
    ]
    return searches + [index.all_of(unit.terms) for _, unit in by_rarity]


def _messages(index: SearchIndex, parameters: Mapping[str, Any], turns: Mapping[str, int]) -> list[Passage]:
    """Find messages, of each session before the number in ``turns``."""
    found: list[Passage] = []
    characters = 0
    rows = index.connection.execute(index.find_messages, {"characters": index.INDEXED_CHARACTERS, **parameters})
    for sequence, role, content, created_at, session_id, name, title in rows:
        if sequence >= turns.get(session_id, _END_OF_TIME):
            continue
        characters += len(content)
        if found and characters > index.CHARACTERS_READ:
            break
        found.append(
            Passage(
                source=Source.MESSAGE,
                text=content,
                moment=to_datetime(created_at),
                role=role,
                sequence=sequence,
                session_id=session_id,
                session_name=name,
                session_title=title,
            )
        )
    rows.close()
    return found


def _sessions(index: SearchIndex, query: Query, where: SearchRange, *, wants_all: bool) -> list[Passage]:
    terms = [term for unit in query.units for term in unit.terms]
    rows = index.connection.execute(
        index.find_sessions,
        {
            "expression": index.all_of(terms) if wants_all else index.any_of(terms),
            **_moments(where),
            "limit": _SESSION_CANDIDATES,
        },
    )
    return [
        Passage(
            source=Source.SESSION,
            text=index.heading(name, title),
            moment=to_datetime(created_at),
            session_id=session_id,
            session_name=name,
            session_title=title,
        )
        for session_id, name, title, created_at in rows
        if session_id not in where.asking_sessions
    ]


def _moments(where: SearchRange) -> dict[str, int]:
    return {"since": where.since or 0, "until": _END_OF_TIME if where.until is None else where.until}


def _turn_start(connection: Connection, session_id: str) -> int:
    """Find the number of the message that began a session's last turn."""
    return int(value_of(connection.execute(_TURN_START, {"session": session_id})) or _END_OF_TIME)


def _share(index: SearchIndex, terms: Iterable[str], newest: int) -> float:
    """Estimate what share of the messages have some terms, by that of the rarest among the newest messages."""
    return min(_share_of_term(index, index.all_of([term]), newest) for term in terms)


def _share_of_term(index: SearchIndex, expression: str, newest: int) -> float:
    parameters = {"expression": expression, "skipped": _SAMPLE - 1}
    nth = value_of(index.connection.execute(index.nth_newest, parameters))
    if nth is not None:
        return float(min(1.0, _SAMPLE / (newest - nth + 1)))
    return int(value_of(index.connection.execute(index.count, parameters))) / max(newest, 1)
