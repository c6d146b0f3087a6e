"""Watching the worker processes that a test starts."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from oneclaw_core.process import python_runner


@pytest.fixture
def started(monkeypatch):
    """The processes that were started, in their order."""
    processes = []

    class Recorded(python_runner.PythonProcess):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            processes.append(self)

    monkeypatch.setattr(python_runner, "PythonProcess", Recorded)
    return processes


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # One that no one has collected yet has ended all the same.
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


def wait_until(condition, what):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


async def until(condition, what):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, what
        await asyncio.sleep(0.005)
