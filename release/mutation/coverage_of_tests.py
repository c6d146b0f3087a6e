"""Record which tests run which lines, each test once as long as its file and the modules that it runs stay the same."""

from __future__ import annotations

import ast
import hashlib
import json
import tempfile
from typing import TYPE_CHECKING

from coverage import Coverage

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    import pytest


class TestCoverage:
    """The tests that passed, how long each took, and the tests that ran each line.

    Args:
        record: a file that keeps it.
        root: the repository.
        packages: folders of the packages; if a file in them changes, the tests that ran it are recorded anew.
    """

    __test__ = False

    def __init__(self, record: Path, root: Path, packages: Iterable[Path]) -> None:
        self._record = record
        self._root = root
        self._files = sorted(file for package in packages for file in package.rglob("*.py"))
        self._state = {str(file.relative_to(root)): _digest([file]) for file in self._files}
        self.seconds: dict[str, float] = {}
        self._digests: dict[str, str] = {}
        self._seen: set[str] = set()
        self._lines: dict[str, dict[int, list[str]]] = {}
        self._load()

    def _load(self) -> None:
        found = json.loads(self._record.read_text()) if self._record.exists() else {}
        state = found.get("state")
        if not isinstance(state, dict):
            return
        self.seconds, self._digests, names = found["seconds"], found["digests"], found["names"]
        self._seen = set(found["seen"])
        self._lines = {
            path: {int(line): [names[number] for number in tests] for line, tests in lines.items()}
            for path, lines in found["lines"].items()
        }
        changed = [path for path in {**state, **self._state} if state.get(path) != self._state.get(path)]
        ran = {test for path in changed for tests in self._lines.get(path, {}).values() for test in tests}
        # A test that failed may have been about what has changed.
        self._forget(ran | (self._seen - self.seconds.keys() if changed else set()))

    def _forget(self, forgotten: Collection[str]) -> None:
        self.seconds = {test: taken for test, taken in self.seconds.items() if test not in forgotten}
        self._seen = {test for test in self._seen if test not in forgotten}
        for lines in self._lines.values():
            for line, tests in lines.items():
                lines[line] = [test for test in tests if test not in forgotten]

    def missing(self, items: Iterable[pytest.Item]) -> list[pytest.Item]:
        """Forget tests of files that have changed, and return those that are not recorded."""
        digests: dict[Path, str] = {}
        wanted = list(items)
        for item in wanted:
            if item.path not in digests:
                digests[item.path] = _digest([item.path])
        current = {str(path.relative_to(self._root)): digest for path, digest in digests.items()}
        old = {path for path, digest in current.items() if self._digests.get(path) != digest}
        self._forget({test for test in {*self._seen, *self.seconds} if _file_of(test) in old})
        self._digests.update(current)
        return [item for item in wanted if item.nodeid not in self._seen]

    def record(self, items: list[pytest.Item]) -> None:
        """Run tests, and keep what passed in the file. The process cannot be used for anything else afterwards."""
        watcher = _Watcher()
        with tempfile.TemporaryDirectory() as folder:
            coverage = Coverage(
                data_file=f"{folder}/coverage",
                include=[str(file) for file in self._files],
                config_file=False,
                messages=False,
            )
            coverage.start()
            items[0].config.pluginmanager.register(watcher)
            for item, following in zip(items, [*items[1:], None], strict=True):
                coverage.switch_context(item.nodeid)
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            coverage.stop()
            data = coverage.get_data()
            self.seconds |= watcher.passed
            self._seen.update(item.nodeid for item in items)
            for file in self._files:
                lines = self._lines.setdefault(str(file.relative_to(self._root)), {})
                for line, tests in data.contexts_by_lineno(str(file)).items():
                    lines.setdefault(line, []).extend(test for test in tests if test in watcher.passed)
        self._save()

    def _save(self) -> None:
        numbers = {test: number for number, test in enumerate(self.seconds)}
        lines = {
            path: {line: [numbers[test] for test in tests if test in numbers] for line, tests in found.items()}
            for path, found in self._lines.items()
        }
        content = {
            "state": self._state,
            "seconds": self.seconds,
            "digests": self._digests,
            "names": list(numbers),
            "seen": sorted(self._seen),
        }
        self._record.parent.mkdir(parents=True, exist_ok=True)
        self._record.write_text(json.dumps(content | {"lines": lines}))

    def of(self, path: str, lines: tuple[int, int] | None = None) -> list[str]:
        """Return the tests that ran one of these lines, or any line of a module."""
        found: Mapping[int, list[str]] = self._lines.get(path, {})
        first, last = lines or (0, max(found, default=0))
        return list({test: None for line in range(first, last + 1) for test in found.get(line, ())})


def imported_modules(file: Path) -> set[str]:
    """Return the dotted names of what a file imports: modules, and what it takes from them."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found.update(each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.update((node.module, *(f"{node.module}.{each.name}" for each in node.names)))
    return found


class _Watcher:
    def __init__(self) -> None:
        self.passed: dict[str, float] = {}
        self._seconds: dict[str, float] = {}
        self._failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        test = report.nodeid
        self._seconds[test] = self._seconds.get(test, 0.0) + report.duration
        if not report.passed:
            self._failed.add(test)
        if report.when == "teardown" and test not in self._failed:
            self.passed[test] = round(self._seconds[test], 3)


def _digest(files: Iterable[Path]) -> str:
    found = hashlib.sha256()
    for file in files:
        found.update(file.read_bytes())
    return found.hexdigest()


def _file_of(test: str) -> str:
    return test.partition("::")[0]
