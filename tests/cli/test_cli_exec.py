"""The core tool exec through the program: asked for, granted by a pattern, denied, from a plain sentence."""

import json

import pytest

from oneclaw_core.process import choose_sandbox

needs_bubblewrap = pytest.mark.needs("bubblewrap")
pytestmark = pytest.mark.every_python


def result_of(outcome):
    events = [json.loads(line) for line in outcome.stdout.splitlines()]
    (result,) = (event for event in events if event["event"] == "tool_result")
    return result


def test_a_command_is_run_if_a_pattern_allows_it(oneclaw, tmp_path, monkeypatch):
    monkeypatch.setenv("ONECLAW_SANDBOX", "off")
    # In the workspace, where tools write what a command may run, a pattern is not enough.
    arguments = json.dumps({"command": "echo hello", "working_directory": str(tmp_path)})
    outcome = oneclaw("call", "--allow", "shell.execute:echo *", "exec", arguments)
    assert outcome.status == 0
    assert outcome.json == {"status": "success", "result": "[exit code: 0]\n\nhello"}


@pytest.mark.parametrize("command", ["echo hello; echo $0", "ls", "echo hello > there"])
def test_another_command_is_not(oneclaw, tmp_path, command, monkeypatch):
    monkeypatch.setenv("ONECLAW_SANDBOX", "off")
    arguments = json.dumps({"command": command, "working_directory": str(tmp_path)})
    outcome = oneclaw("call", "--allow", "shell.execute:echo *", "exec", arguments)
    assert outcome.status == 1
    assert outcome.json["error_type"] == "permission_denied"
    assert "The user can grant it with: oneclaw permissions grant shell.execute" in outcome.json["message"]
    assert not (tmp_path / "there").exists()


def test_what_is_granted_for_good_holds_and_what_is_denied_goes_before_it(oneclaw, ok):
    ok("permissions", "grant", "shell.execute")
    ok("permissions", "deny", "shell.execute:rm *")
    assert "hello" in oneclaw("call", "exec", '{"command": "echo hello"}').json["result"]
    denied = oneclaw("call", "exec", '{"command": "true && rm x"}').json
    assert "oneclaw permissions reset 'shell.execute:rm *'" in denied["message"]


@pytest.mark.long
def test_a_plain_sentence_is_enough(oneclaw, monkeypatch):
    monkeypatch.setenv("ONECLAW_SANDBOX", "off")
    outcome = oneclaw("run", "--json", "--allow", "shell.execute", "Run the command echo a | tr a b")
    assert result_of(outcome)["result"] == "[exit code: 0]\n\nb"
    denied = oneclaw("run", "--json", "Run the command echo a | tr a b")
    assert result_of(denied)["error_type"] == "permission_denied"


@pytest.mark.long
def test_wrong_arguments_are_told_of(oneclaw):
    for arguments in (
        {},
        {"command": 5},
        {"command": "ls", "timeout": 5},
        {"command": "ls", "timeout_seconds": "soon"},
    ):
        outcome = oneclaw("call", "--allow", "shell.execute", "exec", json.dumps(arguments))
        assert outcome.json["error_type"] == "validation_error"


@pytest.mark.long
def test_a_model_sees_the_end_of_a_long_output(oneclaw):
    outcome = oneclaw("run", "--json", "--allow", "shell.execute", "Run the command seq 1 20000")
    result = result_of(outcome)["result"]
    assert len(result) < 30_000
    assert result.endswith("\n20000")


@pytest.mark.long
@needs_bubblewrap
def test_in_the_sandbox_no_permission_is_needed(ok, home):
    result = json.loads(ok("call", "exec", '{"command": "echo hello > there; cat there"}'))
    assert result == {"status": "success", "result": "[exit code: 0]\n\nhello"}
    assert (home / "workspace" / "there").read_text() == "hello\n"
    (entry,) = ok("permissions", "log", "--json")
    assert (entry["decided_by"], entry["detail"]) == ("sandbox", "in the sandbox bubblewrap")
    assert "in the sandbox bubblewrap" in ok("permissions", "log")


@pytest.mark.long
@needs_bubblewrap
def test_a_denial_holds_in_the_sandbox_too(oneclaw, ok):
    ok("permissions", "deny", "shell.execute:rm *")
    assert oneclaw("call", "exec", '{"command": "true && rm x"}').json["error_type"] == "permission_denied"
    ok("permissions", "deny", "shell.execute")
    assert oneclaw("call", "exec", '{"command": "true"}').json["error_type"] == "permission_denied"


@needs_bubblewrap
def test_a_granted_command_runs_outside_the_sandbox(ok, tmp_path):
    where = json.dumps({"command": f"touch {tmp_path}/made"})
    ok("permissions", "grant", "shell.execute")
    assert json.loads(ok("call", "exec", where))["result"].startswith("[exit code: 0]")
    assert (tmp_path / "made").exists()
    assert ok("permissions", "log", "--json")[0]["detail"] == "outside the sandbox"


def test_the_doctor_tells_what_the_sandbox_enforces(oneclaw, monkeypatch):
    def line(setting):
        monkeypatch.setenv("ONECLAW_SANDBOX", setting)
        checks = oneclaw("doctor", "--json").json["checks"]
        return next(each for each in checks if each["check"] == "sandbox")

    assert line("off")["message"].startswith("none, so each command is asked for")
    gaps = choose_sandbox("landlock").strength.gaps
    assert f"each command is asked for: {'; '.join(gaps)}" in line("landlock")["message"]
    assert line("auto")["message"].startswith(choose_sandbox("auto").name)
