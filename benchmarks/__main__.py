"""OneClaw and its peers on the same work: ``uv run --group bench python -m benchmarks``.

Each measurement runs in a process of its own. The contestants take turns, and the figure is the median of several
rounds, so that what else the machine does strikes all alike.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.report import Row, bars, markdown
from benchmarks.running import Measured, run_command, run_import, run_work
from benchmarks.work import COMMANDS, CONTESTANTS, IMPORTS, WORKS, Work

PACKAGES = {"oneclaw": "oneclaw-core", "pydantic-ai": "pydantic-ai-slim"}
START = "start"
DEFAULT_OUTPUT = Path("benchmarks/results")


def main() -> None:
    """Measure what was asked for, print the table and save it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    names = [work.name for work in WORKS]
    parser.add_argument("--only", nargs="+", choices=[*names, START], default=[*names, START], help="this work alone")
    parser.add_argument("--contestants", nargs="+", choices=CONTESTANTS, default=CONTESTANTS, help="these alone")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured; 3 by default")
    parser.add_argument(
        "--output", type=Path, default=DEFAULT_OUTPUT, help="the directory for table, JSON and pictures"
    )
    chosen = parser.parse_args()

    tables: list[tuple[str, str, list[Row]]] = []
    for work in WORKS:
        if work.name in chosen.only:
            rows = [_measure(work, size, chosen.contestants, chosen.rounds) for size in work.sizes]
            tables.append((work.title, " ".join((_budget(work), work.note)).strip(), rows))
    if START in chosen.only:
        note = "Whole processes, from start to end, with all plugins of the repository."
        tables.append(("Starting", note, _measure_starts(chosen.contestants, chosen.rounds)))
    _save(chosen.output, tables)


def _budget(work: Work) -> str:
    return f"Budget: {work.budget}." if work.budget else ""


def _measure(work: Work, size: int, contestants: tuple[str, ...], rounds: int) -> Row:
    row = Row(f"{size:,} {work.size_of}", work.unit, work.is_more_better)
    for number in range(rounds):
        for name in contestants:
            before = row.rounds.get(name, [])
            if before and isinstance(before[-1], str):
                continue  # what it cannot do, it cannot do again
            row.add(name, found := run_work(name, work.name, size))
            _progress(f"{work.name} {size} {name} {number + 1}/{rounds}", found)
    return row


def _measure_starts(contestants: tuple[str, ...], rounds: int) -> list[Row]:
    listing = Row("`tools list`, the whole command", "s")
    importing = Row("importing the framework", "s")
    for number in range(max(5, rounds)):
        for name in contestants:
            if name in COMMANDS:
                listing.add(name, found := run_command(COMMANDS[name]))
                _progress(f"tools list {name} {number + 1}", found)
            importing.add(name, found := run_import(IMPORTS[name]))
            _progress(f"import {name} {number + 1}", found)
    return [listing, importing]


def _save(output: Path, tables: list[tuple[str, str, list[Row]]]) -> None:
    output.mkdir(parents=True, exist_ok=True)
    text = [_machine(), ""]
    data = []
    for title, note, rows in tables:
        text += [f"## {title}", "", *([note, ""] if note else []), markdown(rows, CONTESTANTS), ""]
        for row in rows:
            text += [f"- {row.title}: {name} {why}" for name, why in row.failures().items()]
            data.append(
                {"work": title, "row": row.title, "unit": row.unit, "medians": row.medians(), "peak_mb": row.peaks()}
            )
        text += [_memory(rows), ""]
        largest = rows[-1]
        if len(largest.medians()) > 1:
            name = "".join(each if each.isalnum() else "-" for each in title.partition(":")[0].lower())[:40]
            (output / f"{name.strip('-')}.svg").write_text(bars(f"{title}: {largest.title}", largest), encoding="utf-8")
    table = "\n".join(text)
    (output / "table.md").write_text(table + "\n", encoding="utf-8")
    (output / "table.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    print(table)


def _memory(rows: list[Row]) -> str:
    peaks = rows[-1].peaks()
    shown = ", ".join(f"{name} {peak:.0f} MB" for name, peak in peaks.items())
    return f"Most memory of the process, {rows[-1].title}: {shown}." if shown else ""


def _machine() -> str:
    versions = []
    for name in CONTESTANTS:
        try:
            versions.append(f"{name} {version(PACKAGES.get(name, name))}")
        except PackageNotFoundError:
            continue
    return (
        f"Python {platform.python_version()}, {os.cpu_count()} processors, {platform.system()}; {', '.join(versions)}."
    )


def _progress(what: str, found: Measured | str) -> None:
    shown = found if isinstance(found, str) else f"{found.value:.6g}"
    print(f"{what}: {shown}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
