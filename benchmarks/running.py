"""Running the contestants: each measurement in a process of its own, one after the other in turn."""

from __future__ import annotations

import ast
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST_SECONDS = 60
"""What takes a process longer is given up."""
CORPUS_SECONDS = 600
REPOSITORY = Path(__file__).parent.parent


@dataclass(frozen=True)
class Measured:
    """What one process measured.

    Attributes:
        values: in the unit of the work, by the title of the row; the title is empty if there is but one.
        peak_mb: the most memory that the process had; ``None`` if nobody looked.
        seconds: how long the whole process took.
        processor_seconds: how long processors worked for it.
    """

    values: dict[str, float]
    peak_mb: float | None
    seconds: float
    processor_seconds: float


def works_of(contestant: str) -> frozenset[str]:
    """What a contestant does, by the names of its functions; it is not imported for that."""
    path = Path(__file__).parent / "contestants" / f"{contestant.replace('-', '_')}.py"
    names: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.name for alias in node.names}
    return frozenset(names)


def run_work(contestant: str, work: str, size: int | str, extra_environ: Mapping[str, str]) -> Measured | str:
    """Have a contestant do a work once.

    Args:
        contestant: who.
        work: what, by its name.
        size: how much of it.
        extra_environ: environment variables for it.

    Returns:
        What was measured, or in words why nothing was.
    """
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.one", contestant, work, str(size)]
    done = _run(command, extra_environ=extra_environ, cwd=REPOSITORY)
    if isinstance(done, str):
        return done
    lines = done.output.strip().splitlines()
    try:
        found = json.loads(lines[-1])
        return Measured(found["values"], found["peak_mb"], done.seconds, done.processor_seconds)
    except (IndexError, ValueError, KeyError):
        return "printed no result"


def run_command(command: tuple[str, ...]) -> Measured | str:
    """How long a program takes as a user starts it, from its start to its end."""
    return _timed(_run([_program(command[0]), *command[1:]]))


def run_import(statement: str) -> Measured | str:
    """The same of Python with one statement."""
    # Not in the repository, whose folders would be found first.
    return _timed(_run([sys.executable, "-P", "-W", "ignore", "-c", statement]))


def make_corpus(folder: Path, messages: int) -> str | None:
    """Make what is searched; tells why if it cannot."""
    command = [sys.executable, "-m", "benchmarks.corpus", str(folder), str(messages)]
    done = _run(command, cwd=REPOSITORY, longest_seconds=CORPUS_SECONDS)
    return done if isinstance(done, str) else None


@dataclass(frozen=True)
class _Done:
    output: str
    seconds: float
    processor_seconds: float


def _timed(done: _Done | str) -> Measured | str:
    return done if isinstance(done, str) else Measured({}, None, done.seconds, done.processor_seconds)


def _program(name: str) -> str:
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.exists() else name


def _run(
    command: list[str],
    *,
    extra_environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    longest_seconds: float = LONGEST_SECONDS,
) -> _Done | str:
    # Homes of their own, so that no contestant finds what the user has.
    with tempfile.TemporaryDirectory() as home:
        environ = {
            name: value
            for name, value in os.environ.items()
            # Whoever installs a program has its bytecode, all but the first time.
            if not name.endswith("_API_KEY") and not name.startswith("ONECLAW_") and name != "PYTHONDONTWRITEBYTECODE"
        }
        environ |= {"HOME": home, "ONECLAW_HOME": f"{home}/oneclaw", "LLM_USER_PATH": f"{home}/llm"}
        environ |= extra_environ or {}
        used, started = _processor_seconds(), time.perf_counter()
        try:
            done = subprocess.run(  # noqa: S603  # commands of this package
                command, capture_output=True, text=True, timeout=longest_seconds, env=environ, cwd=cwd, check=False
            )
        except subprocess.TimeoutExpired:
            return f"over {longest_seconds} s"
        except OSError as error:
            return f"cannot be run: {error.strerror}"
        seconds, used = time.perf_counter() - started, _processor_seconds() - used
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        return f"failed: {lines[-1].replace(str(Path.home()), '~')[:150]}"
    return _Done(done.stdout, seconds, used)


def _processor_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
