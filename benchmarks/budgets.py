"""The speed budgets, and the check whether a run has kept them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.results import SUBJECT
from benchmarks.work import (
    ABOVE_SDK,
    CACHED,
    CHANNEL_PLUGINS,
    CONVERSATION,
    DISPATCHED,
    FLOOR,
    LISTING,
    LOADED,
    MCP_CALL,
    OPENING,
    OVER_HTTP,
    OVER_STDIO,
    PROCESSOR_TIME,
    SERVICES,
    TOOL_TOKENS,
    UNCACHED,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.results import Report

SAME = 1.25
"""Times that differ by less count as the same: so much do rounds of one work differ."""


@dataclass(frozen=True)
class Budget:
    """One promise.

    Attributes:
        what: is measured.
        limit: what is promised, in words.
        finding: from a report, what was measured in words and whether that keeps the promise; ``None`` if the report
            lacks it.
    """

    what: str
    limit: str
    finding: Callable[[Report], tuple[str, bool] | None]


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"


def _turn(report: Report) -> tuple[str, bool] | None:
    figures = report.figures("turn")
    if not figures:
        return None
    growth = figures[-1] / figures[0]
    words = f"{', '.join(map(_milliseconds, figures))}: {growth:.2f} times from least to most"
    return words, max(figures) <= 0.004 and growth <= SAME


def _resume(report: Report) -> tuple[str, bool] | None:
    figures = report.figures("resume")
    if len(figures) < 2:
        return None
    more = figures[-1] - figures[0]
    return f"{_milliseconds(more)} more", more <= 0.02


def _largest(work: str, limit: float) -> Callable[[Report], tuple[str, bool] | None]:
    def finding(report: Report) -> tuple[str, bool] | None:
        figures = report.figures(work)
        return (_milliseconds(figures[-1]), figures[-1] <= limit) if figures else None

    return finding


def _listing(report: Report) -> tuple[str, bool] | None:
    rows = report.rows("start", LISTING)
    ratio = rows[0].ratio("llm") if rows else None
    if not ratio:
        return None
    own, other = (rows[0].figures()[name] for name in (SUBJECT, "llm"))
    return f"{1 / ratio:.3f} of it ({own:.2f} s and {other:.2f} s)", ratio >= 5


def _tokens(report: Report) -> tuple[str, bool] | None:
    figures = report.figures("tokens")
    return (f"{figures[0]:,.0f}", figures[0] <= 3_000) if figures else None


def _http_turn(report: Report) -> tuple[str, bool] | None:
    rows = report.rows("http_turn")
    ratio = rows[0].ratio(FLOOR) if rows else None
    return (f"{1 / ratio:.2f} times", 1 / ratio <= 2.5) if ratio else None


def _many_sessions(report: Report) -> tuple[str, bool] | None:
    table = report.table("http_sessions")
    row = next((row for row in table.rows if row.size == 1_000 and not row.measure), None) if table else None
    if row is None or SUBJECT not in {*row.rounds, *row.reasons}:
        return None
    return row.reasons.get(SUBJECT, "all"), SUBJECT in row.rounds


def _growth(report: Report) -> tuple[str, bool] | None:
    figures = {row.size: row.figures()[SUBJECT] for row in report.rows("http_sessions", PROCESSOR_TIME)}
    if not {1, 256} <= {*figures}:
        return None
    growth = figures[256] / figures[1]
    return f"{growth:.2f} times ({_milliseconds(figures[1])} and {_milliseconds(figures[256])})", growth < 2


def _saved(compared_with: str, least: float) -> Callable[[Report], tuple[str, bool] | None]:
    def finding(report: Report) -> tuple[str, bool] | None:
        saved = {}
        for service in SERVICES:
            loaded = report.figures("session_tokens", f"{service}, {LOADED}")
            compared = report.figures("session_tokens", f"{service}, {compared_with}")
            if loaded and compared:
                saved[service] = 1 - loaded[0] / compared[0]
        if not saved:
            return None
        words = ", ".join(f"{service} {share:.0%}" for service, share in saved.items())
        return words, min(saved.values()) >= least

    return finding


def _saved_on_tools(report: Report) -> tuple[str, bool] | None:
    """Compare what tools alone are billed, on each service with the way of loading that saves most there."""
    saved = {}
    for service in SERVICES:
        alone, compared, *ways = (
            report.figures("session_tokens", f"{service}, {how}") for how in (CONVERSATION, CACHED, LOADED, DISPATCHED)
        )
        billed = [way[0] for way in ways if way]
        if alone and compared and billed:
            saved[service] = 1 - (min(billed) - alone[0]) / (compared[0] - alone[0])
    if not saved:
        return None
    return ", ".join(f"{service} {share:.0%}" for service, share in saved.items()), min(saved.values()) >= 0.65


def _mcp_call(report: Report) -> tuple[str, bool] | None:
    more = [(title, report.figures(MCP_CALL, f"{title}, {ABOVE_SDK}")) for title in (OVER_STDIO, OVER_HTTP)]
    found = [(title, figures[0]) for title, figures in more if figures]
    if not found:
        return None
    words = ", ".join(f"{_milliseconds(seconds)} more over {title}" for title, seconds in found)
    return words, max(seconds for _, seconds in found) <= 0.0005


def _mcp_start(report: Report) -> tuple[str, bool] | None:
    figures = {row.size: row.figures()[SUBJECT] for row in report.rows("mcp_start", OPENING)}
    if not {0, 100} <= {*figures}:
        return None
    more = figures[100] - figures[0]
    return f"{_milliseconds(more)} of a processor more with 100 servers", more <= 0.005


def _channels(report: Report) -> tuple[str, bool] | None:
    figures = {row.size: row.figures()[SUBJECT] for row in report.rows("channels", OPENING)}
    count = len(CHANNEL_PLUGINS)
    if not {0, count} <= {*figures}:
        return None
    more = max(0.0, figures[count] - figures[0])  # measurements differ by more than it costs
    return f"{_milliseconds(more)} of a processor more with {count} plugins", more <= 0.005


def _mcp_tokens(report: Report) -> tuple[str, bool] | None:
    figures = {row.size: row.figures()[SUBJECT] for row in report.rows("mcp_start", TOOL_TOKENS)}
    return (f"{figures[100]:,.0f}", figures[100] <= 3_000) if 100 in figures else None


def _none(report: Report) -> None:
    """No work of the benchmarks measures it."""


BUDGETS = (
    Budget(
        "a turn of three requests, stored in SQLite, with 100, 1,000 and 10,000 tools",
        "4 ms, and the same with all",
        _turn,
    ),
    Budget("taking up a session of 100,000 messages", "20 ms more than a new one", _resume),
    Budget("registering 10,000 tools", "500 ms", _largest("register", 0.5)),
    Budget("`oneclaw tools list`, the whole process", "a fifth of `llm tools list`", _listing),
    Budget("the executor's part of a tool call", "0.15 ms", _largest("call", 0.00015)),
    Budget("a call of a tool of an MCP server", "the bare SDK and 0.5 ms", _mcp_call),
    Budget("tokens of the tools in a first request, with all plugins (without MCP servers)", "3,000", _tokens),
    Budget("the same, with 100 MCP servers (5,000 tools) configured", "3,000", _mcp_tokens),
    Budget("start-up cost of MCP servers that are not used", "5 ms", _mcp_start),
    Budget("start-up cost of channels and services that are not used", "5 ms", _channels),
    Budget("README's test command", "6 min", _none),
)
"""The budgets of the design."""

GOALS = (
    Budget(
        "a stored turn of three requests over HTTP",
        "2.5 times a loop with httpx and sqlite3 that sends as much",
        _http_turn,
    ),
    Budget("1,000 sessions at once over HTTP", "all turns succeed", _many_sessions),
    Budget("processor time of a turn, from 1 to 256 sessions at once", "less than 2 times", _growth),
    Budget(
        "tokens billed for tools, three groups loaded in the service's best way; all tools cached",
        "65 % less",
        _saved_on_tools,
    ),
    Budget("tokens billed in all, loaded in the default way; all tools cached", "65 % less", _saved(CACHED, 0.65)),
    Budget("the same; all tools sent without a cache", "90 % less", _saved(UNCACHED, 0.9)),
)
"""Goals beside the budgets of the design."""
