"""Trust in the start directory, asked for before the first message."""

import asyncio

import pytest

from oneclaw_core import OneClaw, PermissionAnswer

WRITE = {"path": "a.txt", "content": "mine"}


@pytest.fixture
def project(tmp_path):
    directory = tmp_path / "project"
    directory.mkdir()
    return directory


def trusted(tmp_path, directory, *answers, opened_with=None, allow=("files.write",)):
    """Ask as often as there are answers; return what was answered, the questions, and where a file lands."""
    asked, replies = [], list(answers)

    async def ask(request):
        asked.append(request)
        return replies.pop(0)

    async def run():
        async with OneClaw.open(
            tmp_path / "home",
            ask=ask if opened_with else None,
            allow=allow,
            environ={},
            start_directory=directory,
            plugins=["builtin"],
        ) as claw:
            found = [await claw.trust_project(None if opened_with else ask) for _ in range(max(len(answers), 1))]
            result = (await claw.call_tool("write_file", WRITE)).result
            return found, result.text()

    return *asyncio.run(run()), asked


def test_files_are_written_in_a_directory_that_the_user_trusts(tmp_path, project):
    found, wrote, asked = trusted(tmp_path, project, PermissionAnswer.ONCE)
    assert found == [True]
    assert f"to {project}/a.txt" in wrote
    assert (project / "a.txt").read_text() == "mine"
    assert (asked[0].permission, asked[0].subject) == ("directory.trust", str(project))


def test_without_trust_they_are_not(tmp_path, project):
    found, wrote, _ = trusted(tmp_path, project, PermissionAnswer.NO)
    assert found == [False]
    assert f"to {tmp_path}/home/workspace/a.txt" in wrote


@pytest.mark.long
def test_the_user_is_asked_once_until_the_home_is_closed(tmp_path, project):
    found, _, asked = trusted(tmp_path, project, PermissionAnswer.SESSION, PermissionAnswer.NO)
    assert (found, len(asked)) == ([True, True], 1)
    found, _, asked = trusted(tmp_path, project, PermissionAnswer.ALWAYS)
    assert (found, len(asked)) == ([True], 1)
    assert trusted(tmp_path, project, PermissionAnswer.NO)[::2] == ([True], [])


def test_whom_the_home_was_opened_with_is_asked_by_default(tmp_path, project):
    found, _, asked = trusted(tmp_path, project, PermissionAnswer.ONCE, opened_with=True)
    assert (found, len(asked)) == ([True], 1)


def test_the_question_names_the_files_that_models_will_follow(tmp_path, project):
    (project / "AGENTS.md").write_text("Use tabs.")
    _, _, asked = trusted(tmp_path, project, PermissionAnswer.ONCE)
    assert "AGENTS.md" in asked[0].detail


def test_where_no_one_can_be_asked_it_can_be_trusted_later(tmp_path, project):
    async def yes(request):
        return PermissionAnswer.ONCE

    async def run():
        async with OneClaw.open(tmp_path / "home", environ={}, start_directory=project, plugins=["builtin"]) as claw:
            return await claw.trust_project(), await claw.trust_project(yes)

    assert asyncio.run(run()) == (False, True)


def test_a_directory_that_is_no_project_is_never_asked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert trusted(tmp_path, tmp_path, PermissionAnswer.ONCE)[::2] == ([False], [])
