"""load_skill, as the executor runs it in an open home."""

import asyncio
import json
from importlib import resources
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oneclaw_skills.catalog import SkillCatalog
from oneclaw_skills.load_skill import load_skill
from pytest_oneclaw.chosen_plugins import chosen_plugins

from oneclaw_core import OneClaw, PermissionAnswer, hookimpl, tool

SKILL = """---
name: report
description: Write reports. Use for reports.
allowed-tools: pdf_info
---
Read {{file}}.
"""


@tool(group="pdf")
def pdf_info(path: str) -> str:
    """Tell about a PDF file.

    Args:
        path: of the file.
    """
    return path


class Pdf:
    """A plugin with a tool group that the skill needs."""

    @hookimpl
    def register_tools(self, register):
        register(pdf_info)


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home" / "skills" / "report"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL)
    (folder / "guide.md").write_text("the guide")
    return tmp_path / "home"


def load(home, arguments, **options):
    async def run():
        plugins = chosen_plugins(["skills", Pdf()])
        async with OneClaw.open(home, environ={}, start_directory=home.parent, plugins=plugins, **options) as claw:
            return (await claw.call_tool("load_skill", arguments)).result

    return asyncio.run(run())


def error_of(result):
    assert not result.is_success
    assert "\n" not in result.error_message or result.error_type == "validation_error"
    return result.error_type, result.error_message


def test_the_instructions_come_with_what_they_need(home):
    result = load(home, {"name": "report", "arguments": {"file": "a.pdf"}})
    assert result.is_success
    assert "Tool groups loaded with it: pdf\n" in result.result
    assert "guide.md (9 B)" in result.result
    assert result.result.endswith("\n---\n\nRead a.pdf.")
    assert result.loads_groups == ("pdf",)


@pytest.mark.long
def test_arguments_may_be_a_text_or_left_out(home):
    assert load(home, {"name": "report", "arguments": "b.pdf"}).result.endswith("Read b.pdf.")
    assert load(home, {"name": "report"}).result.endswith("Read {{file}}.")
    assert load(home, {"name": "/report "}).result.endswith("Read {{file}}.")


def test_a_file_of_the_skill(home):
    result = load(home, {"name": "report", "file": "guide.md"})
    assert (result.result, result.loads_groups) == ("the guide", ())


def test_an_unknown_skill_names_those_there_are(home):
    error_type, message = error_of(load(home, {"name": "poem"}))
    assert error_type == "skill_not_found"
    assert message == (
        "There is no skill 'poem'; available skills: about-oneclaw, create-skill, create-tool-plugin, report"
    )


@pytest.mark.parametrize("file", ["../../oneclaw.db", "/etc/passwd", "missing.md", "passwd", "binary"])
def test_files_that_cannot_be_read(home, file):
    (home / "skills" / "report" / "passwd").symlink_to("/etc/passwd")
    (home / "skills" / "report" / "binary").write_bytes(b"\xff\0")
    error_type, message = error_of(load(home, {"name": "report", "file": file}))
    assert error_type == "load_error"
    assert "root:" not in message


def test_a_skill_that_breaks_is_a_load_error_only_where_it_was_there(home):
    (home / "skills" / "report" / "SKILL.md").write_text("broken")
    error_type, message = error_of(load(home, {"name": "report"}))
    assert error_type == "skill_not_found"
    assert "line 1: the file does not begin with front matter" in message


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"name": ""},
        {"name": 7},
        {"name": "x" * 101},
        {"name": "report", "arguments": 7},
        {"name": "report", "arguments": "x" * 20_001},
        {"name": "report", "other": 1},
    ],
)
def test_arguments_that_do_not_fit(home, arguments):
    assert error_of(load(home, arguments))[0] == "validation_error"


def test_looking_for_skills(home):
    result = load(home, {"name": "*report*"})
    assert result.result == "Skills; load one by its name:\n- report: Write reports. Use for reports."
    assert "about-oneclaw" in load(home, {"name": "*"}).result


@pytest.mark.long
def test_a_projects_skill_is_loaded_when_the_project_is_trusted(home):
    folder = home.parent / ".agents" / "skills" / "deploy"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL.replace("name: report", "name: deploy"))
    error_type, message = error_of(load(home, {"name": "deploy"}))
    assert error_type == "skill_not_found"
    assert "oneclaw skills trust" in message

    async def trust():
        async def agree(request):
            return PermissionAnswer.ALWAYS

        async with OneClaw.open(home, ask=agree, environ={}, start_directory=home.parent) as claw:
            assert await claw.review_project() == []

    asyncio.run(trust())
    assert load(home, {"name": "deploy"}).is_success


@pytest.mark.long
def test_a_skill_edited_while_the_home_is_open_is_the_new_one(home):
    async def run():
        async with OneClaw.open(home, environ={}, start_directory=home.parent) as claw:
            first = (await claw.call_tool("load_skill", {"name": "report"})).result.result
            (home / "skills" / "report" / "SKILL.md").write_text(SKILL.replace("Read", "Study"))
            return first, (await claw.call_tool("load_skill", {"name": "report"})).result.result

    first, second = asyncio.run(run())
    assert first.endswith("Read {{file}}.")
    assert second.endswith("Study {{file}}.")


def test_what_it_costs():
    manifest = json.loads((resources.files("oneclaw_skills") / "load_skill.json").read_text())
    sent = {key: manifest[key] for key in ("name", "description", "parameters")}
    assert len(json.dumps(sent)) / 4 < 180
    assert (manifest["timeout_seconds"], manifest["required_permissions"]) == (5, [])


@pytest.mark.long
@settings(max_examples=40)
@given(name=st.text(max_size=40), file=st.none() | st.text(max_size=40))
def test_whatever_a_model_asks_for_is_answered(tmp_path_factory, name, file):
    catalog = SkillCatalog((), tmp_path_factory.getbasetemp())
    plugin = SimpleNamespace(
        once=lambda make: catalog, services=SimpleNamespace(project=SimpleNamespace(is_trusted=False, approvals=()))
    )
    result = load_skill(name, None, file, context=SimpleNamespace(plugin=plugin))
    assert result.is_success or result.error_type in ("validation_error", "skill_not_found")
