"""A session in a small repository: find a bug, fix it, run the tests in the sandbox, and undo all of it."""

from __future__ import annotations

import stat
import subprocess

import pytest

from oneclaw_core.cli.main import main

pytestmark = pytest.mark.needs("bubblewrap", "git")

PROGRAM = """#!/bin/sh
# Count the words of a text.
set -f
echo "$1" | tr ' ' '\\n' | wc -l | tr -d ' '
"""
TESTS = """#!/bin/sh
for text in 'one' 'two words' 'two  spaces'; do
    wanted=$(set -- $text; echo $#)
    found=$(./count-words "$text")
    [ "$found" = "$wanted" ] || { echo "FAILED: '$text' has $wanted words, not $found"; exit 1; }
done
echo OK
"""


def git(directory, *arguments):
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=directory, capture_output=True, check=True)


def everything_in(directory):
    """Each file with its mode and its bytes, those of version control too, but for those that the sandbox makes."""
    return {
        str(path.relative_to(directory)): (stat.S_IMODE(path.lstat().st_mode), path.is_file() and path.read_bytes())
        for path in directory.rglob("*")
        if path not in (directory / ".git" / "commondir", directory / ".git" / "config.worktree")
    }


@pytest.fixture
def repository(oneclaw_project, monkeypatch):
    for name, content in (("count-words", PROGRAM), ("run-tests", TESTS)):
        (oneclaw_project / name).write_text(content)
        (oneclaw_project / name).chmod(0o755)
    (oneclaw_project / ".gitignore").write_text("*.log\n")
    git(oneclaw_project, "init", "-q")
    git(oneclaw_project, "add", ".")
    git(oneclaw_project, "commit", "-q", "-m", "Count words")
    monkeypatch.chdir(oneclaw_project)
    return oneclaw_project


@pytest.fixture
def home(oneclaw_factory, repository):
    return oneclaw_factory(plugins=["checkpoints", "files", "shell"], allow=["directory.trust", "files.write"])


@pytest.mark.long
def test_a_fixed_bug_is_taken_back_byte_for_byte(home, repository, capsys):
    before = everything_in(repository)
    home.model.calls("exec", command="./run-tests")
    home.model.calls("load_tool_group", group_name="files").calls("search_files", pattern="tr ' '")
    home.model.calls("edit_file", path="count-words", edits=[{"old_text": "tr ' '", "new_text": "tr -s ' '"}])
    home.model.calls("exec", command="./run-tests && echo done > NOTES && rm run-tests && chmod 700 count-words")
    home.model.says("The tests pass.")

    turn = home.send("Why do the tests fail?")

    results = [str(each.result.result) for each in turn.tool_calls]
    assert "FAILED: 'two  spaces'" in results[0]
    assert "count-words:4: echo" in results[2]
    assert "\nOK" in results[4]
    assert home.user.asked == []
    after = everything_in(repository)
    assert after.keys() ^ before.keys() == {"NOTES", "run-tests"}

    home.close()
    assert main(["undo", "--yes"]) == 0

    shown = capsys.readouterr().out
    assert "1. Why do the tests fail?" in shown
    assert "-echo \"$1\" | tr -s ' '" in shown
    assert everything_in(repository) == before

    assert main(["undo", "--redo", "--yes"]) == 0
    assert everything_in(repository) == after
