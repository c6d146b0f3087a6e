"""Test each plugin alone: with the wheels of the core and of that plugin, and what these and its tests require.

Usage: ``python release/each_plugin.py [PYTEST_ARGUMENT ...]``, in an environment that it may change. All plugins use
this environment in turn: ``uv pip install --exact`` removes what the next one does not require.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]


def main(arguments: list[str]) -> int:
    """Test all plugins; return 1 if one of them fails."""
    tests = arguments or ["-m", "not (long or one_python)"]
    failed = []
    with TemporaryDirectory() as folder:
        build = ["uv", "build", "--quiet", "--all-packages", "--wheel", "--out-dir", folder, str(ROOT)]
        subprocess.run(build, check=True)
        (core,) = Path(folder).glob("oneclaw_core-*.whl")
        for project in sorted(ROOT.glob("plugins/*/pyproject.toml"), key=_order):
            plugin = project.parent
            print(f"-- {plugin.name} alone", flush=True)
            (wheel,) = Path(folder).glob(f"*{plugin.name}-*.whl")
            # Those of our distributions that the tests require are wheels too, and no editable installations.
            install = ["uv", "pip", "install", "--quiet", "--exact", "--no-sources", "--find-links", folder]
            install += ["--python", sys.executable, str(core), str(wheel)]
            _install([*install, "--group", f"{project}:test"])
            pytest = [sys.executable, "-P", "-m", "pytest", "--confcutdir", str(ROOT / "plugins"), *tests]
            if subprocess.run([*pytest, str(plugin / "tests")], cwd=ROOT, check=False).returncode:
                failed.append(plugin.name)
    print(f"failed alone: {', '.join(failed)}" if failed else "each plugin passes alone")
    return 1 if failed else 0


def _install(command: list[str]) -> None:
    """Install from uv's cache, which `uv run` has filled; ask the package index only for what is missing there."""
    if subprocess.run([*command, "--offline"], stderr=subprocess.DEVNULL, check=False).returncode:
        subprocess.run(command, check=True)


def _order(project: Path) -> tuple[bool, Path]:
    """Put plugins without property tests last: pytest starts faster once hypothesis is removed."""
    return "hypothesis" not in project.read_text(encoding="utf-8"), project


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
