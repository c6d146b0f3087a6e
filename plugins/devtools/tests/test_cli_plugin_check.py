"""``oneclaw plugins check``: what it prints, and its exit status."""

import json
import os
import subprocess
import sys

import pytest
from broken_plugins.kinds import make_wheel
from oneclaw_devtools.conformance import imports
from oneclaw_devtools.conformance.finding import Severity
from oneclaw_devtools.conformance.package import CORE

from oneclaw_core.plugins import CONTRACT_VERSION

GOOD = '''
from oneclaw_core import ToolGroupDefinition, hookimpl, tool

@tool(group="shelf")
def shelf_find(title: str) -> str:
    """Find a book on the shelf, when the user asks where one is.

    Args:
        title: of the book.
    """
    return title[:20]

@hookimpl
def register_groups(register):
    register(ToolGroupDefinition("shelf", "Shelf", "Find books on the shelf"))

@hookimpl
def register_tools(register):
    register(shelf_find)
'''
PYPROJECT = """
[project]
name = "acme-shelf"
version = "0.3.0"
description = "Finds books."
license = "MIT"
requires-python = ">=3.11"
dependencies = ["oneclaw-core>=0.2,<0.3"]

[project.entry-points.oneclaw]
shelf = "acme_shelf"
"""


@pytest.fixture(autouse=True)
def slow_machine(monkeypatch):
    """Importing takes long on a busy machine, which is not what is tested here."""
    for limit in ("SLOW_MS", "NOTED_MS", "HEAVY_MS"):
        monkeypatch.setattr(imports, limit, 60_000)


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    (folder / "src" / "acme_shelf").mkdir(parents=True)
    (folder / "pyproject.toml").write_text(PYPROJECT)
    (folder / "src" / "acme_shelf" / "__init__.py").write_text(GOOD)
    return folder


@pytest.mark.long
@pytest.mark.one_python
def test_a_good_project_passes(ok, project, monkeypatch):
    monkeypatch.chdir(project)

    text = ok("plugins", "check", "--strict")

    assert "shelf: acme-shelf 0.3.0 (acme_shelf), loaded in" in text
    assert f"plugin contract {CONTRACT_VERSION}\n" in text
    assert "shelf_find  shelf" in text
    assert "acme-shelf 0.3.0: 0 errors, 0 warnings, 0 notes\ngrade: silver; for gold:\n" in text
    assert not list(project.rglob("__pycache__"))


@pytest.mark.long
@pytest.mark.one_python
def test_the_report_is_one_document(ok, project):
    report = ok("plugins", "check", str(project), "--json")

    assert report["passed"] is True
    assert report["subject"] == "acme-shelf 0.3.0"
    assert report["counts"] == {"error": 0, "warning": 0, "note": 0}
    assert report["contract"] == CONTRACT_VERSION
    (plugin,) = report["plugins"]
    (tool,) = plugin["tools"]
    assert (tool["name"], tool["group"]) == ("shelf_find", "shelf")
    assert plugin["groups"] == [{"name": "shelf", "tools": 1, "tokens": tool["tokens"]}]
    assert plugin["calls"] > 10


@pytest.mark.parametrize(
    ("kind", "strict", "status"),
    [
        ("missing_function", [], 1),
        pytest.param("short_description", [], 0, marks=pytest.mark.long),
        pytest.param("short_description", ["--strict"], 1, marks=pytest.mark.long),
    ],
)
def test_the_exit_status_is_for_ci(oneclaw, tmp_path, kind, strict, status):
    wheel = make_wheel(kind, tmp_path)

    outcome = oneclaw("plugins", "check", str(wheel), "--no-calls", *strict)

    assert outcome.status == status
    assert "what to do: " in outcome.stdout


@pytest.mark.parametrize("target", ["no_such_plugin", "./nowhere", "nowhere.whl", "empty"])
def test_what_is_no_plugin_is_wrong_usage(oneclaw, tmp_path, monkeypatch, target):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()

    outcome = oneclaw("plugins", "check", target)

    assert outcome.status == 2
    assert target in outcome.stderr


def test_without_a_project_here_the_installed_plugins_are_named(oneclaw, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    outcome = oneclaw("plugins", "check")

    assert outcome.status == 2
    assert "builtin" in outcome.stderr


@pytest.mark.long
def test_an_installed_plugin_is_found_by_its_name_and_its_packages(oneclaw, install_plugin):
    install_plugin("shelf", GOOD)

    by_name = oneclaw("plugins", "check", "shelf", "--no-calls", "--json").json
    by_package = oneclaw("plugins", "check", "oneclaw-shelf", "--no-calls", "--json").json

    assert by_name["subject"] == "oneclaw-shelf 1.2"
    assert by_package["findings"] == by_name["findings"]
    assert {each["check"] for each in by_name["findings"]} == {
        "package.requires-core",
        "package.summary",
        "package.licence",
        "package.python",
    }


@pytest.mark.long
def test_the_names_of_other_installed_plugins_are_taken(oneclaw, install_plugin, project):
    install_plugin("library", GOOD.replace("Find books on the shelf", "Find books anywhere"))

    findings = oneclaw("plugins", "check", str(project), "--no-calls", "--json").json["findings"]

    assert {(each["check"], each["where"]) for each in findings} == {
        ("names.taken", "tool shelf_find"),
        ("groups.taken", "group shelf"),
    }


@pytest.mark.long
def test_a_neighbour_that_kills_the_process_costs_one_command_and_is_a_note(home, install_plugin, project):
    package = install_plugin("zz_killer", "import os\nos._exit(3)\n")
    command = [sys.executable, "-m", "oneclaw_core", "plugins", "check", str(project), "--no-calls", "--json"]
    environ = os.environ | {"PYTHONPATH": str(package.parent)}

    killed, done = (subprocess.run(command, env=environ, capture_output=True, text=True, check=False) for _ in range(2))

    assert killed.returncode == 3
    (finding,) = json.loads(done.stdout)["findings"]
    assert (finding["check"], finding["severity"]) == ("names.neighbours", Severity.NOTE)
    assert "zz_killer" in finding["where"]


@pytest.mark.long
@pytest.mark.one_python
def test_permissions_can_be_given(oneclaw, project):
    source = project / "src" / "acme_shelf" / "__init__.py"
    source.write_text(
        GOOD.replace(
            '@tool(group="shelf")', '@tool(group="shelf", required_permissions=["files.read", "shelf.look"])'
        ).replace('"Find books on the shelf")', '"Find books on the shelf", {"shelf.look": "look at the shelf"})')
    )

    denied = oneclaw("plugins", "check", str(project), "--json").json
    allowed = oneclaw("plugins", "check", str(project), "--json", "--allow", "files.read", "--allow", "shelf.look").json

    assert [each["check"] for each in denied["findings"]] == ["calls.untried"]
    assert allowed["findings"] == []


@pytest.mark.long
def test_escape_sequences_of_a_plugin_do_not_reach_a_terminal(oneclaw, project):
    source = project / "src" / "acme_shelf" / "__init__.py"
    source.write_text("raise RuntimeError('\\x1b]0;gotcha\\x07')\n")

    outcome = oneclaw("plugins", "check", str(project))

    assert outcome.status == 1
    assert "gotcha" in outcome.stdout
    assert "\x1b" not in outcome.stdout + json.dumps(outcome.stderr)


@pytest.mark.long
def test_the_core_keeps_its_own_rules(ok):
    report = ok("plugins", "check", CORE, "--no-calls", "--json")

    assert report["counts"]["error"] == 0
