"""Test each plugin on wheels: the core's and the plugin's alone.

Usage: ``python .ci/plugins_alone.py WHEELS [PYTEST_ARGUMENT ...]``. The environment that runs this holds the core,
what all plugins and their tests require, and none of the plugins. Each plugin's wheel is installed into a small
environment that sees this one. Packages that neither the plugin nor its tests require cannot be imported there, so
that a requirement that it does not declare fails.

pytest and the core are imported once, in an environment of the core alone; the processes that test are forked from it.
"""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests" / "support"))

from preloaded_python import PreloadedPython  # noqa: E402  # it is in that folder

AT_ONCE = 6
IMPORTED_FIRST = (
    "hypothesis.strategies",
    "jsonschema",
    "oneclaw_core.app",
    "oneclaw_core.cli.run",
    "oneclaw_core.testing.plugin",
    "pytest",
)
BLOCKER = """\
import sys

blocked = frozenset({blocked!r})


class _Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ModuleNotFoundError(f"{{name}} is not among the requirements of {needing}", name=name)
        return None


blocker = _Blocker()
sys.meta_path.insert(0, blocker)
"""
# Run in a process that was forked in one environment: changes to another environment and starts pytest.
MOVE = """\
import importlib
import runpy
import sys
import sysconfig

import only_required

folder, executable, packages_before, packages = sys.argv[1:5]
del sys.argv[1:5]
sys.prefix = sys.exec_prefix = folder
sys.executable = executable
importlib.reload(sysconfig)
sys.path[sys.path.index(packages_before)] = packages
sys.meta_path.remove(only_required.blocker)
del sys.modules["only_required"]
import only_required

runpy.run_module("pytest", run_name="__main__", alter_sys=True)
"""


@dataclass(frozen=True)
class Environment:
    """A small virtual environment: its folder, and where its packages are."""

    folder: Path
    packages: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"


def main(wheels: Path, arguments: list[str]) -> int:
    """Test the plugins side by side; return 1 if one of them failed."""
    plugins = sorted((each.parent for each in ROOT.glob("plugins/*/pyproject.toml")), key=count_tests, reverse=True)
    failed = []
    with TemporaryDirectory() as scratch, ThreadPoolExecutor(AT_ONCE) as pool:
        core = make_environment(Path(scratch, "core"), "oneclaw-core", ["oneclaw-core"])
        preloaded = PreloadedPython(IMPORTED_FIRST, python=core.python)

        def test_alone(plugin: Path) -> tuple[int, str]:
            (wheel,) = wheels.glob(f"oneclaw_{plugin.name}-*.whl")
            environment = plugin_environment(Path(scratch, plugin.name), plugin, wheel)
            tests = arguments or ["-m", "not (one_python or long)"]
            moves = [core.python, "-P", "-c", MOVE]
            moves += [environment.folder, environment.python, core.packages, environment.packages]
            confined = ["--override-ini=pythonpath=tests/support", "--confcutdir=plugins", plugin / "tests"]
            command = [*moves, "--assert=plain", "-p", "no:cacheprovider", *tests, *confined]
            with Path(scratch, f"{plugin.name}.txt").open("w+", encoding="utf-8") as output:
                process = preloaded.start(
                    list(map(str, command)), cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output
                )
                status = process.wait()
                output.seek(0)
                return status, output.read()

        for plugin, (status, output) in zip(plugins, pool.map(test_alone, plugins), strict=True):
            print(f"-- oneclaw_{plugin.name} alone\n{output}", flush=True)
            if status:
                failed.append(plugin.name)
    if failed:
        print(f"failed alone: {', '.join(failed)}")
    return 1 if failed else 0


def plugin_environment(folder: Path, plugin: Path, wheel: Path) -> Environment:
    """Make an environment that has a plugin's wheel, and sees what the plugin and its tests require."""
    declared = tomllib.loads((plugin / "pyproject.toml").read_text(encoding="utf-8"))
    required = [*declared["project"]["dependencies"], *declared["dependency-groups"]["test"], "pytest-xdist"]
    environment = make_environment(folder, plugin.name, required)
    install = ["uv", "pip", "install", "--quiet", "--no-deps", "--python", str(environment.python), str(wheel)]
    subprocess.run(install, check=True)  # noqa: S603  # the command is made above
    return environment


def make_environment(folder: Path, name: str, required: list[str]) -> Environment:
    """Make an environment that sees only those packages of this one that some requirements bring."""
    venv.create(folder, symlinks=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    blocker = BLOCKER.format(blocked=sorted(blocked_packages(required)), needing=name)
    (packages / "only_required.py").write_text(blocker, encoding="utf-8")
    (packages / "only_required.pth").write_text("import only_required\n", encoding="utf-8")
    (packages / "shared.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return Environment(folder, packages)


def count_tests(plugin: Path) -> int:
    """Count a plugin's test files."""
    return sum(1 for _ in plugin.glob("tests/test_*.py"))


def blocked_packages(required: list[str]) -> set[str]:
    """Find the importable packages that some requirements do not bring.

    What extends pytest stays: pytest imports it at its start. So do the packages of this environment's own tools.
    """
    kept = closure([*required, *extending_pytest(), "pip", "packaging"])
    return {package for package, distributions in packages_here().items() if not kept & distributions}


@cache
def extending_pytest() -> list[str]:
    """Find the installed distributions that extend pytest."""
    return sorted({point.dist.name for point in metadata.entry_points(group="pytest11") if point.dist is not None})


@cache
def packages_here() -> dict[str, frozenset[str]]:
    """Find what can be imported, and the normalised names of the distributions that bring it."""
    found = metadata.packages_distributions()
    return {package: frozenset(map(normalised, distributions)) for package, distributions in found.items()}


@cache
def requirements_of(distribution: str) -> list[Requirement]:
    """Return what an installed distribution requires, in every case; nothing if it is not installed."""
    try:
        return [Requirement(each) for each in metadata.requires(distribution) or ()]
    except metadata.PackageNotFoundError:
        return []


def closure(required: list[str]) -> set[str]:
    """Find the installed distributions that some requirements bring, directly or not, by their normalised names."""
    found: set[str] = set()
    waiting = [Requirement(each) for each in required]
    while waiting:
        requirement = waiting.pop()
        key = normalised(requirement.name) + str(sorted(requirement.extras))
        if key in found:
            continue
        found |= {key, normalised(requirement.name)}
        for further in requirements_of(requirement.name):
            extras = requirement.extras or {""}
            if further.marker is None or any(further.marker.evaluate({"extra": extra}) for extra in {*extras, ""}):
                waiting.append(further)
    return found


def normalised(name: str) -> str:
    """Return a name as packages are compared by it."""
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
