"""Running the contestants: each measurement in a process of its own, one after the other in turn."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

LONGEST_SECONDS = 300
REPOSITORY = Path(__file__).parent.parent


@dataclass(frozen=True)
class Measured:
    """What one process measured.

    Attributes:
        value: in the unit of the work.
        peak_mb: the most memory that the process had.
    """

    value: float
    peak_mb: float | None = None


def run_work(contestant: str, work: str, size: int) -> Measured | str:
    """Have a contestant do a work once; what is wrong, where it cannot."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.one", contestant, work, str(size)]
    output = _run(command, cwd=REPOSITORY)
    if isinstance(output, str):
        return output
    text = output[0].strip().splitlines()
    found = json.loads(text[-1]) if text else {}
    return Measured(found["value"], found["peak_mb"]) if found else "does no such work"


def run_command(command: tuple[str, ...]) -> Measured | str:
    """How long a whole process takes, from its start to its end."""
    output = _run([_program(command[0]), *command[1:]])
    return output if isinstance(output, str) else Measured(output[1])


def run_import(statement: str) -> Measured | str:
    """The same of Python with one statement."""
    output = _run([sys.executable, "-W", "ignore", "-c", statement])
    return output if isinstance(output, str) else Measured(output[1])


def _program(name: str) -> str:
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.exists() else name


def _run(command: list[str], cwd: Path | None = None) -> tuple[str, float] | str:
    # Homes of their own, so that no contestant finds what the user has.
    with tempfile.TemporaryDirectory() as home:
        environ = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
        # Whoever installs a program has its bytecode, all but the first time.
        environ.pop("PYTHONDONTWRITEBYTECODE", None)
        environ |= {"HOME": home, "ONECLAW_HOME": f"{home}/oneclaw", "LLM_USER_PATH": f"{home}/llm"}
        started = time.perf_counter()
        try:
            done = subprocess.run(  # noqa: S603  # commands of this package
                command, capture_output=True, text=True, timeout=LONGEST_SECONDS, env=environ, cwd=cwd, check=False
            )
        except subprocess.TimeoutExpired:
            return f"not done in {LONGEST_SECONDS} s"
        except OSError as error:
            return f"cannot be run: {error.strerror}"
        seconds = time.perf_counter() - started
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        return f"failed: {lines[-1][:150]}"
    return done.stdout, seconds
