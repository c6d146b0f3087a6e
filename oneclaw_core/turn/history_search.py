"""Searching the past: what was said in all sessions, their titles, and what is remembered."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING

from oneclaw_core.errors import UsageError
from oneclaw_core.memory.document import sections
from oneclaw_core.process.threads import run_in_thread
from oneclaw_core.search.query import parse_query
from oneclaw_core.search.ranking import Findings, Passage, Scope, Source, rank
from oneclaw_core.sessions.search import Found, SearchRange
from oneclaw_core.sessions.timestamps import to_stored

if TYPE_CHECKING:
    from oneclaw_core.memory.file import MemoryFile
    from oneclaw_core.search.query import Query
    from oneclaw_core.sessions.store import Store

MAX_RESULTS = 50
# Half of all that is searched: what the memory alone has, has no share of the messages.
_UNKNOWN_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class HistoryQuery:
    """What is looked for, and where.

    Attributes:
        text: the words.
        scope: where.
        since: the first day, of the user's days; ``None`` for no limit.
        until: the last day.
        max_results: how many hits at most.
        asking_sessions: see :class:`oneclaw_core.sessions.search.SearchRange`.

    Raises:
        UsageError: something does not fit.
    """

    text: str
    scope: Scope = Scope.ALL
    since: date | None = None
    until: date | None = None
    max_results: int = 10
    asking_sessions: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if not 1 <= self.max_results <= MAX_RESULTS:
            raise UsageError(f"max_results must be from 1 to {MAX_RESULTS}, not {self.max_results}")
        if self.since is not None and self.until is not None and self.since > self.until:
            raise UsageError(f"the first day, {self.since}, is after the last, {self.until}")

    @property
    def is_dated(self) -> bool:
        """Whether only what has a date can be found."""
        return self.since is not None or self.until is not None


async def search_history(store: Store, memory: MemoryFile | None, wanted: HistoryQuery) -> Findings:
    """Search for what has all words; if there is nothing, for what has some.

    Args:
        store: the sessions.
        memory: what is remembered, ``None`` not to search it.
        wanted: what is looked for.

    Raises:
        UsageError: the query holds nothing that could be found.
        OneClawError: the database or the memory cannot be read.
    """
    query = parse_query(wanted.text)
    if not query:
        raise UsageError("the query has no word to search for: write words, such as a name or a topic")
    remembered: tuple[Passage, ...] = ()
    if memory is not None and wanted.scope is not Scope.SESSIONS and not wanted.is_dated:
        remembered = _entries(memory)
    findings = await _search(store, query, remembered, wanted, wants_all=True)
    if not findings.hits:
        findings = await _search(store, query.loosened(), remembered, wanted, wants_all=False)
    return findings


async def _search(
    store: Store, query: Query, remembered: tuple[Passage, ...], wanted: HistoryQuery, *, wants_all: bool
) -> Findings:
    found = Found((), (_UNKNOWN_SHARE,) * len(query.units))
    if wanted.scope is not Scope.MEMORY:
        where = SearchRange(_beginning(wanted.since), _end(wanted.until), wanted.asking_sessions)
        found = await store.search(query, where, wants_all=wants_all)
    passages = (*remembered, *found.passages)
    now = datetime.now(UTC)
    hits = await run_in_thread(
        lambda: rank(query, passages, found.frequencies, now, wanted.max_results, wants_all=wants_all)
    )
    return Findings(tuple(hits), has_all_words=wants_all)


def _entries(memory: MemoryFile) -> tuple[Passage, ...]:
    return tuple(
        Passage(source=Source.MEMORY, text=entry, section=section.heading)
        for section in sections(memory.read())
        for entry in section.entries
    )


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
