"""The tables of what was measured, for people to read: OneClaw's figure, then ratios."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.budgets import BUDGETS, GOALS
from benchmarks.results import SUBJECT, Row, Table, contestants_of
from benchmarks.work import CONTESTANTS, TITLES

if TYPE_CHECKING:
    from benchmarks.results import Report


def figure(value: float, unit: str) -> str:
    """A value with its unit, in three digits."""
    if unit == "s":
        for factor, name in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
            if value * factor >= 1 or name == "µs":
                return f"{_digits(value * factor)} {name}"
    return f"{_digits(value)} {unit}".replace(" 1/s", "/s")


def table_text(table: Table) -> str:
    """A table in Markdown, with its note before it and the reasons of its empty cells after it."""
    when = f"Measured apart from the rest: {table.measured}." if table.measured else ""
    parts = [table.note, when, _grid(table.rows), _reasons(table.rows)]
    return "\n\n".join(part for part in parts if part)


def budgets_text(report: Report) -> str:
    """Each budget with what was measured."""
    lines = ["| what | budget | measured | |", "|---|---|---|---|"]
    for budget in (*BUDGETS, *GOALS):
        finding = budget.finding(report)
        measured, verdict = ("not measured", "") if finding is None else finding
        words = {True: "met", False: "**not met**", "": ""}[verdict]
        lines.append(f"| {budget.what} | {budget.limit} | {measured} | {words} |")
    return "\n".join(lines)


def memory_table(report: Report) -> Table | None:
    """The most memory that processes had while they ran turns."""
    rows = []
    for work in ("turn", "http_sessions"):
        table = report.table(work)
        for row in table.rows if table else ():
            if not row.measure and row.peaks:
                memory = Row(row.title, "MB", row.size)
                for name, peak in row.peaks.items():
                    memory.add(name, peak)
                rows.append(memory)
    note = "The peak memory of the processes of the turns and sessions above, with interpreter, libraries and tools."
    return Table("memory", "Memory of a process", note, rows) if rows else None


def machine_text(report: Report) -> str:
    """The machine, the versions and the time of the measurement."""
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    missing = f" Not installed: {', '.join(report.missing)}." if report.missing else ""
    return f"{report.machine}. {versions}.{missing} {report.when}. Measured in {report.minutes:.0f} min."


def report_text(report: Report) -> str:
    """The whole report as one page."""
    parts = ["# Benchmarks", machine_text(report), "## Budgets", budgets_text(report)]
    for table in report.tables:
        parts += [f"## {table.title}", table_text(table)]
    took = ", ".join(f"{table.work} {table.seconds:.0f} s" for table in report.tables)
    return "\n\n".join([*parts, f"Measuring took: {took}."]) + "\n"


def _grid(rows: list[Row]) -> str:
    shown = contestants_of(rows, CONTESTANTS)
    others = [name for name in shown if name != SUBJECT]
    header = [TITLES.get(name, name) for name in (SUBJECT, *others)]
    lines = [f"| | {' | '.join(header)} |", "|---|" + "--:|" * len(header)]
    for row in rows:
        figures = row.figures()
        cells = [f"**{figure(figures[SUBJECT], row.unit)}**" if SUBJECT in figures else _too_long(row, SUBJECT)]
        cells += [_cell(row, name, figures) for name in others]
        lines.append(f"| {row.title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(row: Row, name: str, figures: dict[str, float]) -> str:
    if name not in figures:
        return _too_long(row, name)
    shown, ratio = figure(figures[name], row.unit), row.ratio(name)
    return shown if ratio is None else f"{_ratio(ratio)} ({shown})"


def _too_long(row: Row, name: str) -> str:
    reason = row.reasons.get(name, "")
    return reason if reason.startswith("over ") else ""


def _ratio(ratio: float) -> str:
    return f"{ratio:,.0f}x" if ratio >= 10 else f"{ratio:.2g}x"


def _reasons(rows: list[Row]) -> str:
    # Each once: what fails has a reason in all rows of its size.
    found = {
        (name, row.size): (TITLES.get(name, name), row.title, why)
        for row in reversed(rows)
        for name, why in row.reasons.items()
    }.values()
    return "\n".join(f"- {name}, {title}: {why}" for name, title, why in found if not why.startswith("over "))


def _digits(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
