"""Test each plugin on wheels: the core's and the plugin's alone.

Usage: ``python .ci/plugins_alone.py WHEELS [PYTEST_ARGUMENT ...]``. The environment that runs this holds the core,
what all plugins and their tests require, and none of the plugins. Each plugin's wheel is installed into a small
environment that sees this one. Packages that neither the plugin nor its tests require cannot be imported there, so
that a requirement that it does not declare fails.
"""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
AT_ONCE = 4
BLOCKER = """\
import sys

_BLOCKED = frozenset({blocked!r})


class _Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in _BLOCKED:
            raise ModuleNotFoundError(f"{{name}} is not among the requirements of {plugin}", name=name)
        return None


sys.meta_path.insert(0, _Blocker())
"""


def main(wheels: Path, arguments: list[str]) -> int:
    """Test the plugins side by side; return 1 if one of them failed."""
    plugins = sorted((each.parent for each in ROOT.glob("plugins/*/pyproject.toml")), key=count_tests, reverse=True)
    failed = []
    with TemporaryDirectory() as scratch, ThreadPoolExecutor(AT_ONCE) as pool:
        runs = [(each.name, pool.submit(test_alone, each, wheels, Path(scratch), arguments)) for each in plugins]
        for name, run in runs:
            done = run.result()
            print(f"-- oneclaw_{name} alone\n{done.stdout}", flush=True)
            if done.returncode:
                failed.append(name)
    if failed:
        print(f"failed alone: {', '.join(failed)}")
    return 1 if failed else 0


def test_alone(plugin: Path, wheels: Path, scratch: Path, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """Install a plugin's wheel into a new environment and run the plugin's tests there."""
    (wheel,) = wheels.glob(f"oneclaw_{plugin.name}-*.whl")
    python = make_environment(scratch / plugin.name, plugin, wheel)
    tests = arguments or ["-m", "not (one_python or long)"]
    confined = ["--override-ini=pythonpath=tests/support", "--confcutdir=plugins", f"plugins/{plugin.name}/tests"]
    command = [str(python), "-m", "pytest", "--assert=plain", "-p", "no:cacheprovider", *tests, *confined]
    return subprocess.run(  # noqa: S603  # the command is made above
        command,
        cwd=ROOT,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )


def make_environment(folder: Path, plugin: Path, wheel: Path) -> Path:
    """Make an environment that sees this one and has the plugin's wheel; return its Python."""
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    paths = {"base": str(folder), "platbase": str(folder)}
    packages = Path(sysconfig.get_path("purelib", vars=paths))
    (packages / "shared.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    install = ["uv", "pip", "install", "--quiet", "--no-deps", "--python", str(python), str(wheel)]
    subprocess.run(install, check=True)  # noqa: S603  # the command is made above
    declared = tomllib.loads((plugin / "pyproject.toml").read_text(encoding="utf-8"))
    required = [*declared["project"]["dependencies"], *declared["dependency-groups"]["test"], "pytest-xdist"]
    blocker = BLOCKER.format(blocked=sorted(blocked_packages(required)), plugin=plugin.name)
    (packages / "sitecustomize.py").write_text(blocker, encoding="utf-8")
    return python


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
