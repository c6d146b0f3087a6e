"""What OneClaw promises of its speed, and whether a run has kept it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.results import SUBJECT

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


def _http_turn(report: Report) -> tuple[str, bool] | None:
    table = report.table("http_turn")
    ratio = table.rows[0].ratio("floor") if table else None
    if not ratio:
        return None
    return f"{1 / ratio:.2f} times", 1 / ratio <= 2.5


def _listing(report: Report) -> tuple[str, bool] | None:
    table = report.table("start")
    ratio = table.rows[0].ratio("llm") if table else None
    if table is None or not ratio:
        return None
    own, other = (table.rows[0].figures()[name] for name in (SUBJECT, "llm"))
    return f"{1 / ratio:.3f} of it ({own:.2f} s and {other:.2f} s)", ratio >= 5


def _tokens(report: Report) -> tuple[str, bool] | None:
    figures = report.figures("tokens")
    return (f"{figures[0]:,.0f}", figures[0] <= 3_000) if figures else None


BUDGETS = (
    Budget("a turn of three requests, with 100, 1,000 and 10,000 tools", "4 ms, and the same with all", _turn),
    Budget("a stored turn of three requests over HTTP", "2.5 times a loop with httpx and SQLite", _http_turn),
    Budget("taking up a session of 100,000 messages", "20 ms more than a new one", _resume),
    Budget("registering 10,000 tools", "500 ms", _largest("register", 0.5)),
    Budget("`oneclaw tools list`, the whole process", "a fifth of `llm tools list`", _listing),
    Budget("the executor's part of a tool call", "0.15 ms", _largest("call", 0.00015)),
    Budget("`load_tool_group`, with 10,000 tools", "0.1 ms", _largest("load_group", 0.0001)),
    Budget("the list of groups, with 10,000 tools", "0.05 ms", _largest("list_groups", 0.00005)),
    Budget("tokens of the tools in a first request", "3,000", _tokens),
)
