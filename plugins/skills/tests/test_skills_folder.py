"""Reading a skill's files, and none outside."""

import os
import zipfile

import pytest
from oneclaw_skills.folder import MAX_FILE_BYTES, MAX_SKILL_FILE_BYTES, SkillFile, SkillFolder
from oneclaw_skills.skill import SkillError
from skill_files import write_skill

pytestmark = pytest.mark.every_python


@pytest.fixture
def root(tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    folder = write_skill(tmp_path)
    (folder / "references").mkdir()
    (folder / "references" / "guide.md").write_text("the guide", encoding="utf-8-sig")
    return folder


def refusal(root, path):
    with pytest.raises(SkillError) as caught:
        SkillFolder(root).read_file(path)
    assert "secret" not in str(caught.value).replace("secret.txt", "")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_files_are_read_by_their_paths(root):
    folder = SkillFolder(root)
    assert folder.read_document().startswith("---")
    assert folder.read_file("references/guide.md") == "the guide"
    assert folder.read_file("./references//guide.md") == "the guide"
    assert (folder.name, folder.path) == ("report", root)


@pytest.mark.parametrize("path", ["../secret.txt", "/etc/passwd", "references/../../secret.txt", "", ".", "a\0b"])
def test_paths_that_lead_elsewhere(root, path):
    assert "is no path of a file in the skill's folder" in refusal(root, path)


def test_links_that_lead_elsewhere(root):
    (root / "file.md").symlink_to(root.parent / "secret.txt")
    (root / "up").symlink_to(root.parent)
    (root / "passwd").symlink_to("/etc/passwd")
    (root / "loop").symlink_to("loop")
    for path in ("file.md", "up/secret.txt", "passwd"):
        assert "outside the skill's folder" in refusal(root, path)
        assert not SkillFolder(root).has_file(path)
    assert "cannot be read" in refusal(root, "loop")


def test_a_skill_file_that_is_a_link_elsewhere_is_not_read(root):
    (root / "SKILL.md").unlink()
    (root / "SKILL.md").symlink_to(root.parent / "secret.txt")
    with pytest.raises(SkillError, match="outside the skill's folder"):
        SkillFolder(root).read_document()


def test_links_within_the_folder_and_to_the_folder_are_fine(root, tmp_path):
    (root / "also.md").symlink_to("references/guide.md")
    (tmp_path / "linked").symlink_to(root)
    assert SkillFolder(tmp_path / "linked").read_file("also.md") == "the guide"


def test_what_is_no_text_file(root):
    os.mkfifo(root / "pipe")
    (root / "image.png").write_bytes(b"\x89PNG\xff")
    (root / "nul.txt").write_bytes(b"a\0b")
    assert "it is not a file" in refusal(root, "references")
    assert "it is not a file" in refusal(root, "pipe")
    assert "is not UTF-8 text" in refusal(root, "image.png")
    assert "is binary" in refusal(root, "nul.txt")
    assert "has no file 'missing.md'" in refusal(root, "missing.md")


def test_sizes_are_limited(root):
    (root / "big.txt").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    assert "more than 1024 KB" in refusal(root, "big.txt")
    (root / "SKILL.md").write_bytes(b"x" * (MAX_SKILL_FILE_BYTES + 1))
    with pytest.raises(SkillError, match="more than 100 KB"):
        SkillFolder(root).read_document()


def test_files_are_listed_but_for_links_and_what_is_hidden(root, tmp_path):
    (root / "scripts").mkdir()
    (root / "scripts" / "run.sh").write_text("true\n")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("x")
    (root / "__pycache__").mkdir()
    (root / "__pycache__" / "x.pyc").write_text("x")
    (root / "link").symlink_to(tmp_path / "secret.txt")
    (root / "up").symlink_to(tmp_path)
    os.mkfifo(root / "pipe")
    assert SkillFolder(root).files() == (SkillFile("references/guide.md", 12), SkillFile("scripts/run.sh", 5))


def test_the_list_of_files_is_bounded(root):
    deep = root / "a" / "b" / "c" / "d"
    deep.mkdir(parents=True)
    (deep / "too-deep.md").write_text("x")
    for number in range(120):
        (root / f"{number:03}.md").write_text("x")
    files = SkillFolder(root).files()
    assert len(files) == 50
    assert files[0].path == "000.md"
    assert all("too-deep" not in file.path for file in files)


def test_a_folder_in_a_zip_file(root, tmp_path):
    archive = tmp_path / "package.zip"
    with zipfile.ZipFile(archive, "w") as zipped:
        for path in ("SKILL.md", "references/guide.md"):
            zipped.write(root / path, f"skills/report/{path}")
        zipped.writestr("skills/secret.txt", "secret")
    with zipfile.ZipFile(archive) as opened:
        folder = SkillFolder(zipfile.Path(opened, "skills/report/"))
        assert (folder.name, folder.path) == ("report", None)
        assert folder.read_document().startswith("---")
        assert folder.read_file("references/guide.md") == "the guide"
        assert folder.files() == (SkillFile("references/guide.md", None),)
        for path in ("../secret.txt", "missing.md", "references"):
            with pytest.raises(SkillError):
                folder.read_file(path)
