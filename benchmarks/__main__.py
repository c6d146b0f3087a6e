"""OneClaw and its peers on the same work: ``uv run --group bench python -m benchmarks``.

Each measurement runs in a process of its own. In each round all contestants take turns at all work, and the figure is
the median of the rounds, so that what else the machine does strikes all alike.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.measurement import Measurement
from benchmarks.page import pictures, write
from benchmarks.report import memory_table, report_text
from benchmarks.results import Report
from benchmarks.surroundings import ProcessState
from benchmarks.work import CONTESTANTS, START, WORKS

PACKAGES = {"oneclaw": "oneclaw-core", "pydantic-ai": "pydantic-ai-slim"}
DEFAULT_OUTPUT = Path("benchmarks/results")


def main() -> None:
    """Measure what was asked for, print the table and save it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    names = [*(work.name for work in WORKS), START]
    parser.add_argument("--only", nargs="+", choices=names, default=names, help="this work alone")
    parser.add_argument("--contestants", nargs="+", choices=CONTESTANTS, default=CONTESTANTS, help="these alone")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured; 3 by default")
    parser.add_argument(
        "--minutes", type=float, default=20, help="begin no round that would not end within this time; 20 by default"
    )
    parser.add_argument(
        "--output", type=Path, default=DEFAULT_OUTPUT, help="the directory for table, JSON and pictures"
    )
    parser.add_argument("--docs", action="store_true", help="put the results into docs/benchmarks.md")
    chosen = parser.parse_args()

    started = time.perf_counter()
    report = Report(_machine(), _versions(chosen.contestants), datetime.now(UTC).date().isoformat())
    with ProcessState() as surroundings:
        measurement = Measurement(
            [work for work in WORKS if work.name in chosen.only], chosen.contestants, surroundings
        )
        while report.rounds < chosen.rounds:
            began = time.perf_counter()
            measurement.measure_round(has_starts=START in chosen.only)
            report.rounds += 1
            report.tables = measurement.tables()
            if memory := memory_table(report):
                report.tables.append(memory)
            if surroundings.server_version:
                report.versions["PostgreSQL"] = surroundings.server_version
            report.minutes = (time.perf_counter() - started) / 60
            # A run that is interrupted leaves the rounds before.
            _save(chosen.output, report)
            now = time.perf_counter()
            if (now - started) + (now - began) > chosen.minutes * 60:
                break
    print(report_text(report))
    if chosen.docs:
        write(chosen.output / "table.json")


def _save(output: Path, report: Report) -> None:
    output.mkdir(parents=True, exist_ok=True)
    report.save(output / "table.json")
    (output / "table.md").write_text(report_text(report), encoding="utf-8")
    for name, picture in pictures(report).items():
        (output / name).write_text(picture, encoding="utf-8")


def _versions(contestants: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in contestants:
        try:
            found[name] = version(PACKAGES.get(name, name))
        except PackageNotFoundError:
            continue
    return found


def _machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{os.cpu_count()} processors ({platform.machine()}), {memory:.0f} GB of memory, {platform.system()}, "
        f"Python {platform.python_version()}"
    )


if __name__ == "__main__":
    if sys.platform == "win32":
        sys.exit("the benchmarks need a POSIX system, as OneClaw does")
    main()
