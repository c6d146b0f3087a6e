"""Patterns of commands, against everything that could be taken for a command that it is not."""

import subprocess
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from how_long import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from oneclaw_core.errors import UsageError
from oneclaw_core.files import PathGuard
from oneclaw_core.permissions import Decision, Grant
from oneclaw_core.permissions.decisions import Decisions
from oneclaw_core.permissions.rules import (
    PermissionRule,
    check_pattern,
    covers,
    denies,
    directory_of,
    exact_pattern,
    grants,
    is_account,
    is_simple,
    subject_kind,
    subject_of,
    subject_parts,
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


def refused(rule):
    with pytest.raises(UsageError) as error:
        PermissionRule.check(rule)
    return str(error.value)


def test_why_a_pattern_is_refused():
    single = (
        "is not a single command: a pattern has no ; | & < > ( ) $ ` # and no line break, and its quotes are closed"
    )
    beginning = "a pattern begins with the name of a program, as in 'git *'; for all commands, leave it out"
    for pattern, message in (
        ("git*", "in 'git*' the * must be a word by itself, as in 'git *'"),
        ("", beginning),
        (" * ", beginning),
        ("a * b", "in 'a * b' a * can only be the last word, where it stands for any arguments"),
        ("a * *", "in 'a * *' a * can only be the last word, where it stands for any arguments"),
        ("a; b", f"'a; b' {single}"),
        ("a 'b", f'"a \'b" {single}'),
    ):
        assert refused(f"shell.execute:{pattern}") == message
    text = "a pattern says what the permission is for; for all, leave it and the colon out"
    for pattern in ("", " ", "*", "**"):
        assert refused(f"mail.send:{pattern}") == text
    path = "must be an absolute path; it stands for the file, or all below the directory"
    assert refused("files.read:notes") == f"'notes' {path}"
    assert refused("files.write:/a\0") == f"'/a\\x00' {path}"


def test_rules_are_read_and_written():
    for written, permission, pattern in (
        ("a.b", "a.b", None),
        ("a.b:", "a.b", ""),
        ("a.b:c:d", "a.b", "c:d"),
    ):
        rule = PermissionRule.read(written)
        assert (rule.permission, rule.pattern, str(rule)) == (permission, pattern, written)
    for written, checked in (
        ("a.b", "a.b"),
        ("mail.send: ada ", "mail.send:ada"),
        ("shell.execute:\tgit  * ", "shell.execute:git *"),
        ("files.read:/a/../b", "files.read:/b"),
        ("network.private:NAS.lan", "network.private:nas.lan"),
    ):
        assert str(PermissionRule.check(written)) == checked


KINDS = {
    "agents.create": ("agent", "name", None, False, False, False, False),
    "data.send": ("host", None, None, False, False, False, False),
    "shell.execute": ("command", "command", "working_directory", True, False, False, False),
    "shell.execute.unsandboxed": ("command", None, None, False, False, False, True),
    "shell.network": ("host", None, None, False, False, False, False),
    "network.private": ("host", None, None, False, False, False, False),
    "network.public": ("host", None, None, False, False, False, False),
    "files.read": ("path", None, None, False, False, False, False),
    "files.write": ("path", None, None, True, True, False, False),
    "directory.trust": ("directory", None, None, False, False, True, False),
    "directory.instructions": ("file", None, None, False, False, True, False),
    "mail.send": ("subject", None, None, False, False, False, False),
}


def test_each_permission_has_its_kind_of_subject():
    for permission, expected in KINDS.items():
        kind = subject_kind(permission)
        assert (
            kind.noun,
            kind.argument,
            kind.directory_argument,
            kind.is_whole_in_session,
            kind.is_whole_for_good,
            kind.is_denied_alone,
            kind.is_for_once,
        ) == expected, permission


def test_subjects_have_parts_where_they_are_texts():
    for permission, subject, parts in (
        ("mail.send", "ada, bob,,", ("ada", "bob")),
        ("mail.send", " , ", (" , ",)),
        ("mail.send", "ada", ("ada",)),
        ("shell.execute", "a, b", ("a, b",)),
        ("agents.create", "a, b", ("a, b",)),
    ):
        assert subject_parts(permission, subject) == parts
    assert [is_account(each) for each in ("as ada", "ada", None, "AS ada")] == [True, False, False, False]


def test_patterns_of_texts_hold_for_each_part():
    for pattern, subject, is_covered, is_touched in (
        ("ada", "ada", True, True),
        ("ada", " ada ", True, True),
        ("ada", "bob", False, False),
        ("ada", "ada, bob", False, True),
        ("*@x.example", "a@x.example, b@x.example", True, True),
        ("*@x.example", "a@x.example, b@y.example", False, True),
        ("a*c", "a\nc", True, True),
        ("a.c", "abc", False, False),
        ("a, b", "a, b", True, True),
    ):
        kind = subject_kind("mail.send")
        assert (kind.covers(pattern, subject), kind.touches(pattern, subject)) == (is_covered, is_touched), subject
    exact = subject_kind("mail.send").exact_pattern
    assert [exact(each) for each in (" a ", "", "a*", "a\nb")] == ["a", None, None, None]


def test_grants_of_paths_hold_below_them_and_name_what_is_hidden(tmp_path):
    read, write = subject_kind("files.read"), subject_kind("files.write")
    for pattern, path, can_read, can_write in (
        ("/srv", "/srv/a", True, True),
        ("/srv/", "/srv/a", True, True),
        ("/srv", "/srv", True, True),
        ("/srv", "/srva", False, False),
        ("/srv", "/srv/.env", False, False),
        ("/srv/.env", "/srv/.env", True, True),
        ("/srv", "/srv/.git/config", True, False),
        ("/srv/.git", "/srv/.git/config", True, True),
        ("/srv/.git/config", "/srv/.git/config", True, True),
    ):
        assert (read.covers(pattern, path), write.covers(pattern, path)) == (can_read, can_write), (pattern, path)
        assert read.touches(pattern, path) == (path == pattern or path.startswith(pattern.rstrip("/") + "/"))
    assert [read.exact_pattern(each) for each in ("/a", "a")] == ["/a", None]
    for path, is_read, is_written in (
        ("/srv/a", True, True),
        ("/srv/.env", False, False),
        ("/srv/.git/a", True, False),
    ):
        assert (read.whole_covers(path), write.whole_covers(path)) == (is_read, is_written)
    trust = subject_kind("directory.trust")
    assert (trust.covers("/srv", "/srv"), trust.covers("/srv", "/srv/a")) == (True, False)
    assert (trust.whole_covers("/"), trust.whole_covers(str(tmp_path))) == (False, True)


def test_what_grants_and_denials_hold_for():
    for rule, permission, subject, grants_it, denies_it in (
        ("a.b", "a.b", None, True, True),
        ("a.b", "a.b", "x", True, True),
        ("a.b:x", "a.b", "x", True, True),
        ("a.b:x", "a.b", "y", False, False),
        ("a.b:x", "a.b", None, False, False),
        ("a.*", "a.b", None, True, False),
        ("a.*:x", "a.b", "x", True, False),
        ("a.*", "ab.c", None, False, False),
        ("a", "a.b", None, False, True),
        ("a", "ab", None, False, False),
        ("files.*", "files.read", None, False, False),
        ("files.read", "files.read", "/srv/.env", False, True),
        ("files.read", "files.read", "/srv/a", True, True),
    ):
        read = PermissionRule.read(rule)
        assert grants(read, permission, subject) is grants_it, (rule, permission, subject)
        assert denies(read, permission, subject) is denies_it, (rule, permission, subject)
    in_directory = Grant("files.write", directory="/srv")
    assert grants(in_directory, "files.write", "/srv/.git/config")


def test_a_directory_is_trusted_by_a_lasting_grant_for_all(tmp_path):
    name = str(tmp_path.resolve())
    later, earlier = datetime.now(UTC) + timedelta(hours=1), datetime.now(UTC) - timedelta(hours=1)
    trust = "directory.trust"
    for decided, is_known in (
        ([], False),
        ([Grant(trust, name)], True),
        ([Grant(trust)], True),
        ([Grant(trust, name, agent="Ada")], False),
        ([Grant(trust, name, task="t")], False),
        ([Grant(trust, name, directory="/a")], False),
        ([Grant(trust, name, until=later)], True),
        ([Grant(trust, name, until=earlier)], False),
        ([Grant(trust), Grant(trust, name, Decision.DENY)], False),
        ([Grant(trust, name), Grant(trust, f"{name}/x", Decision.DENY)], True),
        ([Grant(trust, name), Grant(trust, name, Decision.DENY, until=earlier)], True),
        ([Grant("other", name)], False),
    ):
        assert Decisions(decided).holds(trust, name) is is_known


def test_arguments_say_what_a_permission_is_for(tmp_path):
    paths = PathGuard(tmp_path, tmp_path)
    for permission, arguments, subject in (
        ("shell.execute", {"command": "ls"}, "ls"),
        ("shell.execute", {"command": 7}, None),
        ("shell.execute", {}, None),
        ("agents.create", {"name": "Ada"}, "Ada"),
        ("mail.send", {"subject": "x"}, None),
    ):
        assert subject_of(permission, arguments) == subject
    for permission, arguments, directory in (
        ("shell.execute", {}, str(tmp_path)),
        ("shell.execute", {"working_directory": "/"}, "/"),
        ("shell.execute", {"working_directory": "none"}, None),
        ("mail.send", {}, None),
    ):
        assert directory_of(permission, arguments, lambda: paths) == directory


def test_what_is_one_simple_command():
    for command, is_one in (
        ("ls", True),
        ("ls\t-l", True),
        ("", False),
        (" \t", False),
        ("ls 'a b'", True),
        ("ls 'a", False),
        ("ls #x", False),
        ("#x", False),
        ("ls a#x", True),
        ("ls\x1b", False),
        *((f"ls {sign} x", False) for sign in ";|&<>()$`\n\r"),
        ("ls {a}", True),
    ):
        assert is_simple(command) is is_one, command
    for pattern, command, is_covered, is_touched in (
        ("git *", "git", True, True),
        ("git *", "git\tpush", True, True),
        ("git *", "gitx", False, False),
        ("git *", " git push ", True, True),
        ("git push", "git push", True, True),
        ("git push", "git push x", False, False),
        ("git *", "a; git push", False, True),
        ("git *", "/usr/bin/git x", False, True),
        ("git push", "'git' pu\\sh", False, True),
        ("git *", "echo {git}", False, True),
        ("git *", "a", False, False),
    ):
        kind = subject_kind("shell.execute")
        assert (kind.covers(pattern, command), kind.touches(pattern, command)) == (is_covered, is_touched), command
    exact = subject_kind("shell.execute").exact_pattern
    assert [exact(each) for each in (" ls ", "ls *", "ls; ls")] == ["ls", None, None]
