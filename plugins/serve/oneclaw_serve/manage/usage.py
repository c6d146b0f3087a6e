"""Usage and cost, as plots and tables."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from oneclaw_core.plugins import WebPage, WebTable
from oneclaw_core.sessions import UsageGrouping
from oneclaw_serve.pages import SitePage
from oneclaw_serve.plots import column_plot

if TYPE_CHECKING:
    from oneclaw_core.plugins import WebRequest
    from oneclaw_serve.application import Site

_MOST_DAYS = 60
_MOST_ROWS = 30
_HEADS = ("requests", "input tokens", "output tokens", "from the cache", "cost")


async def _show(site: Site, request: WebRequest) -> WebPage:
    store = site.claw.store
    days = {each.key: each.totals for each in await store.usage_by(UsageGrouping.DAY) if each.key}
    parts: list[Any] = []
    if days:
        points = [(day, days.get(day)) for day in _days(min(days), max(days))]
        tokens = [(day, (each.input_tokens or 0) + (each.output_tokens or 0) if each else 0) for day, each in points]
        costs = [(day, (each.cost or 0.0) if each else 0.0) for day, each in points]
        parts.append(column_plot("Tokens a day", tokens, [f"{value:,} tokens" for _, value in tokens]))
        if any(value for _, value in costs):
            parts.append(column_plot("Cost a day", costs, [_dollars(value) for _, value in costs]))
    for grouping, title in ((UsageGrouping.MODEL, "By model"), (UsageGrouping.GROUP, "By tool group")):
        rows = await store.usage_by(grouping)
        parts.append(_table(str(grouping), title, [(each.name or each.key or "(none)", each.totals) for each in rows]))
    parts.append(_table("day", "By day", sorted(days.items(), reverse=True)))
    total = await store.usage_totals()
    parts.insert(0, WebTable(columns=("all", *_HEADS), rows=(("total", *_cells(total)),)))
    return WebPage(title="Usage and cost", parts=tuple(parts))


def _days(first: str, last: str) -> list[str]:
    end = date.fromisoformat(last)
    begin = max(date.fromisoformat(first), end - timedelta(days=_MOST_DAYS - 1))
    return [(begin + timedelta(days=number)).isoformat() for number in range((end - begin).days + 1)]


def _table(head: str, title: str, rows: list[tuple[str, Any]]) -> WebTable:
    shown = tuple((name, *_cells(sums)) for name, sums in rows[:_MOST_ROWS])
    return WebTable(columns=(head, *_HEADS), rows=shown, title=title, empty="No requests to models yet.")


def _cells(sums: Any) -> tuple[str, ...]:
    cached = "unknown" if sums.cached_share is None else f"{sums.cached_share:.0%}"
    counts = (sums.input_tokens, sums.output_tokens)
    return (
        f"{sums.requests:,}",
        *("unknown" if each is None else f"{each:,}" for each in counts),
        cached,
        "unknown" if sums.cost is None else _dollars(sums.cost),
    )


def _dollars(amount: float) -> str:
    return f"${amount:,.2f}" if amount == 0 or amount >= 1 else f"${amount:.4f}"


PAGES = (SitePage("usage", "Usage and cost", _show),)
