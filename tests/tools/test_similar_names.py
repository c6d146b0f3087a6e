import unicodedata

import pytest

from oneclaw_core.builtin.files import read_file, write_file
from oneclaw_core.errors import PermissionDeniedError
from oneclaw_core.files.paths import PathGuard
from oneclaw_core.files.similar_names import escaped
from oneclaw_core.tools.context import ToolContext


@pytest.fixture
def context(tmp_path):
    for each in ("workspace", "project"):
        (tmp_path / each).mkdir()
    paths = PathGuard(tmp_path / "workspace", tmp_path / "project", trusts_start=True)
    return ToolContext(tmp_path / "home", None, "test", "read_file", "call_1", paths)


@pytest.fixture
def project(context):
    return context.paths.start_directory


@pytest.mark.parametrize(
    ("on_disk", "asked"),
    [
        ("Screenshot 2026-05-12 at 4.42.48\u202fPM.txt", "Screenshot 2026-05-12 at 4.42.48 PM.txt"),
        ("Screenshot 2026-05-12 at 4.42.48 PM.txt", "Screenshot 2026-05-12 at 4.42.48\u202fPM.txt"),
        ("Sn\u00edmek v\u00a013.05.txt", "Snímek v 13.05.txt"),
        (unicodedata.normalize("NFD", "Résumé.txt"), "Résumé.txt"),
        ("Résumé.txt", unicodedata.normalize("NFD", "Résumé.txt")),
        (unicodedata.normalize("NFD", "한글.txt"), "한글.txt"),
        ("it\u2019s 1\u20132.txt", "it's 1-2.txt"),
        ("\u3000full\uff0d.txt", " full-.txt"),
        ("a\u200bb.txt", "ab.txt"),
    ],
)
def test_a_name_that_looks_the_same_is_found(context, project, on_disk, asked):
    (project / on_disk).write_text("content")
    assert read_file(asked, context=context).text() == "content"
    assert read_file(str(project / asked), context=context).text() == "content"


def test_directories_on_the_way_are_found_too(context, project):
    folder = project / "My\u00a0Files"
    folder.mkdir()
    (folder / "a.txt").write_text("content")
    assert read_file("My Files/a.txt", context=context).text() == "content"


def test_the_exact_name_goes_first(context, project):
    (project / "a\u00a0b.txt").write_text("other")
    (project / "a b.txt").write_text("content")
    assert read_file("a b.txt", context=context).text() == "content"


def test_names_that_cannot_be_told_apart_are_shown_with_their_differences(context, project):
    for space in ("\u00a0", "\u202f"):
        (project / f"a{space}b.txt").write_text("content")
    text = read_file("a b.txt", context=context).text()
    assert text.startswith("File not found")
    assert '"a\\xa0b.txt", "a\\u202fb.txt"' in text


def test_a_similar_name_is_shown(context, project):
    (project / "rep\u043ert.txt").write_text("content")  # a Cyrillic letter
    assert '"rep\\u043ert.txt"' in read_file("report.txt", context=context).text()
    assert "similar" not in read_file("else.txt", context=context).text()
    assert escaped("Résumé 報告 'a\"") == '"Résumé 報告 \'a\\""'


def test_the_file_that_looks_exactly_the_same_is_written(context):
    existing = context.paths.workspace / "a\u202fb.txt"
    existing.write_text("old")
    assert write_file(f"{context.paths.workspace}/a b.txt", "new", context=context).is_success
    assert existing.read_text() == "new"
    assert [each.name for each in context.paths.workspace.iterdir()] == [existing.name]


def test_a_file_that_only_looks_similar_is_not_written(context):
    (context.paths.workspace / "a\u2013b.txt").write_text("old")
    assert write_file(f"{context.paths.workspace}/a-b.txt", "new", context=context).is_success
    assert (context.paths.workspace / "a\u2013b.txt").read_text() == "old"
    assert (context.paths.workspace / "a-b.txt").read_text() == "new"


def test_a_similar_name_opens_nothing_that_its_own_name_does_not(context, project):
    (project / ".env").write_text("KEY=secret")
    with pytest.raises(PermissionDeniedError, match="may hold secrets"):
        read_file("\uff0eenv", context=context)
