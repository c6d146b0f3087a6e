"""Running the contestants: each measurement in a separate process, one after the other in turn."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.environments import program

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST_SECONDS = 40
"""The limit in seconds after which a process is given up."""
REPOSITORY = Path(__file__).parent.parent
NOT_INSTALLED = "not installed"


class UnavailableError(Exception):
    """Something that a contestant needs is missing; the message says what."""


@dataclass(frozen=True)
class Measured:
    """The measurements of one process.

    Attributes:
        values: by the title of the measure, in its unit.
        peak_mb: the most memory that the process had; ``None`` if that is not known.
        seconds: how long the whole process took.
        processor_seconds: how long processors worked for it.
    """

    values: dict[str, float]
    peak_mb: float | None
    seconds: float
    processor_seconds: float


def works_of(contestant: str) -> frozenset[str]:
    """Return the functions of a contestant, by name; the module is not imported for that."""
    path = Path(__file__).parent / "contestants" / f"{contestant.replace('-', '_')}.py"
    names: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body if path.exists() else ():
        if isinstance(node, ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.name for alias in node.names}
    return frozenset(names)


def run_work(contestant: str, work: str, size: int, extra_environ: Mapping[str, str]) -> Measured | str:
    """Have a contestant do a work once.

    Args:
        contestant: who.
        work: what, by its name.
        size: how much of it.
        extra_environ: environment variables for it.

    Returns:
        What was measured, or in words why nothing was.
    """
    command = ["python", "-W", "ignore", "-m", "benchmarks.one", contestant, work, str(size)]
    done = run_program(contestant, command, extra_environ=extra_environ, cwd=REPOSITORY)
    if isinstance(done, str):
        return done
    lines = done.output.strip().splitlines()
    try:
        found = json.loads(lines[-1])
        return Measured(found["values"], found["peak_mb"], done.seconds, done.processor_seconds)
    except (IndexError, ValueError, KeyError):
        return "printed no result"


def run_import(contestant: str, statement: str) -> Done | str:
    """Run Python with one statement."""
    # Not in the repository, whose folders would be found first.
    return run_program(contestant, ["python", "-P", "-W", "ignore", "-c", statement])


@dataclass(frozen=True)
class Done:
    """A process that ended well.

    Attributes:
        output: what it printed.
        seconds: from its start to its end.
        processor_seconds: how long processors worked for it and the processes that it waited for.
        peak_mb: the most memory that the largest of these had.
    """

    output: str
    seconds: float
    processor_seconds: float
    peak_mb: float


def run_program(
    contestant: str,
    command: list[str],
    *,
    home: Path | None = None,
    extra_environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    longest_seconds: float = LONGEST_SECONDS,
) -> Done | str:
    """Run a program of a contestant's environment.

    Args:
        contestant: whose.
        command: the program's name, and its arguments.
        home: the user's home directory; an empty one by default.
        extra_environ: environment variables for it.
        cwd: where it runs; in the home by default.
        longest_seconds: when it is killed.

    Returns:
        What came of it, or in words why nothing did.
    """
    path = program(contestant, command[0])
    if path is None:
        return NOT_INSTALLED
    # Homes of their own, so that no contestant finds what the user has.
    with tempfile.TemporaryDirectory() as empty, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        environ = {
            name: value
            for name, value in os.environ.items()
            # An installed program has its bytecode, except at the first start.
            if not name.endswith("_API_KEY") and not name.startswith("ONECLAW_") and name != "PYTHONDONTWRITEBYTECODE"
        }
        home = home or Path(empty)
        environ |= {"HOME": str(home), "ONECLAW_HOME": f"{home}/oneclaw", "LLM_USER_PATH": f"{home}/llm"}
        environ |= extra_environ or {}
        started = time.perf_counter()
        process = subprocess.Popen(  # noqa: S603  # commands of this package
            [str(path), *command[1:]],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            env=environ,
            cwd=cwd or home,
            start_new_session=True,
        )
        watch = threading.Timer(longest_seconds, os.killpg, (process.pid, signal.SIGKILL))
        watch.start()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - started
        watch.cancel()
        if seconds >= longest_seconds:
            return f"over {longest_seconds:g} s"
        for file in (output, errors):
            file.seek(0)
        if process.returncode:
            lines = errors.read().decode(errors="replace").strip().splitlines()
            # The last one with words: groups of exceptions are drawn in frames.
            reason = next((line.strip(" |+-") for line in reversed(lines) if any(map(str.isalpha, line))), "no reason")
            return f"failed: {reason.replace(str(Path.home()), '~').replace(str(home), 'HOME')[:150]}"
        peak_mb = usage.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
        return Done(output.read().decode(errors="replace"), seconds, usage.ru_utime + usage.ru_stime, peak_mb)
