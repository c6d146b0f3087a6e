"""Test plugins with the wheels of the core and of their own, and what these and their tests require.

Usage: ``python release/each_plugin.py [--alone] [PYTEST_ARGUMENT ...]``, in an environment that it may change. All runs
use this environment in turn: ``uv pip install --exact`` removes what the next one does not require.

There are two runs: of the plugins that require no package beyond those of the core, and of the others. That a plugin
imports nothing that it does not require is tested by itself. With ``--alone``, each plugin has a run to itself, which
takes longer to start than most plugins' tests take.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).parents[1]


def main(arguments: list[str]) -> int:
    """Test all plugins; return 1 if one of them fails."""
    is_alone = arguments[:1] == ["--alone"]
    tests = arguments[is_alone:] or ["-m", "not (long or one_python)"]
    failed = []
    with TemporaryDirectory() as folder:
        build = ["uv", "build", "--quiet", "--all-packages", "--wheel", "--out-dir", folder, str(ROOT)]
        subprocess.run(build, check=True)
        for projects in _runs(is_alone=is_alone):
            plugins = [each.parent for each in projects]
            names = ", ".join(each.name for each in plugins)
            print(f"-- {names}", flush=True)
            wheels = [_wheel(folder, "oneclaw_core"), *(_wheel(folder, each.name) for each in plugins)]
            # Those of our distributions that the tests require are wheels too, and no editable installations.
            install = ["uv", "pip", "install", "--quiet", "--exact", "--no-sources", "--find-links", folder]
            groups = [argument for each in projects for argument in ("--group", f"{each}:test")]
            _install([*install, "--python", sys.executable, *wheels, *groups])
            pytest = [sys.executable, "-P", "-m", "pytest", "--confcutdir", str(ROOT / "plugins"), *tests]
            if subprocess.run([*pytest, *(str(each / "tests") for each in plugins)], cwd=ROOT, check=False).returncode:
                failed.append(names)
    print(f"failed: {'; '.join(failed)}" if failed else "all plugins pass")
    return 1 if failed else 0


def _wheel(folder: str, name: str) -> str:
    (wheel,) = Path(folder).glob(f"*{name}-*.whl")
    return str(wheel)


def _install(command: list[str]) -> None:
    """Install from uv's cache, which `uv run` has filled; ask the package index only for what is missing there."""
    if subprocess.run([*command, "--offline"], stderr=subprocess.DEVNULL, check=False).returncode:
        subprocess.run(command, check=True)


def _runs(*, is_alone: bool) -> list[list[Path]]:
    """Return the projects of plugins that are tested at once."""
    projects = {each: _read(each) for each in sorted(ROOT.glob("plugins/*/pyproject.toml"))}
    ours = {document["project"]["name"]: _names(document["project"]["dependencies"]) for document in projects.values()}
    there = _names(_read(ROOT / "pyproject.toml")["project"]["dependencies"]) | {"oneclaw-core", "pytest", "hypothesis"}
    runs: dict[Any, list[Path]] = {}
    for project, document in projects.items():
        needed = _names([*document["project"]["dependencies"], *document["dependency-groups"]["test"]])
        while more := {each for name in needed for each in ours.get(name, ())} - needed:
            needed |= more
        runs.setdefault(project if is_alone else bool(needed - there - ours.keys()), []).append(project)
    return list(runs.values())


def _read(project: Path) -> dict[str, Any]:
    return tomllib.loads(project.read_text(encoding="utf-8"))


def _names(requirements: Iterable[str]) -> set[str]:
    """Return the names of the distributions that are required."""
    return {re.split(r"[^\w.-]", each, maxsplit=1)[0] for each in requirements}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
