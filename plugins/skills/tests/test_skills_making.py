"""Making skills: new ones, and copies of what lies elsewhere."""

import os

import pytest
from oneclaw_skills import making
from oneclaw_skills.catalog import SkillStatus, read_entry
from oneclaw_skills.folder import SkillFolder
from oneclaw_skills.making import add_skill, new_skill
from oneclaw_skills.skill import SkillError
from skill_files import write_skill

from oneclaw_core import UsageError


@pytest.mark.parametrize("description", [None, 'Say "x": now\nand # more', "- ö: {", "\\", "null"])
def test_a_new_skill_is_a_valid_one(tmp_path, description):
    path = new_skill(tmp_path / "skills", "pdf-report", description)
    assert path == tmp_path / "skills" / "pdf-report" / "SKILL.md"
    entry = read_entry(SkillFolder(path.parent))
    assert (entry.status, entry.problems) == (SkillStatus.OK, ())
    assert entry.name == "pdf-report"
    if description:
        assert entry.skill.description == " ".join(description.split())
    assert "# Pdf report" in entry.skill.document.body


@pytest.mark.parametrize(
    ("description", "expected"),
    [("  \n", making._DESCRIPTION), ("\x7f\x9b\ufffe", making._DESCRIPTION), ("a\x7fb", "a b")],
)
def test_a_description_of_what_yaml_does_not_have_makes_a_valid_skill_all_the_same(tmp_path, description, expected):
    entry = read_entry(SkillFolder(new_skill(tmp_path, "pdf-report", description).parent))
    assert (entry.status, entry.problems) == (SkillStatus.OK, ())
    assert entry.skill.description == expected


def test_a_folder_is_not_copied_into_itself(tmp_path):
    folder = write_skill(tmp_path, "pdf-report")
    directory = folder / "home" / "skills"
    directory.mkdir(parents=True)
    with pytest.raises(SkillError, match="where skills lie"):
        add_skill(folder, directory)
    assert list(directory.iterdir()) == []


def test_what_is_hinted_at_in_a_new_skill_works_when_it_is_uncommented(tmp_path):
    path = new_skill(tmp_path, "report")
    lines = [line.removeprefix("# ").replace("#   ", "  ") for line in path.read_text().splitlines()[:8]]
    path.write_text("\n".join([*lines, *path.read_text().splitlines()[8:]]))
    entry = read_entry(SkillFolder(path.parent))
    assert entry.problems == ()
    document = entry.skill.document
    assert (document.license, document.allowed_tools, document.groups) == ("MIT", ("read_file", "pdf_info"), ("pdf",))


@pytest.mark.parametrize("name", ["", "Report", "../report", "a/b", ".hidden", "a b", "-x"])
def test_names_that_are_none_make_nothing(tmp_path, name):
    with pytest.raises(UsageError, match="is not a skill's name"):
        new_skill(tmp_path / "skills", name)
    assert list(tmp_path.iterdir()) == []


def test_a_description_that_is_no_text_makes_nothing(tmp_path):
    with pytest.raises(UsageError, match="not UTF-8"):
        new_skill(tmp_path / "skills", "report", "what a terminal gave\udcff")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path):
    folder = write_skill(tmp_path / "skills", "report", "Mine.")
    other = write_skill(tmp_path / "other", "report", "Another.")
    before = (folder / "SKILL.md").read_text()
    for make in (lambda: new_skill(tmp_path / "skills", "report"), lambda: add_skill(other, tmp_path / "skills")):
        with pytest.raises(UsageError, match="already"):
            make()
    assert (folder / "SKILL.md").read_text() == before


def test_a_directory_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(SkillError, match="cannot be written"):
        new_skill(tmp_path / "file" / "skills", "report")


def test_a_skill_is_added_with_all_its_files(tmp_path):
    source = write_skill(tmp_path / "elsewhere", "report")
    (source / "scripts").mkdir()
    (source / "scripts" / "run.sh").write_text("true")
    (source / "logo.png").write_bytes(b"\x89PNG")
    added = add_skill(source, tmp_path / "skills")
    assert added == tmp_path / "skills" / "report"
    assert (added / "scripts" / "run.sh").read_text() == "true"
    assert (added / "logo.png").read_bytes() == b"\x89PNG"
    assert [path.name for path in (tmp_path / "skills").iterdir()] == ["report"]


def test_a_skill_is_added_under_its_own_name(tmp_path):
    source = write_skill(tmp_path, "report")
    source.rename(tmp_path / "report-main")
    assert add_skill(tmp_path / "report-main", tmp_path / "skills").name == "report"


def test_what_is_no_skill_or_leads_elsewhere_is_not_added(tmp_path):
    (tmp_path / "empty").mkdir()
    linked = write_skill(tmp_path, "linked")
    (linked / "passwd").symlink_to("/etc/passwd")
    linked_folder = write_skill(tmp_path, "linked-folder")
    (linked_folder / "up").symlink_to(tmp_path)
    pipe = write_skill(tmp_path, "pipe")
    os.mkfifo(pipe / "pipe")
    for name, reason in (
        ("empty", "has no file 'SKILL.md'"),
        ("missing", "has no file 'SKILL.md'"),
        ("linked", "passwd is not a plain file"),
        ("linked-folder", "up is not a plain file"),
        ("pipe", "pipe is not a plain file"),
    ):
        with pytest.raises(SkillError, match=reason):
            add_skill(tmp_path / name, tmp_path / "skills")
    assert not (tmp_path / "skills").exists()


def test_too_much_is_not_added(tmp_path, monkeypatch):
    source = write_skill(tmp_path, "report")
    for number in range(5):
        (source / f"{number}.txt").write_text("x" * 100)
    monkeypatch.setattr(making, "MAX_COPIED_FILES", 5)
    with pytest.raises(SkillError, match="more than 5 files"):
        add_skill(source, tmp_path / "skills")
    monkeypatch.setattr(making, "MAX_COPIED_FILES", 50)
    monkeypatch.setattr(making, "MAX_COPIED_BYTES", 500)
    with pytest.raises(SkillError, match="more than 50 files, or 0 MB"):
        add_skill(source, tmp_path / "skills")
