"""Search of everything said in all sessions, of their titles, and of passages of a plugin beside them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING

from oneclaw_core.errors import UsageError
from oneclaw_core.process.threads import run_in_thread
from oneclaw_core.search.query import parse_query
from oneclaw_core.search.ranking import Findings, Passage, rank
from oneclaw_core.sessions.search import Found, SearchRange
from oneclaw_core.sessions.timestamps import to_stored

if TYPE_CHECKING:
    from oneclaw_core.search.query import Query
    from oneclaw_core.sessions.store import Store

MAX_RESULTS = 50
# Half of all that is searched: the passages of a plugin have no share of the messages.
_UNKNOWN_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class SessionQuery:
    """A search.

    Attributes:
        text: the words.
        since: the first day, of the user's days; ``None`` for no limit.
        until: the last day.
        max_results: how many hits at most.
        asking_sessions: see :class:`oneclaw_core.sessions.search.SearchRange`.
        passages: further texts to search and rank, whatever the dates.
        in_sessions: False to search these passages only.

    Raises:
        UsageError: a value is invalid.
    """

    text: str
    since: date | None = None
    until: date | None = None
    max_results: int = 10
    asking_sessions: frozenset[str] = frozenset()
    passages: tuple[Passage, ...] = ()
    in_sessions: bool = True

    def __post_init__(self) -> None:
        if not 1 <= self.max_results <= MAX_RESULTS:
            raise UsageError(f"max_results must be from 1 to {MAX_RESULTS}, not {self.max_results}")
        if self.since is not None and self.until is not None and self.since > self.until:
            raise UsageError(f"the first day, {self.since}, is after the last, {self.until}")


async def search_sessions(store: Store, wanted: SessionQuery) -> Findings:
    """Search for texts with all words; if there is none, for texts with some.

    Args:
        store: the sessions.
        wanted: the search.

    Raises:
        UsageError: the query has no word to search for.
        StoreError: the database cannot be searched.
    """
    query = parse_query(wanted.text)
    if not query:
        raise UsageError("the query has no word to search for: write words, such as a name or a topic")
    findings = await _search(store, query, wanted, wants_all=True)
    if not findings.hits:
        findings = await _search(store, query.loosened(), wanted, wants_all=False)
    return findings


async def _search(store: Store, query: Query, wanted: SessionQuery, *, wants_all: bool) -> Findings:
    found = Found((), (_UNKNOWN_SHARE,) * len(query.units))
    if wanted.in_sessions:
        where = SearchRange(_beginning(wanted.since), _end(wanted.until), wanted.asking_sessions)
        found = await store.search(query, where, wants_all=wants_all)
    passages = (*wanted.passages, *found.passages)
    now = datetime.now(UTC)
    hits = await run_in_thread(
        lambda: rank(query, passages, found.frequencies, now, wanted.max_results, wants_all=wants_all)
    )
    return Findings(tuple(hits), has_all_words=wants_all)


def _beginning(day: date | None) -> int | None:
    """When a day of the user's begins, as it is stored."""
    if day is None:
        return None
    try:
        return to_stored(datetime.combine(day, time.min).astimezone())
    except (OverflowError, ValueError, OSError):
        # Some zone's first or last day of the calendar.
        return to_stored(datetime.combine(day, time.min, UTC))


def _end(day: date | None) -> int | None:
    """When a day of the user's ends."""
    return None if day is None or day == date.max else _beginning(day + timedelta(days=1))
