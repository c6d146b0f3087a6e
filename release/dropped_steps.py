"""Drop each step of a tool call or a model request, and count the tests that fail.

Usage: `python release/dropped_steps.py [STEP]...`. It ends with exit status 1 if fewer than three tests fail without a
step. It takes some minutes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEAST_FAILURES = 3
SECONDS = 300  # for the tests without one step
VARIABLE = "ONECLAW_TESTS_DROPPED_STEP"
TESTS_OF_CALLS = ("tests/tools/test_executor.py", "tests/plugins/test_call_hooks.py")
TESTS_OF_REQUESTS = (
    "tests/turn/test_turn_states.py",
    "tests/integration/test_news_in_conversations.py",
    "tests/turn/test_output.py",
    "tests/integration/test_output_formats.py",
    "tests/integration/test_healing.py",
    "tests/turn/test_model_steps.py",
    "tests/turn/test_fallback.py",
    "tests/turn/test_turn_refusals.py",
    "tests/turn/test_turn_hooks_observe.py",
    "tests/turn/test_turn_compaction.py",
    "tests/plugins/test_turn_hooks.py",
    "tests/plugins/test_nothing_stays.py",
    "tests/turn/test_turn.py",
    "tests/turn/test_resume.py",
    "tests/turn/test_compactor.py",
    "tests/integration/test_odd_answers.py",
    "tests/integration/test_refused_parts.py",
    "tests/integration/test_usage_of_attempts.py",
)
FAILED = re.compile(r"^tests/\S+::.* FAILED", re.MULTILINE)
ORDER_OF_CALLS = re.compile(r"^(observed > .*) > permitted \| (.*) > Running$", re.MULTILINE)
STEP_OF_REQUESTS = re.compile(r"^\d+\. `(\w+)` \(`\w+\.\w+`\) ", re.MULTILINE)


def documented_steps() -> dict[str, tuple[str, ...]]:
    """Return the steps that can be dropped, as docs/architecture.md lists them, each with the tests to run."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    of_calls, of_requests = ORDER_OF_CALLS.search(text), STEP_OF_REQUESTS.findall(text)
    assert of_calls is not None
    of_requests.remove("streamed")  # the end
    calls = dict.fromkeys(" > ".join(of_calls.groups()).split(" > "), TESTS_OF_CALLS)
    return calls | dict.fromkeys(of_requests, TESTS_OF_REQUESTS)


def failures_without(step: str, tests: tuple[str, ...]) -> int:
    """Run the tests of a chain without a step; return how many fail, at most one more than are wanted.

    A test that does not end without the step counts as one that fails.
    """
    command = [sys.executable, "-m", "pytest", "-v", "-p", "dropped_steps", f"--maxfail={LEAST_FAILURES + 1}", *tests]
    environ = os.environ | {VARIABLE: step, "PYTHONPATH": str(ROOT / "release")}
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False, timeout=SECONDS
        )
    except subprocess.TimeoutExpired as error:
        return len(FAILED.findall((error.stdout or b"").decode())) + 1
    if done.returncode not in (0, 1):
        sys.exit(done.stdout + done.stderr)
    return len(FAILED.findall(done.stdout))


def pytest_configure() -> None:
    """Leave one step out, in the process that runs the tests."""
    from oneclaw_core.types import steps

    whole, dropped = steps.chain, os.environ[VARIABLE]

    def chain(given: object, end: object) -> object:
        return whole([each for each in given if each.__qualname__.partition(".")[0] != dropped], end)

    steps.chain = chain


def main() -> None:
    """Print the failures without each step."""
    few, known = [], documented_steps()
    for step in sys.argv[1:] or known:
        count = failures_without(step, known[step])
        print(f"{step}: {count} tests fail", flush=True)
        few += [step] if count < LEAST_FAILURES else []
    if few:
        sys.exit(f"too few tests fail without: {', '.join(few)}")


if __name__ == "__main__":
    main()
