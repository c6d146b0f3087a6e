"""`oneclaw sessions search`: find what was said in any session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from oneclaw_core.cli import (
    json_option,
    print_listing,
    printable_line,
    printable_name,
    timestamp,
    warn,
    with_store,
)
from oneclaw_core.sessions import Sessions

if TYPE_CHECKING:
    from datetime import datetime

    from oneclaw_core.search import Hit

_EXCERPT_CHARACTERS = 200
_DAY = click.DateTime(["%Y-%m-%d"])


@click.command("search")
@click.argument("query")
@click.option("--from", "since", type=_DAY, metavar="DAY", help="Only from this day on, as YYYY-MM-DD.")
@click.option("--to", "until", type=_DAY, metavar="DAY", help="Only until this day, inclusive.")
@click.option("--limit", type=click.IntRange(1, 50), default=10, show_default=True, help="At most this many, the best.")
@json_option
def search_sessions(query: str, since: datetime | None, until: datetime | None, limit: int, as_json: bool) -> None:
    """Search all sessions for the words of QUERY.

    It searches messages and titles for all words; if nothing has all of them, for any. Case and accents make no
    difference.
    """
    first, last = (None if each is None else each.date() for each in (since, until))
    findings = with_store(
        lambda store: Sessions(store).search(query, since=first, until=last, max_results=limit), is_read_only=True
    )
    if findings.hits and not findings.has_all_words and not as_json:
        warn("nothing has all the words; these have some of them")
    rows = (
        (
            printable_name(hit.passage.session_name or (hit.passage.session_id or "")[:12]),
            timestamp(hit.passage.moment),
            hit.passage.role or "title",
            printable_line(hit.excerpt, _EXCERPT_CHARACTERS),
        )
        for hit in findings.hits
    )
    print_listing(as_json, map(_hit_document, findings.hits), ("session", "time", "by", "text"), rows)


def _hit_document(hit: Hit) -> dict[str, Any]:
    """Describe a search hit for JSON; fields that do not apply are null."""
    passage = hit.passage
    return {
        "source": str(passage.source),
        "session": passage.session_id,
        "session_name": passage.session_name,
        "session_title": passage.session_title,
        "sequence": passage.sequence,
        "role": passage.role,
        "created_at": timestamp(passage.moment),
        "score": round(hit.score, 4),
        "text": hit.excerpt,
    }
