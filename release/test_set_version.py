"""Check that one command sets the version everywhere."""

import re
import tomllib

import pytest
from conftest import PROJECTS, ROOT
from packaging.requirements import Requirement
from packaging.version import Version
from set_version import current_version, range_of, replace_version

OURS = {"oneclaw", "oneclaw-core", "oneclaw-pdf"}


@pytest.mark.parametrize(
    ("version", "expected"), [("0.2.0", ">=0.2,<0.3"), ("0.2.7", ">=0.2,<0.3"), ("1.4.2", ">=1.4,<2")]
)
def test_what_requires_oneclaw_takes_what_keeps_its_promises(version, expected):
    assert range_of(version) == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"oneclaw-core>=0.1,<0.2", "acme>=0.1,<0.2"', '"oneclaw-core>=0.2,<0.3", "acme>=0.1,<0.2"'),
        ("'oneclaw-core[images]>=0.1,<0.2'", "'oneclaw-core[images]>=0.2,<0.3'"),
        ("oneclaw-pdf>=0.0.9,<0.1", "oneclaw-pdf>=0.2,<0.3"),
        ("oneclaw-pdf  0.1.0    ok\nacme-pdf     0.1.0", "oneclaw-pdf  0.2.0    ok\nacme-pdf     0.1.0"),
        ("dist/oneclaw_pdf-0.1.0-py3-none-any.whl", "dist/oneclaw_pdf-0.2.0-py3-none-any.whl"),
        ("oneclaw-pdf 0.1.0.1, oneclaw 0.1.01", "oneclaw-pdf 0.1.0.1, oneclaw 0.1.01"),
        ('version = "0.1.0"', 'version = "0.1.0"'),
    ],
)
def test_a_text_has_the_new_version_of_oneclaw_alone(before, after):
    assert replace_version(before, "0.1.0", "0.2.0", OURS) == after


def test_a_project_has_the_new_version():
    text = 'version = "0.1.0"\n[tool.x]\nversion = "0.1.0"'
    changed = replace_version(text, "0.1.0", "0.2.0", OURS, is_own_project=True)
    assert changed == 'version = "0.2.0"\n[tool.x]\nversion = "0.1.0"'


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_each_project_has_the_version_and_requires_it_of_the_others(project):
    table = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))["project"]
    assert table["version"] == current_version()
    extras = [each for extra in table.get("optional-dependencies", {}).values() for each in extra]
    for requirement in map(Requirement, [*table.get("dependencies", []), *extras]):
        if requirement.name.startswith("oneclaw-"):
            assert set(str(requirement.specifier).split(",")) == set(range_of(current_version()).split(","))


def test_the_newest_changes_are_those_of_the_version():
    newest = re.search(r"^## (\S+) - (\d{4}-\d\d-\d\d|Unreleased)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert newest is not None
    assert Version(newest[1]) == Version(current_version())
