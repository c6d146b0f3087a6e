"""Run the conformance suite of MCP against OneClaw, as a client and as a server.

The suite is the npm package ``@modelcontextprotocol/conformance``. It needs Node 22, which is on npm as ``node``. Both
are installed below FOLDER if they are not there::

    uv run python plugins/mcp/tests/conformance.py FOLDER

Each scenario runs alone, once for each version of the protocol that it is for. All scenarios that do not pass are in
``conformance.json``, with the reason. A key there is a scenario, or ``SCENARIO:CHECK`` where the other checks of it
pass. It can begin with the only version of the suite that it is for. The exit status is 1 if something fails, warns or
is skipped that is not named there, or if something passes that is.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
KNOWN = HERE / "conformance.json"
PACKAGE = "@modelcontextprotocol/conformance"
VERSIONS = ("0.1.16", "0.2.0-alpha.12")
SIDES = ("server", "client")
SECONDS = 90
_READY = "serving MCP on "


@dataclass(frozen=True)
class Outcome:
    """The outcome of a scenario.

    Attributes:
        word: ``passes``, ``fails``, ``warns`` or ``skips``.
        checks: the status of each check; the worst of those with the same id.
        text: of the faults.
    """

    word: str
    checks: dict[str, str]
    text: str = ""

    @property
    def faults(self) -> set[str]:
        """The ids of the checks that do not pass."""
        return {name for name, status in self.checks.items() if status in ("FAILURE", "WARNING")}


class Suite:
    """An installed version of the suite.

    Args:
        folder: the one that it is installed in, or will be.
        version: of the suite.
    """

    def __init__(self, folder: Path, version: str) -> None:
        modules = folder.resolve() / "node_modules"
        self._modules = modules / ".bin"
        self._package = modules / PACKAGE
        self._command = [str(self._modules / "node"), str(self._package / "dist" / "index.js")]
        self._folder = folder
        self.version = version
        self.is_dated = not version.startswith("0.1.")

    def install(self) -> None:
        """Install it if it is not there."""
        if not (self._package / "package.json").exists():
            wanted = ["node@22", f"{PACKAGE}@{self.version}"]
            subprocess.run(["npm", "install", "--silent", "--prefix", str(self._folder), *wanted], check=True)

    def scenarios(self, side: str) -> list[tuple[str, str]]:
        """Return the scenarios of a side, each with a version of the protocol that it is for."""
        listed = subprocess.run([*self._command, "list"], text=True, capture_output=True, check=True).stdout
        _, _, text = listed.partition(f"{side.capitalize()} scenarios")
        found: list[tuple[str, str]] = []
        for line in text.splitlines()[1:]:
            match = re.match(r"\s+- (\S+) \[(.*)\]", line)
            if match is None and found:
                break
            if match is not None:
                versions = match[2].split(",")
                found += [(match[1], each) for each in (versions if self.is_dated else versions[-1:])]
        return found

    def run(self, side: str, scenario: str, protocol: str, url: str | None) -> Outcome:
        """Run a scenario.

        Args:
            side: that is tested.
            scenario: its name.
            protocol: a version of the protocol, or a word for other scenarios.
            url: of the server that is tested.
        """
        if side == "client":
            program = f"{sys.executable} {HERE / 'conformance_client.py'}"
            given = ["--command", program, "--timeout", str(SECONDS * 900)]
        else:
            given = ["--url", str(url)]
        if self.is_dated and protocol.startswith("20"):
            given += ["--spec-version", protocol]
        environment = {**os.environ, "PATH": f"{self._modules}{os.pathsep}{os.environ['PATH']}"}
        with tempfile.TemporaryDirectory() as results:
            command = [*self._command, side, *given, "--scenario", scenario, "-o", results]
            try:
                done = subprocess.run(
                    command, text=True, capture_output=True, timeout=SECONDS, env=environment, check=False
                )
            except subprocess.TimeoutExpired:
                return Outcome("fails", {}, f"no end within {SECONDS} s")
            checks = [each for path in Path(results).rglob("checks.json") for each in json.loads(path.read_text())]
            errors = [path.read_text() for path in Path(results).rglob("std*.txt")]
        return _outcome(done, checks, errors)


def _outcome(done: subprocess.CompletedProcess[str], checks: list[dict[str, str]], errors: list[str]) -> Outcome:
    order = ("INFO", "SKIPPED", "SUCCESS", "WARNING", "FAILURE")
    worst: dict[str, str] = {}
    for each in checks:
        worst[each["id"]] = max(worst.get(each["id"], "INFO"), each["status"], key=order.index)
    statuses = set(worst.values())
    bad = [f"{each['id']}: {each.get('errorMessage')}" for each in checks if each["status"] in order[3:]]
    text = "\n".join([*bad, *errors] or [done.stdout[-3000:], done.stderr[-3000:]])
    if done.returncode != 0 or "FAILURE" in statuses:
        return Outcome("fails", worst, text)
    if "WARNING" in statuses:
        return Outcome("warns", worst, text)
    # Messages that are valid by their schema are no sign that anything was tested.
    is_tested = "SUCCESS" in {status for name, status in worst.items() if not name.startswith("wire-schema-")}
    return Outcome("passes" if is_tested else "skips", worst)


@dataclass
class Report:
    """The outcomes of a side of a version of the suite, compared with what is known.

    Attributes:
        known: the reasons, by scenario or ``SCENARIO:CHECK``.
        unexpected: a line for each difference.
        words: how often which outcome came.
        checks: how often which status came.
        met: the known entries that were right.
    """

    known: dict[str, str]
    unexpected: list[str] = field(default_factory=list)
    words: Counter[str] = field(default_factory=Counter)
    checks: Counter[str] = field(default_factory=Counter)
    met: set[str] = field(default_factory=set)

    def add(self, scenario: str, protocol: str, outcome: Outcome) -> str:
        """Add an outcome; return what is unexpected of it, empty for nothing."""
        self.words[outcome.word] += 1
        self.checks.update(outcome.checks.values())
        named = {each.partition(":")[2] for each in self.known if each.startswith(f"{scenario}:")}
        if scenario in self.known:
            self.met.add(scenario)
            wrong = "" if outcome.word != "passes" else "passes, though it is known to fail"
        elif named:
            self.met |= {f"{scenario}:{each}" for each in named & outcome.faults}
            others, better = outcome.faults - named, named & set(outcome.checks) - outcome.faults
            wrong = " ".join([*(f"{each} fails" for each in sorted(others)), *(f"{each} passes" for each in better)])
            if not outcome.faults and outcome.word != "passes":
                wrong = outcome.word
        else:
            wrong = "" if outcome.word == "passes" else outcome.word
        if wrong:
            self.unexpected.append(f"{scenario} [{protocol}]: {wrong}")
        return wrong


def stale(met: dict[str, set[str]]) -> list[str]:
    """Return the known entries of each side that no version of the suite has met."""
    entries = [
        (side, each.rpartition(" ")[2]) for side, known in json.loads(KNOWN.read_text()).items() for each in known
    ]
    return [f"{each} is in {KNOWN.name}, and did not happen" for side, each in entries if each not in met[side]]


def known_faults(side: str, suite: Suite) -> dict[str, str]:
    """Read what is known not to pass."""
    found = {}
    for key, reason in json.loads(KNOWN.read_text())[side].items():
        version, _, name = key.rpartition(" ")
        if version in ("", suite.version):
            found[name] = reason
    return found


@contextmanager
def served() -> Iterator[str]:
    """Run ``oneclaw mcp serve`` with the tools that the suite calls; yield its URL."""
    command = [sys.executable, str(HERE / "conformance_server.py")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        try:
            for line in running.stderr:
                if line.startswith(_READY):
                    break
                click.echo(line, err=True, nl=False)
            else:
                sys.exit(f"the server ended with {running.wait()}")
            yield line.removeprefix(_READY).partition(";")[0]
        finally:
            running.terminate()
            running.communicate()


def run_side(suite: Suite, side: str, url: str | None, only: str | None, *, is_verbose: bool) -> Report:
    """Run scenarios one after the other; a busy machine makes them fail side by side."""
    report = Report(known_faults(side, suite))
    for scenario, protocol in suite.scenarios(side):
        if only and not re.search(only, scenario):
            continue
        outcome = suite.run(side, scenario, protocol, url)
        wrong = report.add(scenario, protocol, outcome)
        click.echo(f"{outcome.word:7} {scenario} [{protocol}]{'   <-- not expected' if wrong else ''}")
        if outcome.text and (is_verbose or wrong):
            click.echo(outcome.text)
    return report


def main() -> int:
    """Run all that the options leave."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the suite is installed")
    parser.add_argument("--version", choices=VERSIONS, help="run this version of the suite alone")
    parser.add_argument("--side", choices=SIDES, help="test this side alone")
    parser.add_argument("--only", help="a pattern of names of scenarios")
    parser.add_argument("--verbose", action="store_true", help="show what failed as expected, too")
    options = parser.parse_args()
    lines, unexpected = [], []
    met: dict[str, set[str]] = {side: set() for side in SIDES}
    with served() as url:
        for version in VERSIONS if options.version is None else (options.version,):
            suite = Suite(options.folder / version, version)
            suite.install()
            for side in SIDES if options.side is None else (options.side,):
                click.echo(f"\n{side}, suite {version}")
                report = run_side(suite, side, url, options.only, is_verbose=options.verbose)
                unexpected += report.unexpected
                met[side] |= report.met
                words = ", ".join(f"{report.words[each]} {each}" for each in ("passes", "fails", "warns", "skips"))
                good, bad = report.checks["SUCCESS"], report.checks["FAILURE"]
                lines.append(f"{side}, suite {version}: {words}; {good} of {good + bad} checks pass")
    if not (options.only or options.version or options.side):
        unexpected += stale(met)
    click.echo("\n" + "\n".join([*lines, *(f"not expected: {each}" for each in unexpected)]))
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
