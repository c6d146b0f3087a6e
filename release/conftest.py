"""All distributions of the workspace, built twice."""

import contextlib
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

import hatchling.build
import pytest

ROOT = Path(__file__).parents[1]
PROJECTS = [ROOT, *sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))]
SOURCE_DATE_EPOCH = "1767225600"
# What tools leave in a work tree; `.gitignore` keeps it from the distributions, and copying it would take long.
LEFT_BEHIND = shutil.ignore_patterns(".git", ".venv", ".tox", "__pycache__", ".*_cache", ".hypothesis")


@dataclass(frozen=True)
class Distribution:
    """The distributions built from one project.

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


def build_twice(project, folder):
    """Build a project as ``pip`` and ``uv`` do, the wheel out of the sdist; and again elsewhere."""
    folder.mkdir()
    if project == ROOT:
        # With what its [build-system] requires. The plugins have the same backend.
        command = ["uv", "build", "--quiet", "--python", sys.executable, "--out-dir", str(folder), str(project)]
        subprocess.run(command, check=True, cwd=folder)
        (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    else:
        sdist = build("sdist", project, folder)
        with tarfile.open(sdist) as packed:
            packed.extractall(folder, filter="data")
        wheel = build("wheel", folder / sdist.name.removesuffix(".tar.gz"), folder)
    # Elsewhere, with other times and permissions, and the wheel without an sdist.
    root = folder / "another place"
    copy = root / project.relative_to(ROOT)
    shutil.copytree(project, copy, ignore=LEFT_BEHIND, copy_function=shutil.copyfile)
    shutil.copyfile(ROOT / ".gitignore", root / ".gitignore")
    for path in copy.rglob("*.py"):
        path.chmod(0o600)
    again = tuple(build(kind, copy, folder / "again") for kind in ("sdist", "wheel"))
    return Distribution(project, sdist, wheel, again)


def build(kind, source, out):
    """Build a source distribution or a wheel, in this process."""
    out.mkdir(exist_ok=True)
    with contextlib.chdir(source):
        return out / getattr(hatchling.build, f"build_{kind}")(str(out))


@pytest.fixture(scope="session")
def distributions(tmp_path_factory):
    """All distributions of the workspace."""
    folder = tmp_path_factory.mktemp("distributions")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", SOURCE_DATE_EPOCH)
        return [build_twice(project, folder / project.name) for project in PROJECTS]


@pytest.fixture(params=PROJECTS, ids=lambda project: "core" if project == ROOT else project.name)
def distribution(request, distributions):
    """Each of them."""
    return next(each for each in distributions if each.project == request.param)
