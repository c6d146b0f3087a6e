"""All distributions of the workspace, built twice."""

import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECTS = [ROOT, *sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))]
SOURCE_DATE_EPOCH = "1767225600"
# What tools leave in a work tree; `.gitignore` keeps it from the distributions, and copying it would take long.
LEFT_BEHIND = shutil.ignore_patterns(".git", ".venv", ".tox", "__pycache__", ".*_cache", ".hypothesis", ".environments")


@dataclass(frozen=True)
class Distribution:
    """The distributions built from one project.

    Attributes:
        project: its folder in the work tree.
        sdist: the source distribution.
        wheel: made of the source distribution.
        again: both, made of a copy of the tree elsewhere, the wheel without the source distribution.
    """

    project: Path
    sdist: Path
    wheel: Path
    again: tuple[Path, Path]

    @property
    def package(self):
        """The name of the import package."""
        return package_of(self.project)


@pytest.fixture(scope="session")
def distributions(tmp_path_factory):
    """All distributions of the workspace."""
    folder = tmp_path_factory.mktemp("distributions")
    build(ROOT, folder / "as installers do")
    # Elsewhere, with other times and permissions.
    copy = folder / "another place"
    shutil.copytree(ROOT, copy, ignore=LEFT_BEHIND, copy_function=shutil.copyfile)
    for path in copy.rglob("*.py"):
        path.chmod(0o600)
    build(copy, folder / "again", "--sdist", "--wheel")
    return [
        Distribution(project, sdist, wheel, (folder / "again" / sdist.name, folder / "again" / wheel.name))
        for project in PROJECTS
        for sdist in (folder / "as installers do").glob(f"{package_of(project)}-*.tar.gz")
        for wheel in (folder / "as installers do").glob(f"{package_of(project)}-*.whl")
    ]


def build(source, out, *kinds):
    """Build all distributions of a tree: by default the wheel out of the sdist."""
    environ = os.environ | {"SOURCE_DATE_EPOCH": SOURCE_DATE_EPOCH}
    command = ["uv", "build", "--quiet", "--all-packages", "--python", sys.executable, "--out-dir", str(out), *kinds]
    subprocess.run(command, check=True, cwd=source, env=environ)


def package_of(project):
    """Name the import package of a project."""
    project_file = (project / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(project_file)["project"]["name"].replace("-", "_")


@pytest.fixture(params=PROJECTS, ids=lambda project: "core" if project == ROOT else project.name)
def distribution(request, distributions):
    """Each of them."""
    return next(each for each in distributions if each.project == request.param)
