"""Try each mutant in a separate process, with the tests that run the changed lines, until one of them fails."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import CodeType

    import pytest
    from mutants import Mutant
    from running import Functions

KILLED, TIMEOUT, SURVIVED, UNCOVERED = "killed", "timeout", "survived", "no test"
HERE = Path(__file__).parent
# A test that takes this many seconds longer than ten times its usual time has hung.
PATIENCE_SECONDS = 12.0
_CPU_SECONDS = 120
# As of /tmp: tests that root runs have another user write temporary files.
_ENTERED_BY_ALL, _WRITTEN_BY_ALL = 0o711, 0o1777
_FAILED, _BROKEN, _HUNG = 1, 70, -signal.SIGALRM


@dataclass
class Trial:
    """A mutant and the tests that may kill it, those that are most likely to first.

    Attributes:
        mutant: None for a control, which changes nothing.
        file: the module's file.
        source: the mutated source.
        tests: their names.
        changed: the code to put into functions that exist; None if the module has to be imported anew.
    """

    mutant: Mutant | None
    file: str
    source: str
    tests: list[str]
    changed: dict[CodeType, CodeType] | None = field(default_factory=dict)


class Killer:
    """Run trials in processes, several at once.

    Args:
        items: the collected tests.
        seconds: how long each test usually takes.
        functions: the functions of this process.
        processes: how many run at once.
    """

    def __init__(
        self, items: Sequence[pytest.Item], seconds: dict[str, float], functions: Functions, processes: int
    ) -> None:
        self._items = {item.nodeid: item for item in items}
        self._seconds = seconds
        self._functions = functions
        self._processes = processes

    def run(self, trials: Iterator[Trial], on_result: Callable[[Trial, dict[str, Any]], None]) -> None:
        """Run trials and report the outcome of each: its status, the test that killed it, and the seconds it took."""
        running: dict[int, tuple[Trial, Path, float]] = {}
        with tempfile.TemporaryDirectory(prefix="oneclaw-mutants-") as folder:
            Path(folder).chmod(_ENTERED_BY_ALL)
            for number, trial in enumerate(trials):
                if not trial.tests:
                    on_result(trial, {"status": UNCOVERED, "test": "", "seconds": 0})
                    continue
                place = Path(folder, str(number))
                place.mkdir()
                running[self._start(trial, place)] = trial, place, time.monotonic()
                while len(running) >= self._processes:
                    self._wait(running, on_result)
            while running:
                self._wait(running, on_result)

    def _wait(
        self, running: dict[int, tuple[Trial, Path, float]], on_result: Callable[[Trial, dict[str, Any]], None]
    ) -> None:
        process, status = os.wait()
        if process not in running:
            return
        trial, place, started = running.pop(process)
        # Of the programs that a test has started, none is left.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(status)
        noted = (place / "test").read_text() if (place / "test").exists() else ""
        shutil.rmtree(place, ignore_errors=True)
        # A signal other than those of the time limits is a crash, which is a failure.
        names = {0: SURVIVED, _HUNG: TIMEOUT, -signal.SIGXCPU: TIMEOUT}
        if code == _BROKEN:
            raise RuntimeError(f"{trial.mutant} could not be tried: {noted}")
        outcome = names.get(code, KILLED)
        seconds = round(time.monotonic() - started, 2)
        on_result(trial, {"status": outcome, "test": "" if outcome == SURVIVED else noted, "seconds": seconds})

    def _start(self, trial: Trial, place: Path) -> int:
        process = os.fork()
        if process:
            return process
        code = _BROKEN
        try:
            self._prepare(place)
            code = self._import_and_test(trial, place) if trial.changed is None else self._change_and_test(trial, place)
        except BaseException as error:  # noqa: BLE001  # it is reported by the process that waits
            (place / "test").write_text(f"{type(error).__name__}: {error}")
        finally:
            os._exit(code)

    def _prepare(self, place: Path) -> None:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS + 5))
        # What plugins there are is remembered here; a mutant may write nonsense.
        shutil.copytree(os.environ["XDG_CACHE_HOME"], place / "cache")
        temporary = place / "temporary"
        temporary.mkdir()
        temporary.chmod(_WRITTEN_BY_ALL)
        os.environ |= {"XDG_CACHE_HOME": str(place / "cache"), "HYPOTHESIS_STORAGE_DIRECTORY": str(place / "examples")}

    def _change_and_test(self, trial: Trial, place: Path) -> int:
        assert trial.changed is not None
        self._functions.change(trial.file, trial.changed)
        items = [self._items[test] for test in trial.tests]
        config = items[0].config
        config.pluginmanager.unregister(name="terminalreporter")
        config.pluginmanager.register(_EndAtFailure())
        for item, following in zip(items, [*items[1:], None], strict=True):
            (place / "test").write_text(item.nodeid)
            signal.setitimer(signal.ITIMER_REAL, PATIENCE_SECONDS + 10 * self._seconds[item.nodeid])
            try:
                config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            except BaseException:  # noqa: BLE001  # such as KeyboardInterrupt, which would end pytest
                return _FAILED
        return 0

    def _import_and_test(self, trial: Trial, place: Path) -> int:
        (place / "mutant.py").write_text(trial.source)
        # The process group is that of this process, and ends with it.
        environ = os.environ | {
            "ONECLAW_MUTANT_OF": trial.file,
            "ONECLAW_MUTANT": str(place / "mutant.py"),
            "PYTHONPATH": str(HERE / "imported"),
            "TMPDIR": str(place / "temporary"),
        }
        options = ["-x", "-q", "-n0", "--assert=plain", "--hypothesis-seed=0", "-p", "no:cacheprovider"]
        command = [sys.executable, "-m", "pytest", *options, f"@{place / 'tests'}"]
        tests = trial.tests
        signal.setitimer(signal.ITIMER_REAL, 60 + 10 * sum(self._seconds[test] for test in tests))
        while tests:
            (place / "tests").write_text("\n".join(tests))
            done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
            # A mutant may change the names of tests, which come from their parameters.
            lost = [line for line in done.stderr.splitlines() if line.startswith("ERROR: not found: ")]
            if not lost:
                failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
                (place / "test").write_text(failed[0] if failed else "not imported")
                return done.returncode
            tests = [test for test in tests if not any(line.endswith(test) for line in lost)]
        return 0


class _EndAtFailure:
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            os._exit(_FAILED)


def read_results(file: Path) -> dict[str, dict[str, Any]]:
    """Return the outcomes that are written in a file, by the names of the mutants."""
    lines = file.read_text().splitlines() if file.exists() else []
    return {result["name"]: result for result in map(json.loads, lines)}
