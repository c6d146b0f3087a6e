"""`oneclaw plugins check` grades a plugin, and says what is missing for the next grade."""

import json

import pytest
from oneclaw_devtools.conformance.check import Options, check_plugin

PROJECT = """
[project]
name = "acme-parcels"
version = "1.0"
description = "Finds parcels"
license = "MIT"
requires-python = ">=3.11"
dependencies = ["oneclaw-core>=0.2,<0.4"]
[project.entry-points.oneclaw]
acme_parcels = "acme_parcels"
"""
SOURCE = """
import socket
from oneclaw_core import ToolGroupDefinition, hookimpl, tool

@tool(group="acme_parcels")
def acme_parcel_find(number: str) -> str:
    '''Find a parcel by its number. Use it when the user asks where a parcel is.

    Args:
        number: of the parcel.
    '''
    return "on its way"

@hookimpl
def register_groups(register):
    register(ToolGroupDefinition("acme_parcels", "Parcels", "Find parcels that are on their way to the user"))

@hookimpl
def register_tools(register):
    register(acme_parcel_find)
"""
DECLARED = {"format": 1, "hosts": [{"name": "api.example.com", "reason": "looks up parcels"}]}
OFFLINE = Options(neighbours=())


@pytest.fixture
def project(tmp_path):
    """Make the project of a plugin, without tests if there are none: ``project(source)``."""

    def make(source=SOURCE, declared=DECLARED, tests="from acme_parcels import acme_parcel_find\n"):
        (tmp_path / "acme_parcels").mkdir()
        (tmp_path / "acme_parcels" / "__init__.py").write_text(source)
        (tmp_path / "pyproject.toml").write_text(PROJECT)
        if declared is not None:
            (tmp_path / "acme_parcels" / "capabilities.json").write_text(json.dumps(declared))
        (tmp_path / "tests").mkdir()
        (tmp_path / "tests" / "test_parcels.py").write_text(tests)
        return str(tmp_path)

    return make


def graded(target, options=OFFLINE):
    report = check_plugin(target, options)
    return report.grade, [each.check for each in report.findings]


def test_a_plugin_with_all_of_it_is_gold(project):
    grade, found = graded(project())

    assert (grade.name, grade.missing) == ("gold", ()), found


@pytest.mark.long
def test_gold_needs_capabilities_groups_and_tests(project):
    source = SOURCE.replace('@tool(group="acme_parcels")', "@tool").replace("register(ToolGroup", "(ToolGroup")

    grade, _ = graded(project(source, declared=None, tests=""))

    assert (grade.name, grade.next) == ("silver", "gold")
    assert [each.partition(":")[0] for each in grade.missing] == [
        "capabilities.json says what it uses",
        "each tool is in a group, not in every request",
        "a test calls each tool",
    ]


@pytest.mark.long
def test_what_a_tool_uses_and_does_not_declare_keeps_it_from_silver(project):
    source = SOURCE.replace(
        '    return "on its way"', '    socket.getaddrinfo("tracker.example.org", 80)\n    return ""'
    )

    grade, found = graded(project(source))  # it is refused, and seen

    assert "capabilities.undeclared" in found
    assert grade.name == ""


@pytest.mark.long
def test_an_error_leaves_no_grade(project):
    grade, _ = graded(project(declared={"format": 1, "hosts": "*"}))

    assert (grade.name, grade.next, grade.missing) == ("", "bronze", ("no error: capabilities.invalid",))
