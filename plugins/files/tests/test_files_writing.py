"""Editing and patching files of a trusted project."""

from __future__ import annotations

import pytest
from oneclaw_files.tools import apply_patch, edit_file, search_files
from pytest_oneclaw import assert_tool_error, assert_tool_succeeded

from oneclaw_core import PermissionAnswer, ToolContext
from oneclaw_core.files import PathGuard, open_for_reading
from oneclaw_core.tools import FileChange

PATCH = """*** Begin Patch
*** Update File: app.py
*** Move to: main.py
@@
-x = 1
+x = 2
*** Add File: docs/new.md
+# New
*** Delete File: old.txt
*** End Patch"""


@pytest.fixture
def trusted(oneclaw_factory, oneclaw_plugins, project):
    """A home whose user trusts the project and lets tools write in it."""
    (project / "app.py").write_text("import os\nx = 1\n")
    (project / "old.txt").write_text("old\n")
    return oneclaw_factory(plugins=oneclaw_plugins, allow=["directory.trust", "files.write"])


@pytest.fixture
def asking(oneclaw_factory, oneclaw_plugins, trusted):
    """The same with a user who is asked before each write."""
    return oneclaw_factory(plugins=oneclaw_plugins, allow=["directory.trust"])


def files_in(project):
    return {str(path.relative_to(project)): path.read_text() for path in project.rglob("*") if path.is_file()}


def test_an_edit_is_made_and_shown(trusted, project):
    edits = [{"old_text": "x = 1", "new_text": "x = 2"}]

    text = assert_tool_succeeded(trusted.call_tool("edit_file", path="app.py", edits=edits))

    assert (project / "app.py").read_text() == "import os\nx = 2\n"
    assert text == (
        f"Changed {project}/app.py in 1 place\n"
        f"--- {project}/app.py\n+++ {project}/app.py\n@@ -1,2 +1,2 @@\n import os\n-x = 1\n+x = 2\n"
    )


def test_the_user_sees_the_difference_before_it_is_made(asking, project):
    asking.user.says(PermissionAnswer.NO)
    edits = [{"old_text": "x = 1", "new_text": "x = 2"}]

    assert_tool_error(asking.call_tool("edit_file", path="app.py", edits=edits), "permission_denied")

    (request,) = asking.user.asked
    assert request.permission == "files.write"
    assert "-x = 1\n+x = 2\n" in request.detail
    assert (project / "app.py").read_text() == "import os\nx = 1\n"


def test_edits_are_made_all_or_not_at_all(trusted, project):
    edits = [{"old_text": "x = 1", "new_text": "x = 2"}, {"old_text": "y", "new_text": "z"}]

    error = assert_tool_error(trusted.call_tool("edit_file", path="app.py", edits=edits), "execution_error")

    assert "edits[1] does not match" in error
    assert (project / "app.py").read_text() == "import os\nx = 1\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe", "is not UTF-8 text"),
        (b"a\0b", "is not a text"),
        (b"a" * 5_000_001, "is larger than 5 MB"),
        (None, "File not found"),
    ],
)
def test_what_is_no_text_is_not_edited(trusted, project, content, message):
    if content is not None:
        (project / "data").write_bytes(content)

    edits = [{"old_text": "a", "new_text": "b"}]

    assert message in assert_tool_error(trusted.call_tool("edit_file", path="data", edits=edits), "execution_error")


def test_a_byte_order_mark_stays(trusted, project):
    (project / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+uno\n*** End Patch"

    assert_tool_succeeded(trusted.call_tool("apply_patch", patch=patch))

    assert (project / "a.txt").read_bytes() == b"\xef\xbb\xbfuno\r\ntwo\r\n"


def test_a_patch_changes_moves_adds_and_removes(trusted, project):
    text = assert_tool_succeeded(trusted.call_tool("apply_patch", patch=PATCH))

    assert files_in(project) == {"main.py": "import os\nx = 2\n", "docs/new.md": "# New\n"}
    assert text.splitlines()[:4] == [
        f"Added {project}/main.py",
        f"Removed {project}/app.py",
        f"Added {project}/docs/new.md",
        f"Removed {project}/old.txt",
    ]
    assert "+# New" in text


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("-x = 1", "-x = 7", "does not match"),
        ("docs/new.md", "old.txt", "is there already; change it with"),
        ("Delete File: old.txt", "Delete File: app.py", "changes '.*app.py' twice"),
        ("Delete File: old.txt", "Delete File: gone.txt", "File not found"),
    ],
)
def test_a_patch_that_does_not_fit_changes_nothing(trusted, project, old, new, message):
    before = files_in(project)

    result = trusted.call_tool("apply_patch", patch=PATCH.replace(old, new))

    assert_tool_error(result, "execution_error", message)
    assert files_in(project) == before


def test_a_refused_file_keeps_the_others_from_being_changed(asking, project):
    before = files_in(project)
    asking.user.says(PermissionAnswer.ONCE, PermissionAnswer.NO)

    assert_tool_error(asking.call_tool("apply_patch", patch=PATCH), "permission_denied")

    assert files_in(project) == before


def test_a_write_that_fails_takes_back_the_others(trusted, project, monkeypatch):
    before = files_in(project)

    def fails(path, guard):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("oneclaw_files.changes.remove_file", fails)
    patch = PATCH.replace("*** Move to: main.py\n", "").replace("*** Add File: docs/new.md\n+# New\n", "")

    error = assert_tool_error(trusted.call_tool("apply_patch", patch=patch), "execution_error")

    assert "No space left on device" in error
    assert files_in(project) == before


def test_a_project_that_is_not_trusted_is_not_changed(call_tool, project):
    (project / "app.py").write_text("x = 1\n")
    edits = [{"old_text": "x", "new_text": "y"}]

    error = assert_tool_error(call_tool("edit_file", path="app.py", edits=edits), "permission_denied")

    assert "oneclaw trust" in error
    assert (project / "app.py").read_text() == "x = 1\n"


def test_files_outside_and_of_version_control_are_refused(trusted, project, tmp_path):
    outside = tmp_path / "outside.txt"
    outside.write_text("x")
    (project / ".git").mkdir()
    (project / ".git" / "config").write_text("x")
    edits = [{"old_text": "x", "new_text": "y"}]

    for path in (str(outside), "../outside.txt", ".git/config"):
        assert_tool_error(trusted.call_tool("edit_file", path=path, edits=edits), "permission_denied")


def test_files_of_the_workspace_need_no_trust(call_tool, oneclaw):
    workspace = oneclaw.home.workspace
    workspace.mkdir(parents=True, exist_ok=True)
    (workspace / "notes.md").write_text("one\n")

    edits = [{"old_text": "one", "new_text": "two"}]
    assert_tool_succeeded(call_tool("edit_file", path="notes.md", edits=edits))

    assert (workspace / "notes.md").read_text() == "two\n"


def test_a_file_that_the_user_changed_since_it_was_read_is_not_edited(tmp_path):
    (tmp_path / "workspace").mkdir()
    file = tmp_path / "workspace" / "notes.txt"
    file.write_text("one\ntwo\n")
    paths = PathGuard(tmp_path / "workspace", tmp_path)
    context = ToolContext(tmp_path, None, "test", "edit_file", "call_1", paths)
    edits = [{"old_text": "one", "new_text": "1"}]
    patch = f"*** Begin Patch\n*** Update File: {file}\n@@\n-two\n+2\n*** End Patch"
    assert edit_file(str(file), edits, context=context).is_success
    file.write_text("one\ntwo\nof the user\n")
    search_files("user", str(file), context=context)  # shows a part of it only
    for result in (edit_file(str(file), edits, context=context), apply_patch(patch, context=context)):
        assert "changed since you read it last" in result.text()
    assert file.read_text() == "one\ntwo\nof the user\n"
    with open_for_reading(file, paths):
        assert apply_patch(patch, context=context).is_success


@pytest.mark.long
def test_programs_learn_what_has_changed(trusted, project):
    edited = trusted.call_tool("edit_file", path="app.py", edits=[{"old_text": "x = 1", "new_text": "x = 2"}])
    app = str(project / "app.py")
    assert edited.changes == (FileChange(app, "import os\nx = 1\n", "import os\nx = 2\n"),)
    patched = trusted.call_tool("apply_patch", patch=PATCH.replace("x = 2", "x = 3").replace("-x = 1", "-x = 2"))
    assert patched.changes == (
        FileChange(str(project / "main.py"), None, "import os\nx = 3\n"),
        FileChange(app, "import os\nx = 2\n", None),
        FileChange(str(project / "docs/new.md"), None, "# New\n"),
        FileChange(str(project / "old.txt"), "old\n", None),
    )
    refused = trusted.call_tool("edit_file", path="main.py", edits=[{"old_text": "none", "new_text": "x"}])
    assert refused.changes == ()
