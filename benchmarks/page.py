"""The page of the documentation: its measured parts and pictures are made from a run.

``python -m benchmarks`` measures and makes them; ``python -m benchmarks.page`` only makes them, from what was measured
before.
"""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.plots import plot
from benchmarks.report import budgets_text, machine_text, table_text
from benchmarks.results import Report

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
PICTURES = ROOT / "docs" / "pictures"
MEASURED = ROOT / "benchmarks" / "measured.json"
PLOTTED = ("turn", "http_sessions", "resume", "tokens")
_PART = re.compile(r"(?P<begin><!-- begin: (?P<name>\w+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL)


def pictures(report: Report) -> dict[str, str]:
    """The files of the pictures with what is in each."""
    tables = [
        table
        for table in report.tables
        if table.work in PLOTTED and any(row.rounds and not row.measure for row in table.rows)
    ]
    return {f"benchmark-{table.work.replace('_', '-')}.svg": plot(table) for table in tables}


def with_parts(page: str, report: Report) -> str:
    """Put what was measured into the page, and that the rest was not."""
    parts = {"machine": machine_text(report), "budgets": budgets_text(report)}
    drawn = pictures(report)
    for table in report.tables:
        name = f"benchmark-{table.work.replace('_', '-')}.svg"
        picture = f"\n\n![{table.title}](pictures/{name})" if name in drawn else ""
        parts[table.work] = table_text(table) + picture

    def filled(match: re.Match[str]) -> str:
        return f"{match['begin']}\n{parts.get(match['name'], 'Not measured.')}\n\n{match['end']}"

    return _PART.sub(filled, page)


def write(report: Report) -> None:
    """Keep what was measured, and make page and pictures from it."""
    report.save(MEASURED)
    # As it was rounded, so that the page can be made again.
    report = Report.load(MEASURED)
    PAGE.write_text(with_parts(PAGE.read_text(encoding="utf-8"), report), encoding="utf-8")
    for stale in PICTURES.glob("benchmark-*.svg"):
        stale.unlink()
    for name, picture in pictures(report).items():
        (PICTURES / name).write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    write(Report.load(MEASURED))
