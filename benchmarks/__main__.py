"""OneClaw and its peers on the same work: ``uv run --group bench python -m benchmarks``.

Each measurement runs in a separate process. In each round all contestants take turns at all work, and the figure is
the median of the rounds, so that what else the machine does strikes all alike. A whole run writes docs/benchmarks.md,
its pictures and measured.json; with ``--only`` or ``--contestants`` the tables are only printed, and with ``--write``
put into the page beside those of an earlier run.
"""

from __future__ import annotations

import argparse
import os
import platform
import signal
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import version

from benchmarks.environments import REQUIREMENTS, version_of
from benchmarks.measurement import Measurement
from benchmarks.page import MEASURED, write
from benchmarks.report import memory_table, report_text
from benchmarks.results import SUBJECT, Report, merged
from benchmarks.surroundings import ProcessState
from benchmarks.work import CONTESTANTS, WORKS


def main() -> None:
    """Measure what was asked for, print the tables, and write them if all was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    names = [work.name for work in WORKS]
    parser.add_argument("--only", nargs="+", choices=names, default=names, help="this work alone")
    parser.add_argument("--contestants", nargs="+", choices=CONTESTANTS, default=CONTESTANTS, help="these alone")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured at most; 3 by default")
    parser.add_argument(
        "--minutes", type=float, default=6, help="begin no round that would not end within this time; 6 by default"
    )
    parser.add_argument("--write", action="store_true", help="with --only, put these tables into the page, too")
    chosen = parser.parse_args()

    # So that fixtures are removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    started = time.perf_counter()
    report = Report(_machine(), {SUBJECT: version("oneclaw-core")}, datetime.now(UTC).date().isoformat())
    for name in (name for name in chosen.contestants if name in REQUIREMENTS):
        if found := version_of(name):
            report.versions[name] = found
        else:
            report.missing.append(name)
            print(f"{name} is not installed: python -m benchmarks.environments {name}", file=sys.stderr, flush=True)
    present = [name for name in chosen.contestants if name not in report.missing]
    with ProcessState() as surroundings:
        measurement = Measurement([work for work in WORKS if work.name in chosen.only], present, surroundings)
        while report.rounds < chosen.rounds:
            began = time.perf_counter()
            measurement.measure_round()
            report.rounds += 1
            now = time.perf_counter()
            if (now - started) + (now - began) > chosen.minutes * 60:
                break
        report.tables = measurement.tables()
        if surroundings.server_version:
            report.versions["PostgreSQL"] = surroundings.server_version
    if memory := memory_table(report):
        report.tables.append(memory)
    report.minutes = (time.perf_counter() - started) / 60
    print(report_text(report))
    if chosen.only == names and chosen.contestants == CONTESTANTS:
        write(report)
    elif chosen.write:
        write(merged(Report.load(MEASURED), report, names))


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
