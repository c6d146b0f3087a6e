"""Change the core's spine in one place at a time, and count how many of the changes the tests notice.

Usage: ``uv run tox -e mutation -- --package turn --size 250 --seed 1``; CONTRIBUTING.md says more.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from coverage_of_tests import TestCoverage, imported_modules
from hypothesis import Phase, settings
from killing import SURVIVED, UNCOVERED, Killer, Trial, read_results
from mutants import Module, Mutant, changed_code, sample
from report import judged, survivors, table
from running import Functions, import_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import CodeType

ROOT = Path(__file__).parents[2]
PACKAGES = ("tools", "turn", "plugins", "sessions")
# Tests that mostly run in one process; what is left out repeats on the command line what these show.
TESTS = (
    *("tests/tools", "tests/turn", "tests/plugins", "tests/sessions", "tests/integration", "tests/agents"),
    *("tests/builtin", "tests/channels", "tests/services", "tests/types", "tests/project"),
    *("tests/test_app.py", "tests/test_app_embedding.py", "tests/test_app_turn_choices.py"),
    *(f"tests/cli/test_cli_{name}.py" for name in ("questions", "broken_plugins", "permission_meanings", "plugins")),
    *(f"tests/cli/test_cli_{name}.py" for name in ("plugin_origins", "plugin_settings", "doctor")),
    *("tests/security/test_hostile_schemas.py", "tests/security/test_provenance.py"),
    "plugins/devtools/tests/test_cli_plugin_check.py",
)
# Started once for each test that takes longer, a mutant would take minutes.
_SLOW_SECONDS = 3.0


def main() -> int:
    """Read the options, collect the tests with pytest, and try the mutants in its loop."""
    options = _options()
    options.folder.mkdir(parents=True, exist_ok=True)
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(options.folder / "examples")
    # What fails need not be made simpler, nor be remembered.
    phases = (Phase.explicit, Phase.generate)
    settings.register_profile(
        "mutation", deadline=None, derandomize=True, max_examples=20, phases=phases, database=None
    )
    return pytest.main(
        [
            *(options.tests or TESTS),
            "-q",
            "--assert=plain",
            "--hypothesis-profile=mutation",
            "-pno:cacheprovider",
            "-n0",
            "-mnot long",
            f"--rootdir={ROOT}",
        ],
        plugins=[Session(options)],
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mutation", description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument(
        "tests", nargs="*", help="test files or folders (default: those of the core that run in a process)"
    )
    parser.add_argument("--package", action="append", choices=PACKAGES, help="a package to mutate (default: all four)")
    parser.add_argument("--module", help="mutate only modules whose path contains this text")
    parser.add_argument("--size", type=int, default=250, help="mutants of each package; 0 for all (default: 250)")
    parser.add_argument("--seed", type=int, default=1, help="another seed draws other mutants (default: 1)")
    parser.add_argument("--seconds", type=float, default=10, help="of tests for each mutant; 0 for all (default: 10)")
    parser.add_argument("--processes", type=int, default=1, help="mutants tried at once (default: 1)")
    parser.add_argument("--again", action="store_true", help="try the survivors of the last run once more")
    parser.add_argument("--controls", type=int, default=20, help="runs that change nothing (default: 20)")
    parser.add_argument("--folder", type=Path, default=ROOT / ".mutation", help="where results are kept")
    options = parser.parse_args()
    options.package = options.package or list(PACKAGES)
    return options


class Session:
    """Try mutants where pytest would run the collected tests."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._results = options.folder / f"results-{options.seed}.jsonl"
        self._cache = options.folder / "cache"
        self._control_failures: list[str] = []
        self._populations: dict[str, int] = {}
        self._drawn: set[str] = set()
        self._imports: dict[str, set[str]] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out what needs a PostgreSQL server, which would be started for each mutant."""
        items[:] = [
            item
            for item in items
            if isinstance(item, pytest.Function)
            and "postgres" not in item.fixturenames
            and not (hasattr(item, "callspec") and item.callspec.params.get("database_kind") == "postgresql")
        ]

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Record what tests cover, draw mutants and try them."""
        if session.testsfailed:
            raise session.Interrupted("tests cannot be collected")
        packages = [f"oneclaw_core.{name}" for name in PACKAGES]
        import_all(["oneclaw_core", *packages])
        if self._cache.exists():
            shutil.copytree(self._cache, os.environ["XDG_CACHE_HOME"], dirs_exist_ok=True)
        record = self._options.folder / "coverage.json"
        folders = [ROOT / "oneclaw_core" / name for name in PACKAGES]
        coverage = TestCoverage(record, ROOT, folders)
        missing = coverage.missing(session.items)
        if missing:
            print(f"\nrecording what {len(missing)} tests cover", flush=True)
            self._record(coverage, missing)
            coverage = TestCoverage(record, ROOT, folders)
        functions = Functions()
        killer = Killer(session.items, coverage.seconds, functions, self._options.processes)
        collected = {item.nodeid for item in session.items}
        files = {item.path for item in session.items}
        self._imports = {str(file.relative_to(ROOT)): imported_modules(file) for file in files}
        killer.run(self._trials(coverage, functions, collected), self._note)
        self._report()
        return True

    def _record(self, coverage: TestCoverage, items: list[pytest.Item]) -> None:
        process = os.fork()
        if process == 0:
            try:
                coverage.record(items)
                shutil.copytree(os.environ["XDG_CACHE_HOME"], self._cache, dirs_exist_ok=True)
            finally:
                os._exit(0)
        os.waitpid(process, 0)

    def _trials(self, coverage: TestCoverage, functions: Functions, collected: set[str]) -> Iterator[Trial]:
        done = read_results(self._results)
        controls = self._options.controls
        for package in self._options.package:
            folder = ROOT / "oneclaw_core" / package
            files = sorted(file for file in folder.rglob("*.py") if file.name != "__init__.py")
            modules = {
                module.path: module
                for module in (Module(file, ROOT) for file in files)
                if not self._options.module or self._options.module in module.path
            }
            self._populations[package] = sum(len(module.mutants) for module in modules.values())
            chosen = random.Random(f"{self._options.seed} {package}")  # noqa: S311
            drawn = sample(list(modules.values()), self._options.size, chosen)
            # What a run has tried that was stopped is a sample as well.
            chosen.shuffle(drawn)
            self._drawn.update(mutant.name for mutant, _ in drawn)
            for mutant, source in drawn:
                before = done.get(mutant.name)
                if before and not (self._options.again and before["status"] in (SURVIVED, UNCOVERED)):
                    continue
                file = str(modules[mutant.path].file)
                changed = changed_code(modules[mutant.path].source, source, file)
                if changed is not None and not functions.can_change(file, changed):
                    changed = None
                # What is outside of functions runs when a module is imported, before any test.
                found = coverage.of(mutant.path, None if changed is None else mutant.lines)
                if changed is None:
                    # A class of data runs no line of its module when it is used.
                    known = set(found)
                    found += [test for test in self._importing(mutant, coverage.seconds) if test not in known]
                tests = self._choose(mutant, [test for test in found if test in collected], coverage.seconds)
                yield Trial(mutant, file, source, tests, changed)
                if controls and tests:
                    controls -= 1
                    unchanged: dict[CodeType, CodeType] | None = None if changed is None else {}
                    yield Trial(None, file, modules[mutant.path].source, tests, unchanged)

    def _importing(self, mutant: Mutant, tests: Iterable[str]) -> Iterator[str]:
        """Find the tests whose files import the module of a mutant."""
        module = mutant.path.removesuffix(".py").replace("/", ".")
        return (test for test in tests if module in self._imports.get(test.partition("::")[0], ()))

    def _choose(self, mutant: Mutant, tests: list[str], seconds: dict[str, float]) -> list[str]:
        """Sort tests, those of the module and the quick ones first, and leave out what would take too long."""
        module = Path(mutant.path)
        package = module.parts[1]

        def distance(test: str) -> tuple[int, float]:
            file = Path(test.partition("::")[0])
            is_own = module.stem in file.stem
            is_near = file.parts[1] == package
            return (0 if is_own and is_near else 1 if is_near else 2), seconds[test]

        limit = self._options.seconds or float("inf")
        found: list[str] = []
        for test in sorted(tests, key=distance):
            if seconds[test] < _SLOW_SECONDS or limit == float("inf"):
                limit -= seconds[test]
                found.append(test)
            if limit < 0:
                break
        return found

    def _note(self, trial: Trial, outcome: dict[str, Any]) -> None:
        mutant = trial.mutant
        if mutant is None:
            if outcome["status"] != SURVIVED:
                self._control_failures.append(outcome["test"])
                print(f"control failed: {outcome}", flush=True)
            return
        result = {
            "name": mutant.name,
            "package": Path(mutant.path).parts[1],
            "path": mutant.path,
            "function": mutant.function,
            "line": mutant.lines[0],
            "operator": mutant.operator,
            "before": mutant.before,
            "after": mutant.after,
            "tests": len(trial.tests),
            **outcome,
        }
        with self._results.open("a") as file:
            file.write(json.dumps(result) + "\n")
        print(f"{outcome['status']:9} {mutant.name} {outcome['seconds']} s, {outcome['test']}", flush=True)

    def _report(self) -> None:
        results = judged(read_results(self._results).values())
        results = [result for result in results if result["name"] in self._drawn]
        text = f"{table(results, self._populations)}\n\n{survivors(results)}\n"
        (self._options.folder / f"report-{self._options.seed}.txt").write_text(text)
        print(f"\n\n{table(results, self._populations)}\n\ncontrols that failed: {len(self._control_failures)}")


if __name__ == "__main__":
    sys.exit(main())
