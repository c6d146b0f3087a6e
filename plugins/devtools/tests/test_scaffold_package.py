"""The package that `oneclaw plugins new` makes: whole, and passing its own checks."""

import os
import re
import subprocess
import sys
import tomllib
from configparser import ConfigParser
from pathlib import Path

import pytest
import yaml
from how_long import some
from oneclaw_devtools.scaffold.files import PluginDetails, compatible_range, plugin_files
from oneclaw_devtools.scaffold.names import MAX_NAME_CHARACTERS, plugin_names
from packaging.requirements import Requirement

import oneclaw_core
from oneclaw_core import UsageError
from oneclaw_core.plugins.loading import load_plugins

pytestmark = pytest.mark.one_python

LONGEST = "oneclaw-" + "long" * 8
AUTHOR = 'Ada "Q" Ünïcode'
DESCRIPTION = 'Tables & "more" \\ than $that.'


def details(name="acme-tables", **changes):
    values = {"author": AUTHOR, "description": DESCRIPTION, "core_version": oneclaw_core.__version__, "year": 2026}
    return PluginDetails(names=plugin_names(name), **values | changes)


@pytest.fixture(params=["x2", "acme-tables", LONGEST])
def name(request):
    return request.param


@pytest.fixture
def package(tmp_path, name):
    """The folder of a new package, which is found like an installed one."""
    folder = tmp_path / name
    for path, text in plugin_files(details(name)).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    # What installing it would leave behind; building takes a network.
    info = tmp_path / "site" / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    points = "".join(f"{key} = {value}\n" for key, value in project["entry-points"]["oneclaw"].items())
    (info / "entry_points.txt").write_text(f"[oneclaw]\n{points}")
    return folder


@pytest.fixture
def run(package):
    """Runs a module of Python in the package's folder."""

    def run(*arguments):
        search_path = [str(package), str(package.parent / "site"), str(Path(oneclaw_core.__file__).parents[1])]
        environ = {key: value for key, value in os.environ.items() if not key.startswith(("ONECLAW_", "PYTEST_"))}
        environ |= {
            "CI": "true",  # a snapshot that is missing would be written elsewhere
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "ONECLAW_HOME": str(package.parent / "home"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": os.pathsep.join(search_path),
        }
        return subprocess.run(
            [sys.executable, "-m", *arguments],
            cwd=package,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )

    return run


def test_the_longest_name_is_tried():
    assert len(LONGEST) == MAX_NAME_CHARACTERS


# With a name as most are, what an author does after making one does it, in a separate environment.
@pytest.mark.long
@pytest.mark.parametrize("name", [LONGEST], indirect=True)
def test_its_tests_pass(run):
    done = run("pytest", "-q", "-p", "oneclaw", "-p", "no:cacheprovider")

    assert done.returncode == 0, done.stdout
    assert re.search(r"\b17 passed", done.stdout)


@pytest.mark.long
@pytest.mark.parametrize("name", some([LONGEST, "x2"], 2), indirect=True)
def test_its_skill_and_its_plugin_are_fit(run, name):
    assert "ok" in run("oneclaw_core", "plugins", "list").stdout
    done = run("oneclaw_core", "skills", "check", plugin_names(name).skill)

    assert done.returncode == 0, done.stdout
    assert done.stdout.rstrip().endswith(": ok")


@pytest.mark.long
def test_it_is_formatted_and_has_style(run):
    for command in (["check", "--no-cache", "."], ["format", "--no-cache", "--check", "--diff", "."]):
        done = run("ruff", *command)
        assert done.returncode == 0, done.stdout


def test_it_has_everything(package):
    names = plugin_names(package.name)
    made = {path.relative_to(package).as_posix() for path in package.rglob("*") if path.is_file()}
    assert {
        ".github/workflows/tests.yml",
        ".gitignore",
        "LICENSE",
        "README.md",
        "pyproject.toml",
        "tox.ini",
        f"{names.package}/__init__.py",
        f"{names.package}/py.typed",
        f"{names.package}/{names.plugin}.json",
        f"{names.package}/skills/{names.skill}/SKILL.md",
    } < made
    project = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["authors"] == [{"name": AUTHOR}]
    assert project["project"]["description"] == DESCRIPTION
    assert project["project"]["entry-points"]["oneclaw"] == {names.plugin: names.package}
    assert f"Copyright (c) 2026 {AUTHOR}" in (package / "LICENSE").read_text(encoding="utf-8")
    assert DESCRIPTION in (package / "README.md").read_text(encoding="utf-8")


def test_what_its_tests_need_is_installed_by_every_pip(package):
    # Groups of dependencies are known to pip from 25.1 on only, extras to each one.
    project = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))
    tox = ConfigParser(interpolation=None)
    tox.read(package / "tox.ini", encoding="utf-8")

    assert any(each.startswith("pytest>=") for each in project["project"]["optional-dependencies"]["test"])
    assert 'pip install --editable ".[test]"' in (package / "README.md").read_text(encoding="utf-8")
    assert tox["testenv"]["extras"] == "test"
    assert "dependency-groups" not in project


def test_its_workflow_and_tox_run_the_same(package):
    workflow = yaml.safe_load((package / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8"))
    tox = ConfigParser(interpolation=None)
    tox.read(package / "tox.ini", encoding="utf-8")

    matrix = workflow["jobs"]["tests"]["strategy"]["matrix"]["python"]
    assert workflow["jobs"]["tests"]["steps"][1]["with"]["python-version"] == "${{ matrix.python }}"
    checks = workflow["jobs"]["checks"]["steps"][-1]["run"].rpartition(" ")[2].split(",")
    assert [*checks, *(f"py{python.replace('.', '')}" for python in matrix)] == tox["tox"]["env_list"].split()
    assert f"oneclaw plugins check {plugin_names(package.name).plugin}" in tox["testenv:check"]["commands"]


def test_its_tox_installs_the_plugins_whose_commands_it_runs(package):
    project = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    installed = {Requirement(each).name for each in project["optional-dependencies"]["test"]}
    tox = ConfigParser(interpolation=None)
    tox.read(package / "tox.ini", encoding="utf-8")
    assert "extras" not in tox["testenv:check"]  # so it has those of [testenv]

    commands = re.findall(r"^oneclaw (\w+) (\w+)", tox["testenv:check"]["commands"], re.MULTILINE)
    found = {
        each.name: record.package.partition(" ")[0]
        for record in load_plugins(frozenset()).plugins
        for each in record.registrations
        if each.hook == "register_commands"
    }
    needed = {found.get(f"{group} {name}") or found[group] for group, name in commands}
    assert needed == {"oneclaw-devtools", "oneclaw-skills"}
    assert needed <= installed


@pytest.mark.parametrize(
    ("version", "range_"),
    [("0.1.0", ">=0.1,<0.2"), ("0.12.3.dev1", ">=0.12,<0.13"), ("2.4.0", ">=2.4,<3"), ("0.2rc1", ">=0.2rc1,<0.3")],
)
def test_the_versions_of_the_core_that_it_is_for(version, range_):
    assert compatible_range(version) == range_


@pytest.mark.parametrize("field", ["author", "description"])
@pytest.mark.parametrize("text", ["", "  ", "two\nlines", "\x1b[2J", "x" * 201])
def test_texts_that_cannot_be_written(field, text):
    with pytest.raises(UsageError, match=f"the {field} must be a line"):
        details(**{field: text})
