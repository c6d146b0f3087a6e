"""`oneclaw usage`: what models used and cost."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from oneclaw_core import UsageError
from oneclaw_core.cli import document_of, dollars, json_option, print_json, print_table, printable_name, with_store
from oneclaw_core.sessions import UsageGrouping

if TYPE_CHECKING:
    from oneclaw_core.sessions import Store, UsageRow, UsageTotals

_NO_KEY = {"session": "(deleted sessions)", "group": "(no group loaded)"}

# At the ends of the calendar, time zones lead out of it.
_YEARS = range(1971, 9000)


def _to_day(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    """Read a day, as the moment at which it begins where the machine is."""
    if value is None:
        return None
    try:
        day = datetime.strptime(value, "%Y-%m-%d")
        if day.year not in _YEARS:
            raise ValueError
        # A time without a zone is taken for the machine's.
        return day.astimezone()
    except (ValueError, OverflowError):
        raise click.BadParameter(f"{value!r} is not a day: write it as in 2026-01-31") from None


@click.command("usage")
@click.option(
    "--by",
    "grouping",
    type=click.Choice(["day", "model", "session", "group"]),
    default="day",
    show_default=True,
    help="The rows to add up.",
)
@click.option("--since", callback=_to_day, metavar="DATE", help="From this day on, such as 2026-01-31.")
@click.option("--until", callback=_to_day, metavar="DATE", help="Until this day, inclusive.")
@json_option
def usage(grouping: str, since: datetime | None, until: datetime | None, as_json: bool) -> None:
    """Show what models used and cost, by day, model, session or tool group.

    A request with several loaded tool groups counts for each of them. A prefix break is a request that began
    differently from the one before it in its session, so that the service's prompt cache could not be used. "At least"
    marks sums with requests whose answers broke off before the service gave their final counts.
    """
    if since is not None and until is not None and until < since:
        raise UsageError("--until is before --since: exchange them")
    end = None if until is None else _next_day(until)

    async def read(store: Store) -> tuple[list[UsageRow], UsageTotals]:
        rows = await store.usage_by(UsageGrouping(grouping), since=since, until=end)
        return rows, await store.usage_totals(since=since, until=end)

    rows, total = with_store(read, is_read_only=True)
    if as_json:
        print_json(
            {
                "by": grouping,
                "since": since and since.date().isoformat(),
                "until": until and until.date().isoformat(),
                "rows": [_key_document(grouping, row) | _document(row.totals) for row in rows],
                "total": _document(total),
            }
        )
        return
    lines = [(_label(grouping, row), *_cells(row.totals)) for row in rows]
    if len(rows) > 1:
        lines.append(("total", *_cells(total)))
    columns = ("requests", "input", "cached", "output", "reasoning", "cost", "prefix breaks")
    print_table((grouping, *columns), lines)


def _next_day(day: datetime) -> datetime:
    """When the day after begins: not always 24 hours later."""
    return (day.replace(tzinfo=None) + timedelta(days=1)).astimezone()


def _label(grouping: str, row: UsageRow) -> str:
    if row.key is None:
        return _NO_KEY[grouping]
    return printable_name(row.name or (row.key[:12] if grouping == "session" else row.key))


def _cells(sums: UsageTotals) -> tuple[str, ...]:
    at_least = "at least " if sums.at_least_requests else ""
    cached, cost = sums.cached_input_tokens, sums.cost
    at_least_cost = "at least " if sums.priced_requests < sums.requests else at_least
    reasons = ", ".join(f"{what} {count}" for what, count in _changes(sums).items() if count)
    return (
        f"{sums.requests:,}",
        _count(sums.input_tokens, at_least),
        "unknown" if cached is None or sums.cached_share is None else f"{cached:,} ({sums.cached_share:.0%})",
        _count(sums.output_tokens, at_least),
        _count(sums.reasoning_tokens, at_least),
        "unknown" if cost is None else f"{at_least_cost}{dollars(cost)}",
        f"{sums.prefix_breaks} ({reasons})" if reasons else str(sums.prefix_breaks),
    )


def _count(tokens: int | None, at_least: str) -> str:
    return "unknown" if tokens is None else f"{at_least}{tokens:,}"


def _changes(sums: UsageTotals) -> dict[str, int]:
    return {
        "model": sums.model_changes,
        "tools": sums.tools_changes,
        "system prompt": sums.system_prompt_changes,
        "earlier messages": sums.history_changes,
    }


def _key_document(grouping: str, row: UsageRow) -> dict[str, Any]:
    key = {grouping: row.key}
    return key | {"name": row.name} if grouping == "session" else key


def _document(sums: UsageTotals) -> dict[str, Any]:
    return {
        **document_of(sums, "requests", "at_least_requests", "input_tokens", "cached_input_tokens"),
        "cached_share": None if sums.cached_share is None else round(sums.cached_share, 4),
        **document_of(sums, "cache_write_tokens", "output_tokens", "reasoning_tokens"),
        **document_of(sums, "cost", "priced_requests", "prefix_breaks"),
        "changes": {what.replace(" ", "_"): count for what, count in _changes(sums).items()},
    }
