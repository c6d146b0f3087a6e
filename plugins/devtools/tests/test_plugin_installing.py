"""Plugins installed, upgraded, uninstalled and installed again in real environments, with pip and with uv."""

import json
import stat
from hashlib import sha256

import pytest
from installations import serve_index, write_wheel
from oneclaw_devtools.installing.package_manager import Environment, PackageManager
from oneclaw_devtools.installing.requirement import parse_requirement

from oneclaw_core import OneClawError

pytestmark = pytest.mark.one_python

CHECKOUT = {
    "uv.toml": '[[index]]\nurl = "{index}"\ndefault = true\n',
    "pyproject.toml": '[[tool.uv.index]]\nurl = "{index}"\ndefault = true\n',
    "pip.conf": "[global]\nextra-index-url = {index}\n",
    "setup.cfg": "[easy_install]\nindex_url = {index}\n",
    ".env": "PIP_EXTRA_INDEX_URL={index}\nUV_INDEX={index}\nUV_EXTRA_INDEX_URL={index}\n",
}


@pytest.mark.long
def test_a_plugin_is_installed_used_upgraded_and_uninstalled(installation, wheels, index, is_with_pip):
    files = [
        write_wheel(wheels, requires=["acme-library", "oneclaw-core>=0.1"]),
        write_wheel(wheels, "acme-library", is_plugin=False),
    ]
    done = installation.oneclaw("plugins", "install", "Acme.Tools<3")
    assert done.returncode == 0, done.stderr
    shown, installed, _ = done.stderr.partition("to be installed:")[2].partition(
        "Successfully installed" if is_with_pip else "+ acme"
    )
    assert installed
    hashes = [sha256(file.read_bytes()).hexdigest() for file in files]
    for name, file, known in zip(("acme-tools", "acme-library"), files, hashes, strict=True):
        assert f"{name} 1.0 from {index}/{name}/{file.name}\n      sha256 {known}\n" in shown
    assert done.stdout.splitlines() == [
        "acme-tools 1.0 is installed",
        "+ plugin acme_tools (acme-tools 1.0)",
        "  + groups: acme_tools_group",
        "  + tools: acme_tools_tool",
    ]
    assert installation.recorded() == [
        {"name": "acme-tools", "requirement": "Acme.Tools<3", "version": "1.0", "sha256": hashes[0]}
    ]
    assert stat.S_IMODE((installation.home / "plugins.json").stat().st_mode) == 0o600
    called = installation.oneclaw("call", "acme_tools_tool", "{}")
    assert json.loads(called.stdout)["result"] == "hello"
    assert "was not installed by OneClaw" not in called.stderr

    for version in ("2.0", "3.0"):
        write_wheel(wheels, version=version)
    done = installation.oneclaw("plugins", "upgrade", "acme-tools")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "acme-tools 1.0 was replaced by 2.0",
        "  plugin acme_tools: acme-tools 1.0 -> acme-tools 2.0",
    ]
    done = installation.oneclaw("plugins", "uninstall", "acme_tools")
    assert done.stdout.splitlines()[:2] == ["acme-tools is uninstalled", "- plugin acme_tools (acme-tools 2.0)"]
    assert installation.recorded() == []


@pytest.mark.long
def test_a_checkout_does_not_choose_the_index(installation, wheels, tmp_path):
    write_wheel(wheels)
    write_wheel(tmp_path / "other", version="6.6.6")
    checkout = tmp_path / "checkout" / "folder"
    checkout.mkdir(parents=True)
    with serve_index(tmp_path / "other") as other_index:
        for folder in (checkout, checkout.parent):
            for name, content in CHECKOUT.items():
                (folder / name).write_text(content.format(index=other_index))
        # Temporary files in the checkout: folders above the neutral directory do not count either.
        options = {"TMPDIR": str(checkout), "PIP_CONFIG_FILE": "pip.conf"}
        done = installation.oneclaw("plugins", "install", "acme-tools", directory=checkout, **options)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "acme-tools 1.0 is installed"
    assert other_index not in done.stderr


def test_a_file_that_changed_since_it_was_shown_is_refused(installation, wheels, is_with_pip, monkeypatch):
    write_wheel(wheels)
    lines = []
    uv = None if is_with_pip else installation.environ["UV"]
    for name, value in (installation.environ | {"UV_NO_CACHE": "1"}).items():
        monkeypatch.setenv(name, value)
    manager = PackageManager(Environment("test", uv, python=str(installation.python)), lines.append)
    packages = manager.resolve([parse_requirement("acme-tools")])
    write_wheel(wheels, source="CHANGED = True\n")
    with pytest.raises(OneClawError, match=r"(pip|uv) failed"):
        manager.install(packages)
    assert "hash" in "".join(lines).lower()
    assert not list(installation.site().glob("acme_tools*"))


@pytest.mark.long
def test_what_is_no_plugin_is_uninstalled_and_what_does_not_load_is_told(with_uv, tmp_path):
    library = write_wheel(tmp_path / "wheels", "acme-library", is_plugin=False)
    broken = write_wheel(tmp_path / "wheels", source="import nothing_of_that_name\n")
    done = with_uv.oneclaw("plugins", "install", library, broken)
    assert done.returncode == 1
    assert (
        "acme-library 1.0 is not a plugin (it has no entry point in the group 'oneclaw'): it was uninstalled again"
        in (done.stderr)
    )
    assert "oneclaw: plugin acme_tools does not work: ModuleNotFoundError" in done.stderr
    assert not list(with_uv.site().glob("acme_library*"))
    assert [each["name"] for each in with_uv.recorded()] == ["acme-tools"]


@pytest.mark.long
def test_a_plugin_for_another_core_is_not_installed_and_the_core_stays(with_pip, wheels):
    write_wheel(wheels, requires=["oneclaw-core>=99"])
    write_wheel(wheels, "oneclaw-core", "99.0", is_plugin=False)
    done = with_pip.oneclaw("plugins", "install", "acme-tools")
    assert (done.returncode, done.stdout) == (1, "")
    assert "oneclaw-core>=99" in done.stderr
    assert "oneclaw: pip failed (exit status 1); what it printed above says why" in done.stderr
    assert with_pip.recorded() == []


@pytest.mark.long
def test_sync_installs_again_what_is_missing_and_available(with_uv, wheels, tmp_path):
    wheel, other = write_wheel(wheels), write_wheel(wheels, "acme-other")
    before = sha256(wheel.read_bytes()).hexdigest()
    assert with_uv.oneclaw("plugins", "install", "acme-tools", other).returncode == 0
    # As if OneClaw had been installed anew, in a version for which only a newer acme-other is made.
    for path in with_uv.site().glob("acme_tools*"):
        path.rename(tmp_path / path.name)
    metadata = with_uv.site() / "acme_other-1.0.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text().replace("\n\n", "\nRequires-Dist: oneclaw-core<0.0.1\n\n", 1))
    write_wheel(wheels, source="OTHER = True\n")
    write_wheel(wheels, "acme-other", "1.1")
    other.unlink()
    record = with_uv.home / "plugins.json"
    document = json.loads(record.read_text())
    document["plugins"][1]["requirement"] = "acme-other"
    document["plugins"] += [
        {"name": "acme-gone", "requirement": str(wheels / "acme_gone-1-py3-none-any.whl"), "version": "1"},
        {"name": "acme-unknown", "requirement": "acme-unknown", "version": "1"},
        {"name": "acme-evil", "requirement": "--target=/", "version": "1"},
    ]
    record.write_text(json.dumps(document))

    done = with_uv.oneclaw("plugins", "sync", "--dry-run")
    assert done.stdout.splitlines()[:2] == [
        "acme-tools: it is not installed; would be installed: acme-tools",
        "acme-other: version 1.0 was made for another oneclaw-core; would be installed: acme-other",
    ]
    assert not list(with_uv.site().glob("acme_tools*"))
    done = with_uv.oneclaw("plugins", "sync", UV_NO_CACHE="1")
    assert done.returncode == 1
    assert done.stdout.splitlines()[:2] == ["acme-tools 1.0 is installed", "acme-other 1.0 was replaced by 1.1"]
    assert f"this is another file than the one installed before, sha256 {before}" in done.stderr
    for name in ("acme-gone: there is no file", "acme-evil: '--target=/' is an option", "acme-unknown: "):
        assert name in done.stderr
    assert [each["version"] for each in with_uv.recorded()] == ["1.0", "1.1", "1", "1", "1"]


@pytest.mark.long
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
