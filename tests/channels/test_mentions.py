"""Files that a message names as ``@PATH``."""

import pytest

from oneclaw_core.channels.mentions import MAX_FILE_BYTES, with_mentioned_files

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


@pytest.fixture
def project(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("print(1)\n")
    (tmp_path / "my notes.txt").write_text("buy milk")
    (tmp_path / ".env").write_text("KEY=1")
    (tmp_path / "photo.png").write_bytes(PNG)
    return tmp_path


def mentioned(text, project, *, is_typed=True):
    return with_mentioned_files(text, project, is_typed=is_typed)


def test_a_file_is_attached_behind_the_message(project):
    found = mentioned("Explain @src/a.py.", project)
    path = project / "src" / "a.py"
    assert found.text == f"Explain @src/a.py.\n\n[The user attached the file {path}:]\nprint(1)\n\n[End of {path}]"
    assert found.files == (str(path),)
    assert found.notices == (f"attached: {path}",)


def test_a_quoted_path_may_have_blanks(project):
    assert "buy milk" in mentioned('Read @"my notes.txt" please', project).text


def test_the_names_in_a_directory_are_attached(project):
    assert "\na.py\n" in mentioned("What is in @src/ ?", project).text


def test_an_image_is_an_attachment(project):
    (attachment,) = mentioned("Look at @photo.png", project).attachments
    assert (attachment.name, attachment.data) == ("photo.png", PNG)


@pytest.mark.parametrize("text", ["mail ada@src", "@nobody", "a@b.example", "@", "see user@my", "@@src"])
def test_other_words_with_the_sign_stay_as_they_are(project, text):
    assert mentioned(text, project) == type(mentioned("", project))(text)


def test_a_hidden_file_that_was_typed_is_attached_and_said_to_be_hidden(project):
    found = mentioned("Check @.env", project)
    assert "KEY=1" in found.text
    assert found.notices == (f"attached: {project}/.env, a hidden file",)


def test_a_link_to_a_hidden_file_is_not_attached_for_its_harmless_name(project):
    (project / "notes.md").symlink_to(".env")
    found = mentioned("Check @notes.md", project)
    assert "KEY=1" not in found.text
    assert found.notices == (
        f"not attached: {project}/notes.md is a link to a hidden file; name {project}/.env itself",
    )


def test_a_hidden_file_is_not_attached_to_text_that_may_come_from_elsewhere(project):
    (project / "link.txt").symlink_to(".env")
    found = mentioned("Check @.env and @link.txt", project, is_typed=False)
    assert "KEY=1" not in found.text
    assert all(each.startswith("not attached: ") for each in found.notices)


def test_what_is_too_long_or_no_text_is_told(project):
    (project / "long.txt").write_text("x" * (MAX_FILE_BYTES + 1))
    (project / "data.bin").write_bytes(b"\xff\xfe\x00\x01")
    found = mentioned("@long.txt @data.bin", project)
    assert found.text == "@long.txt @data.bin"
    assert [each.split()[2:5] for each in found.notices] == [
        [str(project / "long.txt"), "is", "longer"],
        [str(project / "data.bin"), "is", "neither"],
    ]


def test_all_files_together_have_a_limit(project):
    for number in range(6):
        (project / f"{number}.txt").write_text("x" * MAX_FILE_BYTES)
    found = mentioned(" ".join(f"@{number}.txt" for number in range(6)), project)
    assert sum(each.startswith("attached") for each in found.notices) < 5
    assert len(found.text) < 5 * MAX_FILE_BYTES
