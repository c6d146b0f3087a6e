"""Checks of published packages: their contents, their metadata and reproducible builds."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_string

import pytest
from conftest import PROJECTS, ROOT
from packaging.requirements import Requirement
from packaging.version import Version

PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
OF_EVERY_SDIST = {"LICENSE", "README.md", "PKG-INFO", "pyproject.toml", "pyproject.toml.orig", "tests"}
OF_THE_CORE = {"CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "benchmarks", "docs", "examples", "release"}


def project_table(project):
    return tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def names_in(path):
    """Name the files of a wheel, or those of a source distribution within its folder."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return {name for name in wheel.namelist() if not name.endswith("/")}
    with tarfile.open(path) as sdist:
        return {each.name.partition("/")[2] for each in sdist if each.isfile()}


def metadata_of(wheel):
    with zipfile.ZipFile(wheel) as opened:
        (name,) = (each for each in opened.namelist() if each.endswith(".dist-info/METADATA"))
        return message_from_string(opened.read(name).decode())


def source_files(folder):
    """Name the files of a folder that are no leavings of Python."""
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder.parent).as_posix() for path in files}


def test_it_can_be_built_again_to_the_last_byte(distribution):
    for first, second in zip((distribution.sdist, distribution.wheel), distribution.again, strict=True):
        assert first.name == second.name
        assert first.read_bytes() == second.read_bytes(), f"{first} and {second} differ"


def test_the_wheel_has_the_package_and_nothing_else(distribution):
    names = names_in(distribution.wheel)
    information = {name for name in names if name.partition("/")[0].endswith(".dist-info")}
    assert names - information == source_files(distribution.project / distribution.package)
    assert f"{distribution.package}/py.typed" in names
    files = {name.partition("/")[2] for name in information}
    entry_points = {"entry_points.txt"} if "entry-points" in project_table(distribution.project) else set()
    assert files == {"METADATA", "WHEEL", "RECORD", "licenses/LICENSE"} | entry_points


@pytest.mark.parametrize(
    ("package", "folder"),
    [
        ("oneclaw_core", "builtin/manifests"),
        ("oneclaw_devtools", "scaffold/templates"),
        ("oneclaw_google_workspace", "manifests"),
        ("oneclaw_javascript", "engine"),
        ("oneclaw_skills", "about_oneclaw"),
    ],
)
def test_a_wheel_has_what_is_not_python(distributions, package, folder):
    names = names_in(next(each.wheel for each in distributions if each.package == package))
    assert [name for name in names if name.startswith(f"{package}/{folder}/") and not name.endswith(".py")]


def test_the_source_distribution_has_what_it_should(distribution):
    names = names_in(distribution.sdist)
    expected = OF_EVERY_SDIST | {distribution.package} | (OF_THE_CORE if distribution.project == ROOT else set())
    assert {name.partition("/")[0] for name in names} == expected
    assert source_files(distribution.project / distribution.package) <= names
    assert not [name for name in names if re.search(r"__pycache__|\.pyc$|(^|/)\.(venv|tox|git|ci)/", name)]


def test_the_metadata_are_complete(distribution):
    metadata = metadata_of(distribution.wheel)
    assert metadata["License-Expression"] == "MIT"
    assert metadata["License-File"] == "LICENSE"
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["Summary"].endswith(".")
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert len(metadata.get_payload()) > 500
    is_plugin = (
        "oneclaw" in project_table(distribution.project).get("entry-points", {}) and distribution.project != ROOT
    )
    assert ("oneclaw-plugin" in metadata["Keywords"].split(",")) == is_plugin
    classifiers = metadata.get_all("Classifier")
    versions = [f"Programming Language :: Python :: {version}" for version in PYTHONS]
    assert {"Typing :: Typed", "Programming Language :: Python :: 3 :: Only", *versions} <= set(classifiers)
    assert not [each for each in classifiers if each.startswith("License ::")], "License-Expression takes their place"


def test_nothing_of_this_machine_is_in_it(distribution):
    places = [str(ROOT), sys.prefix]
    with zipfile.ZipFile(distribution.wheel) as wheel:
        for name in wheel.namelist():
            assert not [place for place in places if place.encode() in wheel.read(name)], name
    required = [Requirement(each) for each in metadata_of(distribution.wheel).get_all("Requires-Dist", [])]
    assert not [each for each in required if each.url]
    urls = metadata_of(distribution.wheel).get_all("Project-URL", [])
    assert not [url for url in urls if not re.search(r", https://", url)]


def test_indexes_take_it(distributions):
    files = [str(path) for each in distributions for path in (each.sdist, each.wheel)]
    done = subprocess.run(
        [sys.executable, "-m", "twine", "--no-color", "check", "--strict", *files], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASSED") == len(files)


@pytest.mark.parametrize("project", [each for each in PROJECTS if each != ROOT], ids=lambda project: project.name)
def test_a_plugin_names_the_versions_of_the_contract_it_goes_with(project):
    (requirement,) = (
        parsed for parsed in map(Requirement, project_table(project)["dependencies"]) if parsed.name == "oneclaw-core"
    )
    version = Version(project_table(ROOT)["version"])
    assert requirement.specifier.contains(version, prereleases=True)
    assert not requirement.specifier.contains(f"{version.major}.{version.minor + 1}"), "it has an upper bound"


def test_all_are_built_by_the_same_backend():
    systems = [tomllib.loads((each / "pyproject.toml").read_text())["build-system"] for each in PROJECTS]
    assert systems == [systems[0]] * len(PROJECTS)


def test_the_program_has_the_version_of_its_project():
    import oneclaw_core

    assert project_table(ROOT)["version"] == oneclaw_core.__version__
