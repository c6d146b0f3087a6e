"""Which skills there are, as their files are at this moment."""

import os

import pytest
from oneclaw_skills import catalog as catalog_module
from oneclaw_skills.catalog import SkillCatalog, SkillStatus
from oneclaw_skills.skill import SkillError
from skill_files import write_skill

from oneclaw_core import NotFoundError
from oneclaw_core.plugins import Plugin, PluginSkill


class Places:
    """A home, a project and a plugin, each with a directory for skills."""

    def __init__(self, root):
        self.home, self.project, self.plugin = root / "home" / "skills", root / "project", root / "plugin"
        for directory in (self.home, self.project, self.plugin):
            directory.mkdir(parents=True)
        self.own = self.project / ".oneclaw" / "skills"
        self.shared = self.project / ".agents" / "skills"
        self.record = Plugin("acme", "acme", "acme-tools", "1.2")

    def catalog(self, *plugin_skills, is_project_trusted=True):
        skills = [PluginSkill(self.plugin / name, self.record) for name in plugin_skills]
        return SkillCatalog(skills, self.home, self.project, is_project_trusted=is_project_trusted)


@pytest.fixture
def places(tmp_path):
    return Places(tmp_path)


def settle(*directories):
    """Make files look as if they had been there for long."""
    for directory in directories:
        for path in directory.rglob("SKILL.md"):
            os.utime(path, (1_000_000_000, 1_000_000_000))


def names(skills):
    return [skill.name for skill in skills]


def test_skills_come_from_everywhere_by_name(places):
    write_skill(places.home, "zebra")
    write_skill(places.own, "mole")
    write_skill(places.shared, "ant")
    write_skill(places.plugin, "bear")
    catalog = places.catalog("bear")
    assert names(catalog.available()) == ["ant", "bear", "mole", "zebra"]
    assert [skill.origin for skill in catalog.available()] == [
        "the project", "plugin acme (acme-tools 1.2)", "the project", "the home",
    ]  # fmt: skip


def test_of_equal_names_the_project_goes_before_the_home_before_plugins(places):
    for directory, description in (
        (places.own, "own"), (places.shared, "shared"), (places.home, "home"), (places.plugin, "plugin"),
    ):  # fmt: skip
        write_skill(directory, "report", description)
    catalog = places.catalog("report")
    entries = [(entry.skill.description, str(entry.status)) for entry in catalog.entries()]
    assert entries == [("own", "ok"), ("shared", "shadowed"), ("home", "shadowed"), ("plugin", "shadowed")]
    assert [skill.description for skill in catalog.available()] == ["own"]


def test_a_project_is_not_used_and_shadows_nothing_until_it_is_trusted(places):
    write_skill(places.shared, "report", "evil")
    write_skill(places.home, "report", "mine")
    catalog = places.catalog(is_project_trusted=False)
    assert [skill.description for skill in catalog.available()] == ["mine"]
    assert catalog.entries()[0].status is SkillStatus.UNTRUSTED
    catalog.is_project_trusted = True
    assert [skill.description for skill in catalog.available()] == ["evil"]


def test_an_untrusted_skill_is_not_loaded_and_says_why(places):
    write_skill(places.shared, "deploy")
    catalog = places.catalog(is_project_trusted=False)
    with pytest.raises(NotFoundError, match="not trusted; the user can trust it with: oneclaw skills trust"):
        catalog.load("deploy")


def test_the_homes_skills_are_no_projects_where_the_program_starts_above_the_home(tmp_path):
    home = tmp_path / ".oneclaw"
    write_skill(home / "skills", "report")
    catalog = SkillCatalog((), home / "skills", tmp_path)
    assert [(entry.source, entry.status) for entry in catalog.entries()] == [("home", "ok")]


def test_changes_on_the_disk_count_at_once(places):
    catalog = places.catalog()
    assert catalog.available() == ()
    write_skill(places.home, "report", "one")
    assert [skill.description for skill in catalog.available()] == ["one"]
    write_skill(places.home, "report", "two")
    assert [skill.description for skill in catalog.available()] == ["two"]
    write_skill(places.home, "other", "three")
    assert names(catalog.available()) == ["other", "report"]
    (places.home / "report" / "SKILL.md").unlink()
    assert names(catalog.available()) == ["other"]


def test_instructions_are_read_when_they_are_loaded(places):
    write_skill(places.home, "report", body="old")
    catalog = places.catalog()
    assert catalog.load("report").document.body == "old"
    write_skill(places.home, "report", body="new")
    assert catalog.load("report").document.body == "new"


@pytest.mark.long
def test_what_has_not_changed_is_neither_read_nor_made_anew(places, monkeypatch):
    for number in range(50):
        write_skill(places.home, f"skill-{number}")
    catalog = places.catalog()
    first = catalog.available()
    # Changed just now, the files are looked into again, and are the same.
    assert catalog.available() is first
    settle(places.home)
    monkeypatch.setattr("oneclaw_core.files.text_content._SETTLED_NS", 0)
    again = catalog.available()
    monkeypatch.setattr(catalog_module, "_read", lambda folder: pytest.fail(f"{folder} is read"))
    assert catalog.available() is again


def test_a_broken_skill_is_listed_and_takes_none_other_with_it(places, caplog):
    write_skill(places.home, "good")
    broken = write_skill(places.home, "broken")
    (broken / "SKILL.md").write_text("no front matter")
    catalog = places.catalog()
    for _ in range(3):
        assert names(catalog.available()) == ["good"]
    (entry,) = [entry for entry in catalog.entries() if entry.status is SkillStatus.BROKEN]
    assert (entry.name, entry.skill) == ("broken", None)
    assert [str(problem) for problem in entry.problems] == ["line 1: the file does not begin with front matter"]
    assert caplog.text.count("the file does not begin with front matter") == 1
    with pytest.raises(NotFoundError, match=r"'broken' cannot be used: line 1: .*; see: oneclaw skills check"):
        catalog.load("broken")


def test_a_skill_that_breaks_between_looking_and_loading(places):
    folder = write_skill(places.home, "report")
    catalog = places.catalog()
    skill = catalog.find("report")
    catalog.find = lambda name: skill
    (folder / "SKILL.md").write_text("broken")
    with pytest.raises(SkillError, match="'report' cannot be used: line 1: the file does not begin"):
        catalog.load("report")


def test_a_broken_skill_of_a_plugin_is_reported_on_its_record(places):
    write_skill(places.plugin, "report", name_="x")
    (places.plugin / "broken").mkdir()
    (places.plugin / "broken" / "SKILL.md").write_text("---\nname: broken\n---\nDo it.")
    catalog = places.catalog("report", "broken", "missing")
    for _ in range(2):
        catalog.entries()
    reported = [(each.where, each.cause, each.is_error) for each in places.record.problems]
    assert [(where, is_error) for where, _, is_error in reported] == [
        ("register_skills", False),
        ("register_skills", True),
        ("register_skills", True),
    ]
    assert "not a field of the format" in reported[0][1]
    assert reported[1][1].endswith("broken/SKILL.md: line 1: description is missing")
    assert "has no file 'SKILL.md'" in reported[2][1]


def test_skills_of_an_untrusted_project_are_not_complained_about(places, caplog):
    write_skill(places.shared, "broken", description="''")
    assert places.catalog(is_project_trusted=False).entries()[0].status is SkillStatus.BROKEN
    assert caplog.text == ""


def test_what_is_no_skill_is_passed_over(places):
    (places.home / "README.md").write_text("x")
    (places.home / "empty").mkdir()
    write_skill(places.home, ".hidden")
    (places.home / "lower").mkdir()
    (places.home / "lower" / "skill.md").write_text("x")
    os.mkfifo(places.home / "pipe")
    assert places.catalog().entries() == ()


def test_a_skill_file_that_is_a_pipe_or_directory_is_broken_and_nothing_hangs(places):
    for name, make in (("pipe", os.mkfifo), ("folder", os.mkdir)):
        (places.home / name).mkdir()
        make(places.home / name / "SKILL.md")
    assert [entry.status for entry in places.catalog().entries()] == [SkillStatus.BROKEN, SkillStatus.BROKEN]


def test_directories_with_very_many_folders_are_read_in_part(places, monkeypatch):
    monkeypatch.setattr("oneclaw_skills.places.MAX_FOLDERS", 3)
    for number in range(5):
        write_skill(places.home, f"s{number}")
    assert names(places.catalog().available()) == ["s0", "s1", "s2"]


def test_an_unknown_skill_is_answered_with_those_there_are(places):
    with pytest.raises(NotFoundError, match="there is no skill 'x'; available skills: none"):
        places.catalog().load("x")
    for number in range(60):
        write_skill(places.home, f"s{number:02}")
    with pytest.raises(NotFoundError, match=r"available skills: s00, s01, .*, s49 and 10 more"):
        places.catalog().load("../s00")
