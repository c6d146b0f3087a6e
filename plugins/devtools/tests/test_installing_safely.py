"""Nothing of a package runs before the user agrees to it, and what it brings beside its own package is shown."""

import io
import os
import sys
import tarfile

import pytest
from how_long import some
from installations import write_wheel
from pseudo_terminal import PseudoTerminal

pytestmark = pytest.mark.one_python

BACKEND = """
import pathlib, shutil
pathlib.Path({ran!r}).touch()

def get_requires_for_build_wheel(settings=None):
    return []

def build_wheel(directory, settings=None, metadata=None):
    (wheel,) = pathlib.Path({wheels!r}).glob("*.whl")
    shutil.copy(wheel, directory)
    return wheel.name
"""
PROJECT = """
[project]
name = "acme-tools"
version = "1.0"
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""


@pytest.fixture
def ran(tmp_path):
    return tmp_path / "ran"


@pytest.fixture
def source(tmp_path, wheels, ran):
    """A source distribution that an index has, and its files in a folder."""
    write_wheel(tmp_path / "built")
    wheels.mkdir(exist_ok=True)
    folder = tmp_path / "project"
    folder.mkdir()
    files = {
        "pyproject.toml": PROJECT,
        "backend.py": BACKEND.format(ran=str(ran), wheels=str(tmp_path / "built")),
        "PKG-INFO": "Metadata-Version: 2.1\nName: acme-tools\nVersion: 1.0\n",
    }
    path = wheels / "acme_tools-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            (folder / name).write_text(content)
            entry = tarfile.TarInfo(f"acme_tools-1.0/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content.encode()))
    return folder


@pytest.mark.long
def test_a_source_distribution_is_not_built_without_being_allowed_by_name(installation, source, ran):
    done = installation.oneclaw("plugins", "install", "--yes", "acme-tools")
    assert done.returncode == 1
    assert "there is no wheel of acme-tools" in done.stderr
    assert "--allow-build acme-tools" in done.stderr
    assert not ran.exists()

    done = installation.oneclaw("plugins", "install", "--yes", "--allow-build", "acme_tools", "acme-tools")
    assert done.returncode == 0, done.stderr
    assert ran.exists()
    assert "built from source, which runs its code" in done.stderr
    assert done.stdout.startswith("acme-tools 1.0 is installed\n")


@pytest.mark.long
def test_a_dependency_without_a_wheel_is_named(installation, source, wheels, ran):
    write_wheel(wheels, "acme-other", requires=["acme-tools"])
    done = installation.oneclaw("plugins", "install", "--yes", "acme-other")
    assert done.returncode == 1
    assert "--allow-build acme-tools" in done.stderr
    assert not ran.exists()


PLACES = ["{index}/acme-tools/acme_tools-1.0.tar.gz", "{wheels}/acme_tools-1.0.tar.gz", "{source}"]


@pytest.mark.long
@pytest.mark.parametrize("place", some(PLACES, 3))
def test_a_dependency_that_names_its_source_is_not_built(installation, source, wheels, index, ran, place):
    where = place.format(index=index, wheels=wheels.as_uri(), source=source.as_uri())
    wheel = write_wheel(wheels, "acme-other", requires=[f"acme-tools @ {where}"])
    done = installation.oneclaw("plugins", "install", "--yes", str(wheel))
    assert done.returncode == 1, done.stderr
    assert not ran.exists()
    assert "--allow-build acme-tools" in done.stderr or "which runs its code; if you trust it" in done.stderr


@pytest.mark.parametrize("place", some(["folder", "file", "name"], 3))
def test_a_person_is_asked_before_anything_is_built(with_uv, source, wheels, ran, place):
    package = {"folder": str(source), "file": str(wheels / "acme_tools-1.0.tar.gz"), "name": "acme-tools"}[place]
    environ = {**os.environ, **with_uv.environ, "ONECLAW_HOME": str(with_uv.home)}
    with PseudoTerminal("plugins", "install", package, environ=environ, python=str(with_uv.python)) as terminal:
        terminal.expect("runs its code before anything of it can be shown. Build it? [y/N]: ")
        terminal.type("\n")
        terminal.expect("nothing was changed")
        assert terminal.exit_status() == 1
    assert not ran.exists()


@pytest.mark.long
def test_what_a_wheel_brings_beside_its_package_is_shown(installation, wheels):
    site = installation.site()
    (site / "shared_by_all.py").write_text("mine = 1")
    write_wheel(
        wheels,
        files={
            "acme_tools.py": "",
            "acme_start.pth": "import acme_tools",
            "other_package/__init__.py": "",
            "shared_by_all.py": "mine = 2",
        },
        points="[oneclaw]\nacme_tools = acme_tools\n[console_scripts]\nls = acme_tools:main\n",
    )
    done = installation.oneclaw("plugins", "install", "--yes", "acme-tools")
    for line in (
        "runs code at each start of Python: acme_start.pth",
        "brings the commands: ls",
        "brings other packages: other_package, shared_by_all",
        "REPLACES files that are there: shared_by_all.py",
    ):
        assert line in done.stderr


@pytest.mark.long
def test_data_files_of_a_wheel_hide_nothing(installation, wheels):
    library = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    site = installation.site()
    (site / "shared_by_all.py").write_text("mine = 1")
    data = "acme_tools-1.0.data"
    write_wheel(
        wheels,
        files={
            "acme_tools.py": "",
            f"{data}/data/{library}/acme_start.pth": "import acme_tools",
            f"{data}/data/{library}/sitecustomize.py": "",
            f"{data}/data/{library}/shared_by_all.py": "mine = 2",
            f"{data}/data/bin/python-of-acme": "#!/bin/sh",
            f"{data}/data/etc/acme.conf": "x",
            f"{data}/purelib/acme_late.pth": "import acme_tools",
            f"{data}/platlib/other_package/__init__.py": "",
            f"{data}/scripts/git": "#!/bin/sh",
        },
    )
    done = installation.oneclaw("plugins", "install", "--yes", "acme-tools")
    for line in (
        "runs code at each start of Python: acme_late.pth, acme_start.pth",
        "brings the commands: git, python-of-acme",
        "brings other packages: other_package, shared_by_all, sitecustomize",
        "puts files elsewhere: etc/acme.conf",
        "REPLACES files that are there: shared_by_all.py",
    ):
        assert line in done.stderr
