"""All distributions of the workspace, built twice."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECTS = [ROOT, *sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))]
SOURCE_DATE_EPOCH = "1767225600"
# What tools leave in a work tree; `.gitignore` keeps it from the distributions, and copying it would take long.
LEFT_BEHIND = shutil.ignore_patterns(".git", ".venv", ".tox", "__pycache__", ".*_cache", ".hypothesis")


@dataclass(frozen=True)
class Distribution:
    """What one project was built into.

    Attributes:
        project: its folder in the work tree.
        sdist: the source distribution.
        wheel: made of the source distribution.
        again: both, made of a copy of the project elsewhere, the wheel without the source distribution.
    """

    project: Path
    sdist: Path
    wheel: Path
    again: tuple[Path, Path]

    @property
    def package(self):
        """The name of the import package."""
        return "oneclaw_core" if self.project == ROOT else f"oneclaw_{self.project.name}"


def build(source, out, *options):
    """Build a project with uv, and give its source distribution and its wheel."""
    environ = os.environ | {"SOURCE_DATE_EPOCH": SOURCE_DATE_EPOCH}
    command = ["uv", "build", "--quiet", "--python", sys.executable, *options, "--out-dir", str(out), str(source)]
    subprocess.run(command, check=True, env=environ, cwd=out.parent)
    (sdist,), (wheel,) = out.glob("*.tar.gz"), out.glob("*.whl")
    return sdist, wheel


def build_twice(project, folder):
    folder.mkdir()
    # As `pip` and `uv` do it: the wheel out of the sdist; and the core with what its [build-system] requires.
    isolation = [] if project == ROOT else ["--no-build-isolation"]
    sdist, wheel = build(project, folder / "dist", *isolation)
    # Elsewhere, with other times and permissions, and the wheel without an sdist.
    root = folder / "another place"
    copy = root / project.relative_to(ROOT)
    shutil.copytree(project, copy, ignore=LEFT_BEHIND, copy_function=shutil.copyfile)
    shutil.copyfile(ROOT / ".gitignore", root / ".gitignore")
    for path in copy.rglob("*.py"):
        path.chmod(0o600)
    again = build(copy, folder / "again", "--sdist", "--wheel", "--no-build-isolation")
    return Distribution(project, sdist, wheel, again)


@pytest.fixture(scope="session")
def distributions(tmp_path_factory):
    """All distributions of the workspace."""
    folder = tmp_path_factory.mktemp("distributions")
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda project: build_twice(project, folder / project.name), PROJECTS))


@pytest.fixture(params=PROJECTS, ids=lambda project: "core" if project == ROOT else project.name)
def distribution(request, distributions):
    """Each of them."""
    return next(each for each in distributions if each.project == request.param)
