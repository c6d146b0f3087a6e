"""Tell what a tox run has tested, and fail if it is less than it has to be.

Usage: ``python tested.py TOX_RESULT_JSON PYTHON_VERSION ...``, where each version, such as ``3.12``, must have been
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
RUNS_ON_VERSIONS = re.compile(r"py\d+")
RUNS_TESTS = re.compile(r"py\d+|plugins|third-party|lowest|release")
OUTCOMES = ("failed", "passed", "skipped", "xfailed", "error", "errors")


def main(report_path: Path, required_versions: list[str]) -> int:
    """Print one line for each environment and a total, like the closing line of pytest.

    Args:
        report_path: what ``tox --result-json`` wrote.
        required_versions: the Python versions, such as ``3.12``, on which tests must have passed.

    Returns:
        0 if every environment passed and tested what it should, else 1.
    """
    if not report_path.exists():
        print(f"tox left no report at {report_path}: it did not get to the end")
        return 1
    missing = set(required_versions)
    environments: dict[str, dict[str, Any]] = json.loads(report_path.read_text(encoding="utf-8"))["testenvs"]
    problems = []
    total: dict[str, int] = {}
    for name, environment in environments.items():
        result = environment.get("result")
        if result is None:  # tox knows it, and was not asked to run it
            continue
        runs = environment.get("test") or ()
        output = COLOUR.sub("", "".join(run["output"] for run in runs))
        counts = _counts(CLOSING_LINE.findall(output))
        for outcome, count in counts.items():
            total[outcome] = total.get(outcome, 0) + count
        seconds = sum(run["elapsed"] for run in runs)
        if result["skipped"]:
            print(f"{name}: skipped, its Python is missing")
            if not RUNS_ON_VERSIONS.fullmatch(name):
                problems.append(f"{name} was skipped: install its Python")
            continue
        print(f"{name}: {_text(counts) or 'done'} in {seconds:.1f}s")
        if not result["success"]:
            problems.append(f"{name} failed")
        elif RUNS_TESTS.fullmatch(name) and not counts.get("passed"):
            problems.append(f"{name} passed without running a test")
        elif RUNS_ON_VERSIONS.fullmatch(name):
            missing -= set(VERSION.findall(output))
    problems += [f"nothing was tested on Python {version}" for version in sorted(missing)]
    for problem in problems:
        print(f"PROBLEM: {problem}")
    print(f"===== {_text(total) or 'no tests ran'} =====")
    return 1 if problems else 0


def _counts(closing_lines: list[str]) -> dict[str, int]:
    """Return the number of tests by outcome, from the closing lines of pytest."""
    counts: dict[str, int] = {}
    for number, outcome in re.findall(r"(\d+) (\w+)", " ".join(closing_lines)):
        if outcome in OUTCOMES:
            counts[outcome] = counts.get(outcome, 0) + int(number)
    return counts


def _text(counts: dict[str, int]) -> str:
    return ", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES if outcome in counts)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
