"""Patterns of commands, against everything that could be taken for a command that it is not."""

import subprocess
import tempfile
from pathlib import Path

import pytest
from how_long import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from oneclaw_core.errors import UsageError
from oneclaw_core.tools.permission_rules import (
    PermissionRule,
    check_pattern,
    covers,
    exact_pattern,
    grants,
    is_simple,
    touches,
)


@pytest.mark.parametrize(
    "command",
    [
        "git status",
        "git",
        " git  log ",
        "git\tlog",
        "git commit -m 'two words'",
        'git add "a b" *.py',
        "git log HEAD~1",
    ],
)
def test_a_star_stands_for_any_arguments(command):
    assert covers("git *", command)


@pytest.mark.parametrize(
    "command",
    [
        "git status; rm -rf /",
        "git status;rm -rf /",
        "git status && rm -rf /",
        "git status || rm -rf /",
        "git status | sh",
        "git status & rm -rf /",
        "git status\nrm -rf /",
        "git status\r\nrm -rf /",
        "git log > ~/.bashrc",
        "git log >> ~/.bashrc",
        "git apply < patch",
        "git log $(rm -rf /)",
        "git log `rm -rf /`",
        'git log "$(rm -rf /)"',
        "git log $HOME",
        "git log ${IFS}x",
        "git <(rm -rf /)",
        "git status # harmless",
        "git status #",
        "#git status",
        "git 'status",
        'git "status',
        "git log \x1b[2J",
        "git log \x00",
        "git log \u2028rm",
        "git log \u202etxt",
        "git log\u00a0x",
        "git log\x0brm",
        "git\u2003status",
        "gitk",
        "git-shell -c x",
        "/tmp/git status",
        "./git status",
        "PATH=/tmp git status",
        "sudo git status",
        "env git status",
        "! git status",
        "{ git status",
        "Git status",
        "",
        "   ",
    ],
)
def test_what_is_not_plainly_one_such_command_is_not_covered(command):
    assert not covers("git *", command)


def test_quoted_metacharacters_are_not_trusted_either():
    assert not covers("git *", "git commit -m 'a; b'")
    assert not covers("git *", r"git commit -m a\;b")


def test_a_pattern_without_a_star_is_one_command_to_the_letter():
    assert covers("git status", " git status ")
    for other in ("git status -s", "git", "git  status", "git statusx", "git 'status'", "git status;"):
        assert not covers("git status", other)


def test_the_beginning_ends_with_a_word():
    assert covers("git stash list *", "git stash list -p")
    assert not covers("git stash list *", "git stash listen")
    assert not covers("git commit -m 'a' *", "git commit -m 'a''b' c")


@pytest.mark.parametrize(
    ("written", "pattern"),
    [
        ("git *", "git *"),
        ("  git \t *  ", "git *"),
        ("git status", "git status"),
        ("python -m pytest *", "python -m pytest *"),
        ("git commit -m 'a b'", "git commit -m 'a b'"),
    ],
)
def test_a_pattern_has_one_form(written, pattern):
    assert check_pattern(written) == pattern
    assert check_pattern(pattern) == pattern


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("", "name of a program"),
        ("*", "name of a program"),
        (" * ", "name of a program"),
        ("git*", "word by itself"),
        ("git * log", "last word"),
        ("* log", "last word"),
        ("git * *", "last word"),
        ("rm *.tmp", "last word"),
        ("git status; ls", "single command"),
        ("git log | *", "single command"),
        ("git 'a *", "single command"),
        ("git\nlog", "single command"),
        ("echo $HOME", "single command"),
    ],
)
def test_a_pattern_that_would_not_do_what_it_seems_to_is_refused(pattern, reason):
    with pytest.raises(UsageError, match=reason):
        check_pattern(pattern)


@pytest.mark.parametrize("command", ["ls *.py", "ls; ls", "ls *", "", "ls 'a"])
def test_some_commands_have_no_pattern_of_their_own(command):
    assert exact_pattern(command) is None


HARMLESS = st.sampled_from(
    [*"eoxX ~*?[]=,-^%@:./!'\"{}\\\t", "okay", "evil", " 'a b' ", "--", "if", "eval", "X=1", " e\\ f "]
)
HARMFUL = st.sampled_from(
    [*";|&$()`<>#\n\r\x0b\x0c\x85\u00a0\u2028", "||", "&&", "$(evil)", "`evil`", ";evil", " #", "$'\\n'"]
)


@pytest.fixture(scope="module")
def programs():
    """A directory with programs that leave a trace, and a file that nothing may change."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        (directory / "bin").mkdir()
        (directory / "here").mkdir()
        for program in ("okay", "evil"):
            path = directory / "bin" / program
            path.write_text(f"#!/bin/sh\necho {program} >> {directory}/trace\n")
            path.chmod(0o755)
        yield directory


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.one_of(HARMLESS, HARMLESS, HARMLESS, HARMLESS, HARMFUL), max_size=8))
def test_what_is_covered_runs_that_one_program_and_nothing_else(programs, words):
    command = "okay " + "".join(words)
    if not covers("okay *", command):
        return
    trace = programs / "trace"
    trace.unlink(missing_ok=True)
    subprocess.run(
        ["/bin/sh", "-c", command],
        env={"PATH": str(programs / "bin")},
        cwd=programs / "here",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=10,
    )
    assert trace.read_text() == "okay\n"
    assert list((programs / "here").iterdir()) == []


@given(st.text(st.characters(codec="utf-8") | st.sampled_from("git *;'\"\\$`"), max_size=30))
def test_a_command_is_covered_by_its_own_pattern(command):
    pattern = exact_pattern(command)
    assert (pattern is not None) == (is_simple(command.strip(" \t")) and "*" not in command)
    if pattern is not None:
        assert covers(pattern, command)
        assert check_pattern(pattern) == pattern
        assert touches(pattern, command)


@pytest.mark.parametrize(
    "command",
    [
        "git push",
        "git push origin",
        "cd x && git push",
        "true;git   push -f",
        "/usr/bin/git push",
        "g'i't \"push\"",
        "g\\it push",
        "echo `git push`",
        "(git push)",
    ],
)
def test_a_denial_is_found_in_any_part(command):
    assert touches("git push *", command)


def test_a_denial_leaves_the_rest_alone():
    assert not touches("git push *", "git status")
    assert not touches("git push *", "echo git push")
    assert not touches("git push", "git push -f")


def test_a_grant_of_all_parts_holds_for_no_permission_of_oneclaw():
    assert grants(PermissionRule("mcp.files.*"), "mcp.files.read_file", None)
    assert not grants(PermissionRule("mcp.files.*"), "mcp.filesystem.read_file", None)
    assert not grants(PermissionRule("mcp.files.*"), "mcp.files", None)
    assert not grants(PermissionRule("shell.execute.*"), "shell.execute.unsandboxed", "ls")
