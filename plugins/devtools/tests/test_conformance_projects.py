"""What is read of projects and wheels, and what the package says of itself."""

import zipfile

import pytest
from broken_plugins.kinds import make_wheel
from oneclaw_devtools.conformance.check import Options, check_plugin
from oneclaw_devtools.conformance.package import package_findings
from oneclaw_devtools.conformance.target import PackageFacts, Subject, find_subject, read_project

from oneclaw_core import UsageError

GOOD = PackageFacts("acme", "1.0", "Does.", "MIT", ">=3.11", ("oneclaw-core>=0.2,<0.3",))
QUICK = Options(are_tools_called=False, neighbours=())
# A build backend that takes Python files only, as some do.
BACKEND = """
import os, zipfile

def build_wheel(to, config_settings=None, metadata_directory=None):
    name = "acme_things-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(to, name), "w") as wheel:
        for each in os.listdir("acme_things"):
            if each.endswith((".py", SUFFIX)):
                wheel.write(os.path.join("acme_things", each))
    return name
"""
HOOK = """
from importlib.resources import files
from oneclaw_core import hookimpl

@hookimpl
def register_tools(register):
    register.manifest(files(__package__) / "thing_lookup.json", module=__package__)

def thing_lookup():
    return ""
"""
MANIFEST = '{"name": "thing_lookup", "description": "Look up a thing when asked.", "function": "thing_lookup"}'


def make_project(folder, pyproject, **files):
    folder.mkdir(exist_ok=True)
    (folder / "pyproject.toml").write_text(pyproject)
    for name, content in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


def found_in(package):
    return {each.check for each in package_findings(Subject(package, ()))}


@pytest.mark.parametrize(
    ("changes", "check"),
    [
        ({"version": None}, "package.version"),
        ({"summary": None}, "package.summary"),
        ({"licence": None}, "package.licence"),
        ({"requires_python": None}, "package.python"),
        ({"requirements": ()}, "package.requires-core"),
        ({"requirements": ("requests",)}, "package.requires-core"),
        ({"requirements": ("oneclaw_core>=7",)}, "package.core-range"),
        ({"requirements": ("oneclaw-core>=one",)}, "package.core-range"),
        ({"requirements": ("oneclaw-core",)}, "package.core-unbounded"),
        ({"requirements": ("oneclaw-core >= 0.1",)}, "package.core-unbounded"),
    ],
)
def test_what_a_package_does_not_say(changes, check):
    fields = {name: getattr(GOOD, name) for name in PackageFacts.__slots__}
    assert found_in(PackageFacts(**{**fields, **changes})) == {check}
    assert found_in(GOOD) == set()


def test_only_building_can_tell_some_things():
    assert found_in(PackageFacts("acme", None, "Does.", "MIT", ">=3.11", None, is_version_dynamic=True)) == set()


@pytest.mark.parametrize("root", [".", "src", "lib", "code"])
def test_the_package_is_found_where_it_lies(tmp_path, root):
    pyproject = '[project]\nname = "a"\n[project.entry-points.oneclaw]\na = "acme.plugin:hooks [extra]"\n'
    if root == "code":
        pyproject += '[tool.setuptools.packages.find]\nwhere = ["code"]\n'
    folder = make_project(tmp_path / "project", pyproject)
    (folder / root / "acme").mkdir(parents=True)

    subject = read_project(folder)

    assert subject.import_paths == (str((folder / root).resolve()),)
    assert subject.findings == ()


def test_poetry_projects_are_read(tmp_path):
    pyproject = '[tool.poetry]\nname = "acme"\nversion = "1.0"\n[tool.poetry.plugins.oneclaw]\nacme = "acme"\n'
    folder = make_project(tmp_path / "project", pyproject, acme__empty="")

    subject = read_project(folder)

    assert (subject.title, [point.name for point in subject.points]) == ("acme 1.0", ["acme"])


@pytest.mark.parametrize(
    ("pyproject", "check"),
    [
        ('[project]\nname = "a"\n', "package.entry-point"),
        ('[project]\nname = "a"\n[project.entry-points.oneclaw]\na = "not a module!"\n', "package.entry-point"),
        ('[project]\nname = "a"\n[project.entry-points.oneclaw]\na = "acme_nowhere"\n', "package.module"),
    ],
)
def test_an_entry_point_that_leads_nowhere(tmp_path, pyproject, check):
    subject = read_project(make_project(tmp_path / "project", pyproject))
    assert check in {each.check for each in subject.findings}


@pytest.mark.parametrize("pyproject", ["[project\n", "\x00", "[project]\nname = 'a'\n\xff"])
def test_a_pyproject_that_cannot_be_read(tmp_path, pyproject):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_bytes(pyproject.encode("latin-1"))
    with pytest.raises(UsageError, match="cannot be read"):
        find_subject(str(folder), tmp_path)


@pytest.mark.parametrize("content", [b"", b"no wheel"])
def test_a_file_that_is_no_wheel(tmp_path, content):
    path = tmp_path / "acme-1.0-py3-none-any.whl"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="is not a wheel"):
        find_subject(str(path), tmp_path / "unpacked")


@pytest.mark.long
def test_a_wheel_that_lacks_a_manifest(tmp_path):
    whole = make_wheel("short_description", tmp_path)
    part = tmp_path / "part-1.2-py3-none-any.whl"
    with zipfile.ZipFile(whole) as wheel, zipfile.ZipFile(part, "w") as smaller:
        for each in wheel.namelist():
            if not each.endswith(".json") and not each.endswith("/"):
                smaller.writestr(each, wheel.read(each))

    assert "manifests.unreadable" in {each.check for each in check_plugin(str(part), QUICK).findings}


@pytest.mark.parametrize(
    ("suffix", "backend", "expected"),
    [
        pytest.param(".json", "small_backend", set(), marks=pytest.mark.long),
        (".toml", "small_backend", {"package.not-in-wheel"}),
        pytest.param(".json", "a_backend_that_is_nowhere", {"package.wheel-unchecked"}, marks=pytest.mark.long),
    ],
)
def test_the_wheel_of_a_project_is_looked_into(tmp_path, suffix, backend, expected):
    pyproject = (
        f'[build-system]\nrequires = []\nbuild-backend = "{backend}"\nbackend-path = ["."]\n'
        '[project]\nname = "acme-things"\nversion = "1.0"\n[project.entry-points.oneclaw]\nthings = "acme_things"\n'
    )
    folder = make_project(tmp_path / "project", pyproject, acme_things__empty="")
    (folder / "small_backend.py").write_text(f"SUFFIX = {suffix!r}\n{BACKEND}")
    (folder / "acme_things" / "__init__.py").write_text(HOOK)
    (folder / "acme_things" / "thing_lookup.json").write_text(MANIFEST)

    report = check_plugin(str(folder), QUICK)

    found = {each.check for each in report.findings}
    assert found & {"package.not-in-wheel", "package.wheel-unchecked"} == expected
    assert "manifests.unreadable" not in found
    assert not (folder / "build").exists()
