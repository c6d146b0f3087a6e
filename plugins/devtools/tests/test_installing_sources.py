"""Where packages come from: what the user has configured, shown before anything is installed."""

from hashlib import sha256
from pathlib import Path

import pytest
from installations import serve_index, write_wheel
from oneclaw_devtools.installing.environment import Environment
from oneclaw_devtools.installing.package_manager import PackageManager
from oneclaw_devtools.installing.requirement import parse_requirement

from oneclaw_core import OneClawError

pytestmark = pytest.mark.one_python

CHECKOUT = {
    "uv.toml": '[[index]]\nurl = "{index}"\ndefault = true\n',
    "pyproject.toml": '[[tool.uv.index]]\nurl = "{index}"\ndefault = true\n',
}


@pytest.mark.parametrize("name", ["uv.toml", "pyproject.toml"])
def test_a_checkout_does_not_choose_the_index(name, with_uv, wheels, tmp_path):
    write_wheel(wheels)
    write_wheel(tmp_path / "other", version="6.6.6")
    checkout = tmp_path / "checkout" / "folder"
    checkout.mkdir(parents=True)
    with serve_index(tmp_path / "other") as other_index:
        for folder in (checkout, checkout.parent):
            (folder / name).write_text(CHECKOUT[name].format(index=other_index))
        # Temporary files in the checkout: folders above the neutral directory do not count either.
        done = with_uv.oneclaw("plugins", "install", "acme-tools", directory=checkout, TMPDIR=str(checkout))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "acme-tools 1.0 is installed"
    assert other_index not in done.stderr


def test_origin_version_and_hash_are_shown_first_and_recorded(installation, wheels, index, is_with_pip):
    files = [write_wheel(wheels, requires=["acme-library"]), write_wheel(wheels, "acme-library", is_plugin=False)]
    done = installation.oneclaw("plugins", "install", "acme-tools")
    assert done.returncode == 0, done.stderr
    shown, installed, _ = done.stderr.partition("to be installed:")[2].partition(
        "Successfully installed" if is_with_pip else "+ acme"
    )
    assert installed
    hashes = [sha256(file.read_bytes()).hexdigest() for file in files]
    for name, file, known in zip(("acme-tools", "acme-library"), files, hashes, strict=True):
        assert f"{name} 1.0 from {index}/{name}/{file.name}\n      sha256 {known}\n" in shown
    assert installation.recorded()[0]["sha256"] == hashes[0]


def test_a_file_that_changed_since_it_was_shown_is_refused(installation, wheels, tmp_path, is_with_pip):
    write_wheel(wheels)
    lines = []
    uv = None if is_with_pip else Path(installation.environ["UV"])
    environment = Environment("test", installation.python, installation.prefix, uv)
    manager = PackageManager(environment, installation.environ | {"UV_NO_CACHE": "1"}, lines.append)
    packages = manager.resolve([parse_requirement("acme-tools", tmp_path)])
    write_wheel(wheels, source="CHANGED = True\n")
    with pytest.raises(OneClawError, match=r"(pip|uv) failed"):
        manager.install(packages)
    assert "hash" in "".join(lines).lower()
    assert not list(installation.site().glob("acme_tools*"))


def test_sync_tells_of_another_file_of_the_same_version(with_uv, wheels):
    before = write_wheel(wheels)
    known = sha256(before.read_bytes()).hexdigest()
    assert with_uv.oneclaw("plugins", "install", "acme-tools").returncode == 0
    for path in with_uv.site().glob("acme_tools*"):
        path.rename(wheels / f"{path.name}.gone")
    write_wheel(wheels, source="OTHER = True\n")
    done = with_uv.oneclaw("plugins", "sync", UV_NO_CACHE="1")
    assert f"this is another file than the one installed before, sha256 {known}" in done.stderr


def test_what_comes_from_a_folder_has_no_hash(installation, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text(
        '[project]\nname = "acme-tools"\nversion = "1.0"\n'
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    )
    (project / "backend.py").write_text(BACKEND.format(wheels=str(tmp_path / "built")))
    write_wheel(tmp_path / "built")
    done = installation.oneclaw("plugins", "install", "./project", directory=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"from {project.as_uri()}\n      without a hash: a folder or a repository\n" in done.stderr
    assert installation.recorded() == [
        {"name": "acme-tools", "requirement": str(project), "version": "1.0", "sha256": ""}
    ]


BACKEND = """
import pathlib, shutil

def build_wheel(directory, settings=None, metadata=None):
    (wheel,) = pathlib.Path({wheels!r}).glob("*.whl")
    shutil.copy(wheel, directory)
    return wheel.name
"""
