"""The core tool ``search_history``."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from typing import TYPE_CHECKING

from oneclaw_core import OneClawError, ToolResult, UsageError
from oneclaw_core.search import Passage, Source
from oneclaw_core.tools import one_line
from oneclaw_memory.document import sections
from oneclaw_memory.home_memory import memory_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneclaw_core import ToolContext
    from oneclaw_core.search import Findings, Hit
    from oneclaw_memory.file import MemoryFile


class Scope(StrEnum):
    """Sources to search."""

    ALL = "all"
    MEMORY = "memory"
    SESSIONS = "sessions"


_MOST_RESULTS = 50
_TITLE_CHARACTERS = 60
_SHOWN_CHARACTERS = 100


async def search_history(
    query: str,
    scope: str = "all",
    date_from: str | None = None,
    date_to: str | None = None,
    max_results: int = 10,
    *,
    context: ToolContext,
) -> ToolResult:
    """Search earlier conversations and the memory.

    Args:
        query: words.
        scope: ``all``, ``memory`` or ``sessions``, in any case.
        date_from: the first day, ``YYYY-MM-DD``, in the machine's time zone.
        date_to: the last day.
        max_results: how many at most; what is less than 1 or more than 50 is taken for that.
        context: of the call.
    """
    try:
        where = _scope(scope)
        since, until = _day("date_from", date_from), _day("date_to", date_to)
        searches_memory = where is not Scope.SESSIONS and since is None and until is None
        findings = await context.services.sessions.search(
            query,
            since=since,
            until=until,
            max_results=max(1, min(max_results, _MOST_RESULTS)),
            asking_sessions=_asking_sessions(context),
            passages=passages_of(memory_of(context.plugin)) if searches_memory else (),
            in_sessions=where is not Scope.MEMORY,
        )
    except (UsageError, ValueError) as error:
        return ToolResult.error("validation_error", f"Nothing was searched: {error}.")
    except OneClawError as error:
        return ToolResult.error("search_error", f"The search failed: {error}.")
    for hit in findings.hits:
        if hit.passage.session_id is not None:
            context.mark_private("earlier conversations")
            break
    for mark in findings.marks:
        if mark.is_outside:
            context.mark_outside(mark.origin)
    return ToolResult.success(_report(query, where, findings, is_dated=bool(date_from or date_to)))


def passages_of(memory: MemoryFile) -> Iterator[Passage]:
    """Return the entries of a memory as passages to search."""
    for section in sections(memory.read()):
        for entry in section.entries:
            yield Passage(source=Source.NOTE, text=entry, section=section.heading)


def _scope(text: str) -> Scope:
    wanted = text.strip().lower()
    if wanted in set(Scope):
        return Scope(wanted)
    if wanted == "daily_log":
        raise ValueError(
            "there are no daily logs here, for all messages are kept and searched: use the scope sessions, with dates"
        )
    raise ValueError(f"scope must be all, memory or sessions, not {text[:_SHOWN_CHARACTERS]!r}")


def _day(name: str, text: str | None) -> date | None:
    if text is None or not text.strip():
        return None
    try:
        day = date.fromisoformat(text.strip())
    except ValueError:
        day = None
    # fromisoformat takes other forms, too.
    if day is None or day.isoformat() != text.strip():
        raise ValueError(f"{name} must be a day as YYYY-MM-DD, not {text[:_SHOWN_CHARACTERS]!r}")
    return day


def _asking_sessions(context: ToolContext) -> Iterator[str]:
    """The sessions whose turns are under way on whose behalf the tool is called: this one and those that run it."""
    call: ToolContext | None = context
    while call is not None:
        if call.session_id is not None:
            yield call.session_id
        call = call.turn.call if call.turn is not None else None


def _report(query: str, scope: Scope, findings: Findings, *, is_dated: bool) -> str:
    shown = one_line(query, _SHOWN_CHARACTERS)
    note = "\n(The memory has no dates, so it was not searched.)" if is_dated and scope is not Scope.SESSIONS else ""
    if not findings.hits:
        return (
            f"Nothing found for {shown!r} (scope {scope}). Try fewer or other words, those that were used then, "
            f"without dates, or in another language.{note}"
        )
    count = len(findings.hits)
    head = f"{count} {'result' if count == 1 else 'results'} for {shown!r} (scope {scope}), best first"
    if not findings.has_all_words:
        head += "; nothing has all the words, these have some"
    entries = (f"{number}. {_entry(hit)}" for number, hit in enumerate(findings.hits, 1))
    return "\n\n".join([f"{head}:{note}", *entries])


def _entry(hit: Hit) -> str:
    passage = hit.passage
    facts = [f"[{hit.score:.2f}]"]
    if passage.source is Source.NOTE:
        facts.append(f"memory, {passage.section}" if passage.section else "memory")
    else:
        facts.append(f"{passage.source} by the {passage.role}" if passage.role else f"title of a {passage.source}")
        if passage.moment is not None:
            facts.append(f"on {passage.moment.astimezone().date().isoformat()}")
        name = passage.session_name or (passage.session_id or "")[:12]
        title = one_line(passage.session_title or "", _TITLE_CHARACTERS)
        facts.append(f"in session {name} ({title})" if title and title != name else f"in session {name}")
    return f"{' '.join(facts)}: {hit.excerpt}"
