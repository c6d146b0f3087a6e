"""The list of skills in the system prompt."""

import pytest
from oneclaw_skills.catalog import SkillCatalog
from oneclaw_skills.listing import MAX_PROMPT_CHARACTERS, found_skills, skills_section
from skill_files import write_skill

LONG = "Writes reports of all kinds, " * 30


def skills(directory, count, description="Write reports."):
    for number in range(count):
        write_skill(directory, f"skill-{number:03}", f"{description} {number}")
    return SkillCatalog((), directory).available()


def test_a_line_for_each_skill(tmp_path):
    section = skills_section(skills(tmp_path, 2))
    assert section.startswith("## Available Skills\n\n")
    assert "`load_skill`" in section
    assert section.endswith("- skill-000: Write reports. 0\n- skill-001: Write reports. 1")


def test_without_skills_nothing_is_said():
    assert skills_section(()) == ""


def test_the_same_skills_are_the_same_text(tmp_path):
    first = skills_section(skills(tmp_path, 9))
    assert skills_section(SkillCatalog((), tmp_path).available()) == first


def test_long_descriptions_are_cut_and_it_is_said_how_to_see_more(tmp_path):
    section = skills_section(skills(tmp_path, 3, LONG))
    assert section.count("…") == 3
    assert 'the name "*" tells more' in section


@pytest.mark.long
def test_many_skills_keep_within_the_budget(tmp_path):
    found = skills(tmp_path, 200, LONG)
    for count in (10, 25, 50, 100, 200):
        section = skills_section(found[:count])
        assert len(section) < MAX_PROMPT_CHARACTERS + 400
        assert 'the name "*" tells more' in section
        assert all(skill.name in section for skill in found[:count])


def test_names_beyond_the_budget_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr("oneclaw_skills.listing.MAX_PROMPT_CHARACTERS", 200)
    section = skills_section(skills(tmp_path, 100))
    assert "skill-000, skill-001" in section
    assert "skill-099" not in section
    assert 'the name "*" tells more' in section


def test_searching(tmp_path):
    write_skill(tmp_path, "pdf-report", "Write reports.")
    write_skill(tmp_path, "mail", "Send PDF files.")
    write_skill(tmp_path, "plan", "Make plans.")
    found = SkillCatalog((), tmp_path).available()
    assert found_skills("*PDF*", found).splitlines()[1:] == ["- mail: Send PDF files.", "- pdf-report: Write reports."]
    assert len(found_skills("*", found).splitlines()) == 4
    assert found_skills("*music*", found) == "No skill fits '*music*'."
    assert found_skills("*a" * 50, found) == f"No skill fits {'*a' * 50!r}."
