"""Which versions of the core a plugin goes with, as its metadata say, before any of it is imported."""

from types import SimpleNamespace

import importlib_metadata
import pluggy
import pytest

import oneclaw_core
from oneclaw_core.plugins import manager as contract
from oneclaw_core.plugins.compatibility import (
    core_requirements,
    find_incompatibility,
)
from oneclaw_core.plugins.loading import load_plugins

pytestmark = pytest.mark.lowest_versions

HEAD = "Metadata-Version: 2.4\nName: acme-tools\nVersion: 3.1\n"


class Installed:
    """A distribution with these metadata."""

    name, version = "acme-tools", "3.1"

    def __init__(self, metadata):
        self._metadata = metadata

    def read_text(self, name):
        return self._metadata if name == "METADATA" else None


class Unloadable:
    """An entry point that must not be imported."""

    name, value = "acme", "acme_tools"

    def __init__(self, requirement=None, metadata=None):
        self.dist = Installed(metadata or f"{HEAD}Requires-Dist: {requirement}\n\nThe description.\n")

    def load(self):
        raise AssertionError("it was imported")


def record_of(point):
    (record,) = load_plugins((), [point]).plugins
    return record


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        ("", []),
        ("Requires-Dist: rich>=13\n", []),
        ("Requires-Dist: oneclaw-core>=0.1,<0.2\n", ["oneclaw-core>=0.1,<0.2"]),
        ("requires-dist:oneclaw_core (<2)\r\nRequires-Dist: click\r\n", ["oneclaw_core (<2)"]),
        ("Requires-Dist: OneClaw.Core[browser] >= 0.1;\n  python_version > '3'\n", None),
        ("Requires-Dist: oneclaw-core-extras>=9\nRequires-Dist: oneclaw-core2>=9\n", []),
        ("\nRequires-Dist: oneclaw-core>=9\n", []),  # a line of the description
    ],
)
def test_requirements_on_the_core_are_found_in_the_headers(headers, found):
    if found is None:
        found = ["OneClaw.Core[browser] >= 0.1; python_version > '3'"]
    assert core_requirements(Installed(HEAD + headers + "\nText\n")) == found


def test_what_other_formats_say_is_what_the_library_reads(tmp_path):
    info = tmp_path / "acme.egg-info"
    info.mkdir()
    (info / "PKG-INFO").write_text("Metadata-Version: 1.2\nName: acme\nVersion: 1\n")
    (info / "requires.txt").write_text("oneclaw-core>=7\nrich\n")
    assert core_requirements(importlib_metadata.PathDistribution(info)) == ["oneclaw-core>=7"]
    assert core_requirements(SimpleNamespace(name="acme")) == []
    assert core_requirements(None) == []


@pytest.mark.parametrize(
    ("requirement", "version", "fits"),
    [
        ("oneclaw-core", "0.1.0", True),
        ("oneclaw-core>=0.1,<0.2", "0.1.0", True),
        ("oneclaw-core<0.2,>=0.1", "0.2.0", False),
        ("oneclaw-core (>=0.2)", "0.1.9", False),
        ("oneclaw-core[browser]>=0.2", "0.1.9", False),
        ("oneclaw-core~=0.1.3", "0.1.9", True),
        ("oneclaw-core==0.1.*", "0.2.0", False),
        ("oneclaw-core @ https://example.com/core.whl", "0.1.0", True),
        ('oneclaw-core>=9; extra == "test"', "0.1.0", True),
        ('oneclaw-core>=9; python_version >= "3"', "0.1.0", False),
        ("oneclaw-core>=0.2,<0.3", "0.2.0.dev1", True),  # leads to 0.2.0
        ("oneclaw-core>=0.2,<0.3", "0.2.0rc1+local", True),
        ("oneclaw-core>=0.1,<0.2", "0.2.0", False),
        ("oneclaw-core>=0.2,<0.3", "0.3.0", True),  # which keeps the contract of 0.2
        ("oneclaw-core>=0.2.1,<0.3", "0.3.0.dev1", True),
        ("oneclaw-core>=0.2,<0.3", "0.4.0", False),
        ("oneclaw-core>=0.4,<0.5", "0.3.0", False),
        ("oneclaw-core>=0.2.0rc2", "0.2.0rc1", True),
        ("oneclaw-core>=0.1,<0.2", "0.2.0.dev1", False),
        ("oneclaw-core>=0.1,<0.2", "0.1.0+g1234", True),
    ],
)
def test_a_requirement_on_the_core(requirement, version, fits):
    assert (find_incompatibility([requirement], version) is None) is fits


def test_all_requirements_have_to_be_met():
    assert find_incompatibility(["oneclaw-core>=0.1", "oneclaw-core<0.1"], "0.1.0").required == "<0.1"


@pytest.mark.parametrize(("requirement", "is_core_too_old"), [("oneclaw-core>=0.2", True), ("oneclaw-core<0.1", False)])
def test_it_is_known_which_of_the_two_is_older(requirement, is_core_too_old):
    assert find_incompatibility([requirement], "0.1.0").is_core_too_old is is_core_too_old


def test_a_plugin_for_a_newer_core_is_not_imported():
    record = record_of(Unloadable("oneclaw-core>=99,<100"))
    (problem,) = record.problems
    assert (record.status, problem.where) == ("failed", "compatibility")
    assert problem.cause == (
        f"acme-tools 3.1 was made for oneclaw-core<100,>=99, and this is {oneclaw_core.__version__}; it was not loaded"
    )
    assert problem.remedy.startswith("upgrade oneclaw-core, or install a version of acme-tools")


def test_a_plugin_for_another_python_is_not_imported():
    (problem,) = record_of(Unloadable(metadata=f"{HEAD}Requires-Python: >=99\n\nThe description.\n")).problems
    assert problem.cause.startswith("acme-tools 3.1 needs Python >=99, and this is 3.")
    assert problem.remedy == (
        "install a version of acme-tools for this Python, or disable it with: oneclaw plugins disable acme"
    )


def test_a_plugin_for_an_older_core_is_not_imported():
    (problem,) = record_of(Unloadable("oneclaw-core<0.0.1")).problems
    assert "oneclaw plugins upgrade acme-tools" in problem.remedy


@pytest.mark.parametrize("requirement", ["oneclaw-core>=banana", "oneclaw-core>=1,,<", "oneclaw-core>=1;nonsense"])
def test_a_requirement_that_no_one_can_read_is_a_note(requirement):
    with pytest.raises(ValueError, match="Expected"):
        find_incompatibility([requirement])
    problems = record_of(Unloadable(requirement)).problems
    assert (problems[0].where, problems[0].is_error) == ("compatibility", False)
    assert "AssertionError: it was imported" in problems[1].cause


def test_metadata_that_are_no_text_are_a_note(tmp_path):
    info = tmp_path / "acme_tools-3.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_bytes(b"Metadata-Version: 2.1\nName: acme-tools\xff\nVersion: 1\n\n")
    point = Unloadable("")
    point.dist = importlib_metadata.PathDistribution(info)
    problems = record_of(point).problems
    assert [(problem.where, problem.is_error) for problem in problems] == [("compatibility", False), ("import", True)]


def deprecating_hookspecs():
    """The contract of a version in which one argument is on its way out."""
    hookspec = pluggy.HookspecMarker("oneclaw")
    warning = DeprecationWarning("the argument 'database' goes in contract 2: take 'register' instead")

    @hookspec(warn_on_impl_args={"database": warning})
    def register_groups(register, database):
        """Register groups."""

    return SimpleNamespace(register_groups=register_groups, CONTRACT_VERSION=1, HOOK_KINDS={})


def test_a_deprecated_argument_is_told_once_with_the_plugin_and_what_takes_its_place(monkeypatch):
    monkeypatch.setattr(contract, "hookspecs", deprecating_hookspecs())
    point = Unloadable("oneclaw-core")
    plugin = SimpleNamespace(register_groups=pluggy.HookimplMarker("oneclaw")(lambda database: None))
    point.load = lambda: plugin
    notes = [problem for problem in record_of(point).problems if "database" in problem.cause and not problem.is_error]
    assert [note.cause for note in notes] == ["the argument 'database' goes in contract 2: take 'register' instead"]
