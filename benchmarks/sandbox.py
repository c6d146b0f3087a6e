"""The overhead of the sandbox for a command: ``uv run python -m benchmarks.sandbox``.

Commands outside and inside take turns, so that other work of the machine hits both. With the policy means that it is
made for each command, as the tool ``exec`` does. The number of mounts tells the same whatever else the machine does.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from oneclaw_core.files import PathGuard
from oneclaw_core.process import choose_sandbox, run_in_thread, run_program, sandbox_policy

BUDGET_MS = 15.0
_RUNS = 60


_MOUNTS = ("--bind", "--ro-bind", "--dev", "--proc", "--tmpfs", "--remount-ro")


async def measure(directory: Path) -> tuple[list[float], list[float], int]:
    """Run ``true`` in a shell, outside the sandbox and inside in turns.

    Returns:
        The durations of each, in milliseconds, and the number of mounts of a command.
    """
    workspace, start = directory / "home" / "workspace", directory / "project"
    for each in (workspace, start):
        each.mkdir(parents=True)
    guard = PathGuard(workspace, start, directory / "home")
    backend = choose_sandbox("auto").backend
    if backend is None:
        raise SystemExit("there is no sandbox here: oneclaw doctor says why")
    outside, inside = [], []
    command = ["/bin/sh", "-c", "true"]
    for number in range(_RUNS + 5):
        for durations, is_inside in ((outside, False), (inside, True)):
            started = time.perf_counter()
            sandbox = (backend, await run_in_thread(partial(sandbox_policy, guard))) if is_inside else None
            await run_program(
                command, directory=workspace, timeout_seconds=30, on_stdout=lambda _: None, sandbox=sandbox
            )
            if number >= 5:  # the first ones import and probe
                durations.append((time.perf_counter() - started) * 1000)
    with backend.wrap(command, sandbox_policy(guard), workspace) as prepared:
        mounts = sum(each in _MOUNTS for each in prepared.command)
    return outside, inside, mounts


def main() -> None:
    """Print the medians, and the best tenth, which other work of the machine disturbs least."""
    with tempfile.TemporaryDirectory() as name:
        outside, inside, mounts = asyncio.run(measure(Path(name).resolve()))
    median = statistics.median(inside) - statistics.median(outside)
    best = statistics.quantiles(inside, n=10)[0] - statistics.quantiles(outside, n=10)[0]
    sys.stdout.write(
        f"{choose_sandbox('auto').name}: a command takes {statistics.median(outside):.1f} ms outside, "
        f"{statistics.median(inside):.1f} ms inside\n"
        f"added: {median:.1f} ms by the median, {best:.1f} ms by the best tenth; the budget is {BUDGET_MS:.0f} ms\n"
        f"mounts: {mounts}\n"
    )


if __name__ == "__main__":
    main()
