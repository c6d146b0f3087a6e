"""Drop each step of a tool call in turn, and count the tests that fail: `python release/dropped_steps.py [STEP]...`.

It ends with exit status 1 if fewer than three tests fail without a step. It takes some minutes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEAST_FAILURES = 3
VARIABLE = "ONECLAW_TESTS_DROPPED_STEP"
TESTS = ("tests/tools/test_executor.py", "tests/plugins/test_call_hooks.py")
ORDER = re.compile(r"^(observed > .*) > permitted \| (.*) > Running$", re.MULTILINE)


def documented_steps() -> list[str]:
    """Return the steps of a call that can be dropped, as docs/architecture.md lists them."""
    found = ORDER.search((ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))
    assert found is not None
    return " > ".join(found.groups()).split(" > ")


def failures_without(step: str) -> int:
    """Run the tests of calls without a step; return how many fail, at most one more than are wanted."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "dropped_steps", f"--maxfail={LEAST_FAILURES + 1}", *TESTS]
    environ = os.environ | {VARIABLE: step, "PYTHONPATH": str(ROOT / "release")}
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    counted = re.search(r"(\d+) failed", done.stdout)
    return int(counted[1]) if counted is not None else 0


def pytest_configure() -> None:
    """Leave one step out, in the process that runs the tests."""
    from oneclaw_core.types import steps

    whole, dropped = steps.chain, os.environ[VARIABLE]

    def chain(given: object, end: object) -> object:
        return whole([each for each in given if each.__qualname__.partition(".")[0] != dropped], end)

    steps.chain = chain


def main() -> None:
    """Print the failures without each step."""
    few = []
    for step in sys.argv[1:] or documented_steps():
        count = failures_without(step)
        print(f"{step}: {count} tests fail", flush=True)
        few += [step] if count < LEAST_FAILURES else []
    if few:
        sys.exit(f"too few tests fail without: {', '.join(few)}")


if __name__ == "__main__":
    main()
