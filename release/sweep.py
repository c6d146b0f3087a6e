"""Run plugins of released versions, with their own tests, against the OneClaw of this work tree.

Usage: ``python release/sweep.py [VERSION ...]``, by default for all releases; the environment ``sweep`` of tox runs it.
The plugins are the examples of each release, and the package that its ``oneclaw plugins new`` made. Their wheels are
built from the commit of the release, so the whole history has to be there.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from packaging.version import Version

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
UNTAGGED = {"0.2.0": "6b895b4fbe44232c6e7f6dbd1dc960ae2ee95629"}
"""Commits of releases that have no tag. The plugin contract is promised since 0.2."""
_PARTS = ("examples/plugins", "oneclaw_core", "plugins/devtools")
_MAKE_PACKAGE = """
import sys
from pathlib import Path
from oneclaw_core import __version__
from oneclaw_devtools.scaffold.files import PluginDetails, make_folder, plugin_files
from oneclaw_devtools.scaffold.names import plugin_names

names = plugin_names("acme-greeter")
about = {"author": "Ada", "description": "Greets.", "core_version": __version__, "year": 2026}
make_folder(Path(sys.argv[1]), names.distribution, plugin_files(PluginDetails(names=names, **about)))
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a plugin's tests.

    Attributes:
        release: the version that the plugin was made for.
        plugin: name of its folder.
        is_passed: True if the tests passed.
        summary: the last line of pytest.
    """

    release: str
    plugin: str
    is_passed: bool
    summary: str


def releases() -> dict[str, str]:
    """Return the commits, or the tags, of the releases, by version."""
    tags = _git("tag", "--list", "v*").decode().split()
    tagged = {tag.removeprefix("v"): tag for tag in tags if re.fullmatch(r"v\d+\.\d+\.\d+", tag)}
    found = UNTAGGED | tagged
    return {version: found[version] for version in sorted(found, key=Version)}


def unpack(commit: str, folder: Path) -> None:
    """Write the parts of a release that plugins are made of.

    Raises:
        SystemExit: this clone does not have the commit.
    """
    try:
        archive = _git("archive", "--format=tar", commit, *_PARTS)
    except subprocess.CalledProcessError:
        sys.exit(f"the commit {commit} is not in this clone: run git fetch --unshallow --tags")
    with tarfile.open(fileobj=BytesIO(archive)) as files:
        files.extractall(folder, filter="data")


def make_plugins(tree: Path) -> list[Path]:
    """Make a new package with the tools of the release, and return the folders of all its plugins.

    Args:
        tree: with the parts of the release.
    """
    own = os.pathsep.join((str(tree), str(tree / "plugins" / "devtools")))
    command = [sys.executable, "-P", "-c", _MAKE_PACKAGE, str(tree)]
    subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": own})
    return [*sorted(path.parent for path in tree.glob("examples/plugins/*/pyproject.toml")), tree / "acme-greeter"]


def run_tests(plugin: Path, scratch: Path) -> tuple[bool, str]:
    """Build a plugin's wheel, install it by itself, and run the plugin's tests without its source.

    Args:
        plugin: folder of its project.
        scratch: an empty directory.

    Returns:
        True if they passed, and the last line of pytest.
    """
    wheels, site, tests = scratch / "wheels", scratch / "site", scratch / "tests"
    subprocess.run(["uv", "build", "--quiet", "--wheel", "--out-dir", str(wheels), str(plugin)], check=True)
    (wheel,) = wheels.glob("*.whl")
    install = ["uv", "pip", "install", "--quiet", "--no-deps", "--python", sys.executable, "--target", str(site)]
    subprocess.run([*install, str(wheel)], check=True)
    tests.mkdir()
    for path in (*plugin.glob("test_*.py"), *plugin.glob("tests"), plugin / "pyproject.toml"):
        (shutil.copytree if path.is_dir() else shutil.copy)(path, tests / path.name)
    if (shared := plugin.parent / "conftest.py").is_file():
        shutil.copy(shared, tests)
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("ONECLAW_", "PYTEST_"))}
    environ |= {
        "PYTHONPATH": os.pathsep.join((str(site), str(ROOT / "tests" / "support"))),
        "XDG_CACHE_HOME": str(scratch / "cache"),
        "XDG_DATA_HOME": str(scratch / "data"),
        "CI": "true",  # a snapshot that is missing is a failure
    }
    command = [
        sys.executable,
        "-P",
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tests),
        str(tests),
    ]
    done = subprocess.run(command, cwd=tests, env=environ, check=False, capture_output=True, text=True)
    lines = done.stdout.strip().splitlines() or done.stderr.strip().splitlines() or ["pytest printed nothing"]
    if done.returncode:
        print(done.stdout, done.stderr, sep="\n")
    return done.returncode == 0, lines[-1]


def sweep(versions: list[str]) -> Iterator[Outcome]:
    """Run the tests of the plugins of some releases."""
    known = releases()
    for version in versions or known:
        with TemporaryDirectory(prefix="oneclaw-sweep-") as folder:
            tree = Path(folder) / "release"
            tree.mkdir()
            unpack(known[version], tree)
            for plugin in make_plugins(tree):
                scratch = Path(folder) / f"of {plugin.name}"
                scratch.mkdir()
                yield Outcome(version, plugin.name, *run_tests(plugin, scratch))


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True).stdout


def main(versions: list[str]) -> int:
    """Print a line for each plugin; return 1 if the tests of one fail."""
    if unknown := set(versions) - releases().keys():
        sys.exit(f"there is no release {', '.join(sorted(unknown))}; there are {', '.join(releases())}")
    failed = 0
    for each in sweep(versions):
        failed += not each.is_passed
        print(f"{each.release}  {each.plugin:<16}{'ok' if each.is_passed else 'FAILED':<8}{each.summary}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
