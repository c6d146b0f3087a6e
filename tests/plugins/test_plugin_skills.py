"""Skills that plugins register, and skills in an open home."""

import asyncio
from pathlib import Path
from types import SimpleNamespace

import pytest
from oneclaw_skills.catalog import SkillCatalog

from oneclaw_core import (
    GroupLoadedEvent,
    NotFoundError,
    OneClaw,
    TurnFinishedEvent,
    UsageError,
    hookimpl,
)
from oneclaw_core.plugins.loading import load_plugins

SKILL = "---\nname: {name}\ndescription: Does {name}.\nallowed-tools: pdf_info\n---\nDo {name} with $ARGUMENTS.\n"


class StandIn:
    """An entry point that names an object made by the test."""

    value = "acme"

    def __init__(self, register_skills):
        self.name = "acme"
        self.dist = SimpleNamespace(name="acme-tools", version="1.2.3")
        self._register_skills = register_skills

    def load(self):
        return SimpleNamespace(register_skills=hookimpl(self._register_skills))


def folder(directory, name="tidy"):
    made = directory / name
    made.mkdir(parents=True)
    (made / "SKILL.md").write_text(SKILL.format(name=name))
    return made


def load(register_skills):
    catalog = load_plugins((), [StandIn(register_skills)])
    (record,) = catalog.plugins
    return catalog, record


def test_a_registered_skill_is_known_and_attributed(tmp_path):
    made = folder(tmp_path)
    catalog, record = load(lambda register: register(made))
    assert (record.status, record.skills, record.problems) == ("ok", ["tidy"], [])
    (skill,) = SkillCatalog(catalog.skills).available()
    assert (skill.name, skill.plugin, skill.package) == ("tidy", "acme", "acme-tools 1.2.3")


@pytest.mark.parametrize("odd", [None, "skills/tidy", 7, Path("nowhere"), object()])
def test_what_is_no_folder_with_a_skill_is_reported_and_the_hook_goes_on(tmp_path, odd):
    made = folder(tmp_path)

    def register_skills(register):
        register(odd)
        register(made)

    catalog, record = load(register_skills)
    assert [each.folder for each in catalog.skills] == [made]
    assert record.status == "degraded"
    (problem,) = record.problems
    assert (problem.where, bool(problem.remedy)) == ("register_skills", True)


def test_a_skill_that_is_registered_twice_counts_once(tmp_path):
    made = folder(tmp_path)

    def register_skills(register):
        register(made)
        register(made)

    catalog, record = load(register_skills)
    assert len(catalog.skills) == 1
    assert [problem.is_error for problem in record.problems] == [False]


def test_a_hook_that_raises_harms_no_one_else(tmp_path):
    def register_skills(register):
        register(folder(tmp_path))
        raise RuntimeError("oh no")

    catalog, record = load(register_skills)
    assert len(catalog.skills) == 1
    assert "oh no" in record.problems[0].cause


def in_home(tmp_path, work):
    folder(tmp_path / "home" / "skills")

    async def run():
        async with OneClaw.open(tmp_path / "home", environ={}, start_directory=tmp_path) as claw:
            return await work(claw)

    return asyncio.run(run())


def test_a_message_with_a_skill(tmp_path):
    async def work(claw):
        events = [event async for event in claw.send_message("the desk", session="s", command="tidy")]
        session = await claw.store.find_session("s")
        return events, session, await claw.store.messages(session.id)

    events, session, messages = in_home(tmp_path, work)
    assert isinstance(events[-1], TurnFinishedEvent)
    assert [event.group for event in events if isinstance(event, GroupLoadedEvent)] == ["pdf"]
    assert session.title == "/tidy the desk"
    assert messages[0].content.startswith("/tidy the desk\n\nSkill 'tidy': Does tidy.")
    assert messages[0].content.endswith("Do tidy with the desk.")


@pytest.mark.long
def test_a_skill_needs_no_text(tmp_path):
    async def work(claw):
        return [event async for event in claw.send_message("", command="tidy")]

    assert isinstance(in_home(tmp_path, work)[-1], TurnFinishedEvent)


@pytest.mark.parametrize(("text", "command", "error"), [("x", "nothing", NotFoundError), ("", None, UsageError)])
def test_a_message_that_cannot_be_sent_begins_no_session(tmp_path, text, command, error):
    async def work(claw):
        with pytest.raises(error):
            async for _ in claw.send_message(text, command=command):
                pass
        return await claw.store.list_sessions()

    assert not in_home(tmp_path, work)


def test_what_a_model_is_sent_lists_skills_unless_it_cannot_load_them(tmp_path):
    async def work(claw):
        before, _ = await claw.next_request()
        await claw.store.set_tool_enabled("tool", "load_skill", False)
        await claw.refresh_tool_states()
        after, _ = await claw.next_request()
        return before.system_prompt, after.system_prompt

    before, after = in_home(tmp_path, work)
    assert "- tidy: Does tidy." in before
    assert "Skills" not in after
