"""Granted commands where the sandbox cannot be used: what tools can have written is asked for all the same."""

import os
import sys
from pathlib import Path

import pytest
from how_long import some

from oneclaw_core.errors import SandboxError
from oneclaw_core.process import ChosenSandbox, Strength, choose_sandbox
from oneclaw_core.types.permissions import Grant

CHOSEN = choose_sandbox("auto")
NO_SANDBOX = ChosenSandbox(None, Strength(is_available=False, reason="bubblewrap (bwrap) is not installed"))


@pytest.fixture
def oneclaw(oneclaw_factory):
    return oneclaw_factory(("shell",))


@pytest.fixture
def grant(oneclaw):
    def grant(pattern, **options):
        oneclaw.run(oneclaw.app.store.set_grant(Grant("shell.execute", pattern, **options)))

    return grant


def no_backend(monkeypatch):
    monkeypatch.setattr("oneclaw_core.process.sandbox.choice.choose_sandbox", lambda setting: NO_SANDBOX)


def incomplete(monkeypatch):
    gaps = Strength(is_available=True, gaps=("it hides nothing",))
    monkeypatch.setattr(
        "oneclaw_core.process.sandbox.choice.choose_sandbox", lambda setting: ChosenSandbox(CHOSEN.backend, gaps)
    )


def slow_search(monkeypatch):
    monkeypatch.setattr("oneclaw_core.files.special_files._SEARCH_SECONDS", -1.0)


def unusable_temporary_directory(monkeypatch):
    def fail(home):
        raise PermissionError(f"{home} belongs to another user")

    monkeypatch.setattr("oneclaw_core.process.sandbox_rules.temporary_directory", fail)


def workspace_with_the_users_directory(monkeypatch):
    def fail(*_):
        raise SandboxError("the workspace holds your own directory")

    monkeypatch.setattr("oneclaw_shell.place.sandbox_policy", fail)


STATES = [no_backend, incomplete, slow_search, unusable_temporary_directory, workspace_with_the_users_directory]


@pytest.mark.parametrize("state", some(STATES, 2))
@pytest.mark.parametrize("pattern", ["make *", "make test"])
def test_a_granted_pattern_is_asked_for_where_tools_can_write(
    oneclaw, grant, oneclaw_home, monkeypatch, state, pattern
):
    grant(pattern)
    if CHOSEN.backend is None and state is not no_backend:
        pytest.skip("no sandbox is here")
    (oneclaw_home.workspace / "Makefile").write_text("test:\n\ttouch made\n")
    state(monkeypatch)
    oneclaw.user.says("no")

    result = oneclaw.call_tool("exec", command="make test")

    assert result.error_type == "permission_denied"
    assert [(each.permission, each.subject) for each in oneclaw.user.asked] == [("shell.execute", "make test")]
    assert oneclaw.user.asked[0].grant_for_good is None  # such an answer would not hold the next time
    assert not (oneclaw_home.workspace / "made").exists()


@pytest.mark.parametrize(
    "command",
    some(["make -C {ws}", "make -C{ws} test", "make --directory={ws}", "make -f {ws}/Makefile",
     "make -C {ws}/../workspace",
     "make -C $PLACE", "make -f {ws}/M*", "make '-f' \"{ws}/Makefile\"", "make -kC{ws}", "make -C {ws}/\\sub",
     "make -C {home}/w\\orkspace", "make -C {home}/w'ork'space", "make -C ''{ws}", "make '--eval=include {ws}/x'",
     "make -C ../..{ws}", "make -kC../..{ws}", "make -C /proc/self/cwd/x", "make -C /p'roc'/self/cwd/x",
     "make -C {home}/tmp", "make -f {home}/withheld/1/Makefile", "make -f {home}/plugins/shell/output/cmd-1.log",
     "make " + "x" * 9_000], 4),
)  # fmt: skip
def test_a_command_that_names_a_place_that_tools_write_is_asked_for(
    oneclaw, grant, oneclaw_home, monkeypatch, tmp_path, command
):
    grant("make *")
    no_backend(monkeypatch)
    oneclaw.user.says("no")

    result = oneclaw.call_tool(
        "exec", command=command.format(ws=oneclaw_home.workspace, home=oneclaw_home.path), working_directory="/usr"
    )

    assert result.error_type == "permission_denied"
    assert len(oneclaw.user.asked) == 1


def test_a_granted_pattern_holds_where_tools_cannot_write(oneclaw, grant, monkeypatch):
    grant("echo *")
    no_backend(monkeypatch)
    assert "hello" in oneclaw.call_tool("exec", command="echo hello /etc/*.conf", working_directory="/usr").result
    assert oneclaw.user.asked == []


def test_a_granted_pattern_holds_if_the_user_turned_the_sandbox_off(oneclaw_factory):
    oneclaw = oneclaw_factory(("shell",), allow=["shell.execute:echo *"], environ={"ONECLAW_SANDBOX": "off"})
    assert "hello" in oneclaw.call_tool("exec", command="echo hello").result


@pytest.mark.long
def test_all_commands_can_be_granted_without_a_sandbox(oneclaw, grant, oneclaw_home, monkeypatch):
    grant(None, directory=str(oneclaw_home.workspace))
    no_backend(monkeypatch)
    assert "hello" in oneclaw.call_tool("exec", command="echo hello").result
    assert oneclaw.user.asked == []


def test_no_command_gets_what_belongs_to_the_system_or_oneclaw(oneclaw, oneclaw_home):
    if CHOSEN.backend is None:
        pytest.skip("no sandbox is here")
    keys = oneclaw_home.path / "keys.json"
    keys.write_text("{}")
    oneclaw.user.says("once")
    for need in (
        "write:/etc",
        "write:/usr/bin",
        f"write:{Path('/usr/bin/env').resolve()}",
        f"read:{keys}",
        f"write:{oneclaw_home.path}",
        f"write:{sys.prefix}",
        *(["read:/etc/shadow"] if os.getuid() == 0 else []),
    ):
        result = oneclaw.call_tool("exec", command="true", needs=[need], reason="r")
        assert result.error_type == "validation_error"
        assert "belongs to" in result.error_message
    assert oneclaw.user.asked == []


@pytest.mark.long
def test_no_result_advises_to_ask_for_the_home(oneclaw, oneclaw_home):
    if CHOSEN.name != "bubblewrap":
        pytest.skip("bubblewrap cannot run here")
    keys = oneclaw_home.path / "keys.json"
    keys.write_text("{}")
    for command in (f"cat {keys}", f"touch {sys.prefix}/made"):
        result = oneclaw.call_tool("exec", command=command)
        assert "It stays closed" in result.result
        assert "call exec again" not in result.result


@pytest.mark.parametrize("granted", ["always", "session", "with an option", "its file"])
def test_a_granted_pattern_is_asked_for_where_the_user_has_let_tools_write(
    oneclaw_factory, monkeypatch, tmp_path, granted
):
    made = tmp_path / "made"
    made.mkdir()
    options = ["shell.execute:make *", *([f"files.write:{made}"] if granted == "with an option" else [])]
    oneclaw = oneclaw_factory(("shell",), allow=options)
    if granted in ("always", "its file"):
        pattern = str(made / "Makefile" if granted == "its file" else made)
        oneclaw.run(oneclaw.app.store.set_grant(Grant("files.write", pattern)))
    if granted == "session":
        if CHOSEN.name != "bubblewrap":
            pytest.skip("bubblewrap cannot run here")
        oneclaw.user.says("session")
        written = oneclaw.call_tool("exec", command="true", needs=[f"write:{made}"], reason="r")
        assert written.is_success
        oneclaw.user.asked.clear()
    no_backend(monkeypatch)
    oneclaw.user.says("no")

    result = oneclaw.call_tool("exec", command=f"make -C {made}", working_directory="/usr")

    assert result.error_type == "permission_denied"
    assert [each.permission for each in oneclaw.user.asked] == ["shell.execute"]
