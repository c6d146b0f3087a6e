"""Run the conformance suite of MCP against OneClaw as a client, and as a server.

The suite is the npm package ``@modelcontextprotocol/conformance``. It needs Node 22, which is on npm as ``node``::

    npm install --prefix DIR node@22 @modelcontextprotocol/conformance@0.1.16
    python plugins/mcp/tests/conformance.py client DIR
    python plugins/mcp/tests/conformance_server.py 8765 &
    python plugins/mcp/tests/conformance.py server DIR --url http://127.0.0.1:8765/mcp

It ends with 1 if a scenario fails that ``conformance.json`` does not name, or if one passes that it names. A
name there can begin with the only version of the suite that it is for.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import click

HERE = Path(__file__).parent
KNOWN = HERE / "conformance.json"
SECONDS = 90


class Suite:
    """An installed version of the suite.

    Args:
        folder: the one that it was installed in.
    """

    def __init__(self, folder: Path) -> None:
        modules = folder.resolve() / "node_modules"
        package = modules / "@modelcontextprotocol" / "conformance"
        self._command = [str(modules / ".bin" / "node"), str(package / "dist" / "index.js")]
        self.version = json.loads((package / "package.json").read_text())["version"]
        self._environment = {**os.environ, "PATH": f"{modules / '.bin'}{os.pathsep}{os.environ['PATH']}"}

    def scenarios(self, side: str) -> list[tuple[str, list[str]]]:
        """Return the scenarios of a side, each with the versions of the protocol that it is for."""
        listed = subprocess.run([*self._command, "list"], text=True, capture_output=True, check=True).stdout
        _, _, text = listed.partition(f"{side.capitalize()} scenarios")
        found: list[tuple[str, list[str]]] = []
        for line in text.splitlines()[1:]:
            match = re.match(r"\s+- (\S+) \[(.*)\]", line)
            if match is None and found:
                break
            if match is not None:
                found.append((match[1], match[2].split(",")))
        return found

    def run(self, arguments: list[str]) -> tuple[bool, str]:
        """Run one scenario; return whether all of its checks passed, and what was printed."""
        with tempfile.TemporaryDirectory() as results:
            try:
                done = subprocess.run(
                    [*self._command, *arguments, "-o", results],
                    text=True,
                    capture_output=True,
                    timeout=SECONDS,
                    env=self._environment,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                return False, f"no end within {SECONDS} s"
            checks = [each for path in Path(results).rglob("checks.json") for each in json.loads(path.read_text())]
            errors = [path.read_text() for path in Path(results).rglob("std*.txt")]
        bad = [f"{each['id']}: {each.get('errorMessage')}" for each in checks if each["status"] == "FAILURE"]
        text = "\n".join([*bad, *errors] or [done.stdout[-3000:], done.stderr[-3000:]])
        return done.returncode == 0, text


def arguments_of(side: str, scenario: str, version: str, url: str | None) -> list[str]:
    """Return the arguments of the suite for one scenario."""
    if side == "client":
        program = f"{sys.executable} {HERE / 'conformance_client.py'}"
        given = ["client", "--command", program, "--timeout", str(SECONDS * 900)]
    else:
        given = ["server", "--url", str(url)]
    return [*given, "--scenario", scenario, *(["--spec-version", version] if version else [])]


def main() -> int:
    """Run scenarios one after the other; a busy machine makes them fail side by side."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("side", choices=("client", "server"))
    parser.add_argument("folder", type=Path, help="where the suite is installed")
    parser.add_argument("--url", help="of a running server")
    parser.add_argument("--only", help="a pattern of names of scenarios")
    parser.add_argument("--verbose", action="store_true", help="show what failed")
    options = parser.parse_args()
    suite = Suite(options.folder)
    known = {each.removeprefix(f"{suite.version} ") for each in json.loads(KNOWN.read_text())[options.side]}
    surprises = passed = 0
    for scenario, versions in suite.scenarios(options.side):
        if options.only and not re.search(options.only, scenario):
            continue
        for version in [versions[-1]] if suite.version.startswith("0.1.") else versions:
            is_dated = version[:2] == "20" and not suite.version.startswith("0.1.")
            is_fine, text = suite.run(arguments_of(options.side, scenario, version if is_dated else "", options.url))
            is_expected = is_fine != (scenario in known)
            surprises += not is_expected
            passed += is_fine
            what = "passes" if is_fine else "fails"
            note = "" if is_expected else "   <-- not expected"
            click.echo(f"{what:7} {scenario} [{version}]{note}")
            if options.verbose and not is_fine:
                click.echo(text)
    click.echo(f"suite {suite.version}: {passed} pass, {surprises} not as expected")
    return 1 if surprises else 0


if __name__ == "__main__":
    sys.exit(main())
