"""The page of the documentation: its measured parts and pictures are made from a run.

``python -m benchmarks --docs`` measures and makes them; ``python -m benchmarks.page [table.json]`` only makes them,
from what was measured before.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from benchmarks.plots import plot
from benchmarks.report import budgets_text, machine_text, table_text
from benchmarks.results import Report

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
PICTURES = ROOT / "docs" / "pictures"
MEASURED = ROOT / "benchmarks" / "measured.json"
PLOTTED = ("turn", "stored_turn", "resume", "register", "stream", "sessions", "start", "tokens")
_PART = re.compile(r"(?P<begin><!-- begin: (?P<name>\w+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL)


def pictures(report: Report) -> dict[str, str]:
    """The files of the pictures with what is in each."""
    tables = [table for table in report.tables if table.work in PLOTTED and any(row.rounds for row in table.rows)]
    return {f"benchmark-{table.work.replace('_', '-')}.svg": plot(table) for table in tables}


def with_parts(page: str, report: Report) -> str:
    """Put what was measured into the page; parts that were not measured stay as they are."""
    parts = {"machine": machine_text(report), "budgets": budgets_text(report)}
    drawn = pictures(report)
    for table in report.tables:
        name = f"benchmark-{table.work.replace('_', '-')}.svg"
        picture = f"\n\n![{table.title}](pictures/{name})" if name in drawn else ""
        parts[table.work] = table_text(table) + picture

    def filled(match: re.Match[str]) -> str:
        text = parts.get(match["name"])
        return match[0] if text is None else f"{match['begin']}\n{text}\n\n{match['end']}"

    return _PART.sub(filled, page)


def write(source: Path) -> None:
    """Keep what was measured, and make page and pictures from it."""
    report = Report.load(source)
    if source.resolve() != MEASURED:
        shutil.copyfile(source, MEASURED)
    PAGE.write_text(with_parts(PAGE.read_text(encoding="utf-8"), report), encoding="utf-8")
    for name, picture in pictures(report).items():
        (PICTURES / name).write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else MEASURED)
