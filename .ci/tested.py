"""Tell what a tox run has tested, and fail if it is less than it has to be.

Usage: ``python tested.py TOX_RESULT_JSON [PYTHON_VERSION ...]``, where each version, such as ``3.12``, must have been
tested on. tox skips an environment whose interpreter is missing and calls that a success, and a test run in which
nothing was collected is easily overlooked; here both are failures.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

CLOSING_LINE = re.compile(r"^=+ (.*\d+ \w+.* in [\d.]+s.*?) =+$", re.MULTILINE)
COLOUR = re.compile(r"\x1b\[[\d;]*m")
VERSION = re.compile(r"-- Python (3\.\d+)\.")
RUNS_ON_VERSIONS = re.compile(r"tests|py\d+|lowest")
RUNS_TESTS = re.compile(r"tests|py\d+|plugins|third-party|lowest|release")


def main(report_path: Path, required_versions: list[str]) -> int:
    """Print one line for each environment and a total.

    Args:
        report_path: what ``tox --result-json`` wrote.
        required_versions: the Python versions, such as ``3.12``, on which what depends on the version must have passed.

    Returns:
        0 if every environment passed and tested what it should, else 1.
    """
    if not report_path.exists():
        print(f"tox left no report at {report_path}: it did not get to the end")
        return 1
    missing = set(required_versions)
    environments: dict[str, dict[str, Any]] = json.loads(report_path.read_text(encoding="utf-8"))["testenvs"]
    faults = []
    total = dict.fromkeys(("passed", "failed", "skipped"), 0)
    for name, environment in environments.items():
        result = environment.get("result")
        if result is None:  # tox knows it, and was not asked to run it
            continue
        output = COLOUR.sub("", "".join(run["output"] for run in environment.get("test") or ()))
        closing = CLOSING_LINE.findall(output)
        counts = _counts(closing)
        for outcome in total:
            total[outcome] += counts.get(outcome, 0)
        if result["skipped"]:
            print(f"{name}: skipped, its Python is missing")
            if not re.fullmatch(r"py\d+", name):
                faults.append(f"{name} was skipped: install its Python")
        elif not result["success"]:
            faults.append(f"{name} failed")
        elif RUNS_TESTS.fullmatch(name) and not counts.get("passed"):
            faults.append(f"{name} passed without running a test")
        elif RUNS_ON_VERSIONS.fullmatch(name):
            missing -= set(VERSION.findall(output))
        for line in closing:
            print(f"{name}: {line}")
    faults += [f"nothing that depends on the version was run on Python {version}" for version in sorted(missing)]
    for fault in faults:
        print(f"FAULT: {fault}")
    print(f"total: {total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return 1 if faults else 0


def _counts(closing_lines: list[str]) -> dict[str, int]:
    """Return the number of tests by outcome, from the closing lines of pytest."""
    counts: dict[str, int] = {}
    for number, outcome in re.findall(r"(\d+) (\w+)", " ".join(closing_lines)):
        counts[outcome] = counts.get(outcome, 0) + int(number)
    return counts


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
