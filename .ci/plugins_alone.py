"""Test each plugin on wheels: the core's and the plugin's alone, in the environment that runs this.

Usage: ``python .ci/plugins_alone.py WHEELS [PYTEST_ARGUMENT ...]``. The environment holds the core, what all plugins
and their tests require, and none of the plugins. For each plugin its wheel is installed, and packages that neither it
nor its tests require cannot be imported, so that a requirement that it does not declare fails.
"""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
SITE_PACKAGES = Path(sysconfig.get_path("purelib"))
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
    """Test the plugins one after the other; return 1 if one of them failed."""
    failed = []
    for project in sorted(ROOT.glob("plugins/*/pyproject.toml")):
        plugin = project.parent.name
        (wheel,) = wheels.glob(f"oneclaw_{plugin}-*.whl")
        declared = tomllib.loads(project.read_text(encoding="utf-8"))
        required = [*declared["project"]["dependencies"], *declared["dependency-groups"]["test"], "pytest-xdist"]
        blocker = SITE_PACKAGES / "sitecustomize.py"
        blocker.write_text(BLOCKER.format(blocked=sorted(blocked_packages(required)), plugin=plugin), encoding="utf-8")
        print(f"-- oneclaw_{plugin} alone", flush=True)
        run("uv", "pip", "install", "--quiet", "--no-deps", str(wheel))
        try:
            tests = arguments or ["-n", "auto", "-m", "not one_python"]
            command = [sys.executable, "-m", "pytest", "--override-ini=pythonpath=tests/support", *tests]
            confined = [f"--confcutdir=plugins/{plugin}", f"plugins/{plugin}/tests"]
            if subprocess.call([*command, *confined], cwd=ROOT):  # noqa: S603  # the command is made above
                failed.append(plugin)
        finally:
            blocker.unlink()
            run("uv", "pip", "uninstall", "--quiet", f"oneclaw-{plugin.replace('_', '-')}")
    if failed:
        print(f"failed alone: {', '.join(failed)}")
    return 1 if failed else 0


def run(*command: str) -> None:
    """Run a program that has to succeed."""
    subprocess.run([*command], check=True)  # noqa: S603  # likewise


def blocked_packages(required: list[str]) -> set[str]:
    """Find the importable packages that some requirements do not bring.

    What extends pytest stays: pytest imports it at its start. So do the packages of this environment's own tools.
    """
    extending = [
        each.metadata["Name"]
        for each in metadata.distributions()
        if any(point.group == "pytest11" for point in each.entry_points)
    ]
    kept = closure([*required, *extending, "pip", "packaging"])
    return {
        package
        for package, distributions in metadata.packages_distributions().items()
        if not kept & {normalised(each) for each in distributions}
    }


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
        try:
            requires = metadata.requires(requirement.name) or []
        except metadata.PackageNotFoundError:
            continue
        for text in requires:
            further = Requirement(text)
            extras = requirement.extras or {""}
            if further.marker is None or any(further.marker.evaluate({"extra": extra}) for extra in {*extras, ""}):
                waiting.append(further)
    return found


def normalised(name: str) -> str:
    """Return a name as packages are compared by it."""
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
