"""The model as the attacker: commands that are to look like one that was granted."""

import json

import pytest
from how_long import some

# Without a sandbox, each command that is not granted is asked for.
ASKS = {"ONECLAW_SANDBOX": "off"}
# What each does beside, or in place of, ``git``; the last word of all is run if the grant is taken for it.
EVASIONS = (
    "git status; touch pwned",
    "git status;touch pwned",
    "git status\ntouch pwned",
    "git status\r\ntouch pwned",
    "git status & touch pwned",
    "git status && touch pwned",
    "git status || touch pwned",
    "git status | touch pwned",
    "git status > pwned",
    "git status >> pwned",
    "git status 2> pwned",
    "git status < /etc/passwd",
    "git status <<x\nx",
    "git $(touch pwned)",
    "git `touch pwned`",
    'git "$(touch pwned)"',
    'git "`touch pwned`"',
    "git ${x:-`touch pwned`}",
    "git $((x=1))",
    "git $'\\x3btouch pwned'",
    "git status # and\ntouch pwned",
    "git \\\n; touch pwned",
    "git 'unclosed",
    'git "unclosed',
    "git status \\",
    "(git status)",
    "{ git status; }",
    "! git status",
    "PATH=. git status",
    "GIT_SSH_COMMAND='touch pwned' git fetch",
    "LD_PRELOAD=./evil.so git status",
    "env git status",
    "exec git status",
    "command git status",
    "eval git status",
    "sudo git status",
    "nice git status",
    "xargs git",
    "./git status",
    "/tmp/git status",
    "~/git status",
    "../git status",
    "g''it status",
    '"git" status',
    "'git' status",
    "\\git status",
    "gi\\t status",
    "GIT status",
    "git\u00a0status",
    "git\u2003status",
    "git\u3000status",
    "git\0status",
    "git\x1b[2K status",
    "git\x0bstatus",
    "git\x0cstatus",
    "git\x85touch pwned",
    "git\u2028touch pwned",
    "git status\u202e",
    "gitx status",
    "git-evil",
    "\u0261it status",
    "function git { touch pwned; }",
    "alias git=touch",
    ". git",
    "source git",
    "git status;",
    "git status &",
    "git status\n",
    "",
    " ",
    "\ud800git status",
)
HARMLESS = ("git", "git status", " git status ", "git -- status", "git log -1 --format='%h %s'", "git commit -m 'a, b'")


def asked_for(oneclaw, command):
    before = len(oneclaw.user.asked)
    result = oneclaw.call_tool("exec", json.dumps({"command": command}))
    return result, oneclaw.user.asked[before:]


@pytest.mark.parametrize("rule", some(["shell.execute:git *", "shell.execute:git"], 2))
def test_a_grant_for_a_command_is_none_for_what_evades_it(oneclaw_factory, oneclaw_home, oneclaw_project, rule):
    oneclaw = oneclaw_factory(("shell",), allow=[rule], environ=ASKS)
    oneclaw.user.says("no")

    for command in EVASIONS:
        result, questions = asked_for(oneclaw, command)
        assert not result.is_success, command
        if result.error_type == "validation_error":  # it is not a command, so it is not asked for
            continue
        assert len(questions) == 1, command
        assert questions[0].subject == command, command

    assert not list(oneclaw_home.workspace.iterdir())
    assert not list(oneclaw_project.iterdir())


@pytest.mark.long
def test_what_is_granted_runs_without_a_question(oneclaw_factory):
    oneclaw = oneclaw_factory(("shell",), allow=["shell.execute:git *"], environ=ASKS)
    for command in HARMLESS[:3]:
        result, questions = asked_for(oneclaw, command)
        assert result.is_success
        assert questions == []


def test_a_question_shows_the_command_that_is_run_and_no_other(oneclaw_factory, oneclaw_home):
    """A key that stands twice, spaces, and another tool's argument of the same name change nothing about that."""
    oneclaw = oneclaw_factory(("shell",), environ=ASKS)
    oneclaw.user.says("once")

    result = oneclaw.call_tool("exec", '{"command": "echo shown", "command": "echo run", "comm\\u0061nd": "echo last"}')

    assert result.result.split()[-1] == "last"
    assert [each.subject for each in oneclaw.user.asked] == ["echo last"]


def test_no_answer_for_one_permission_counts_for_another(oneclaw_factory):
    oneclaw = oneclaw_factory(("shell",), environ=ASKS)
    oneclaw.user.says("session", to="network.private")
    oneclaw.user.says("no", to="shell.execute")
    oneclaw.call_tool("http_request", url="http://127.0.0.1:9/")
    assert oneclaw.call_tool("exec", command="touch pwned").error_type == "permission_denied"
    assert (
        oneclaw.call_tool("exec", command="touch pwned", permission="network.private").error_type == "validation_error"
    )
