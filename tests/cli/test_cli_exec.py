"""The core tool exec through the program: asked for, granted by a pattern, denied, from a plain sentence."""

import json

import pytest

pytestmark = pytest.mark.every_python


def result_of(outcome):
    events = [json.loads(line) for line in outcome.stdout.splitlines()]
    (result,) = (event for event in events if event["event"] == "tool_result")
    return result


def test_a_command_is_run_if_a_pattern_allows_it(oneclaw):
    outcome = oneclaw("call", "--allow", "shell.execute:echo *", "exec", '{"command": "echo hello"}')
    assert outcome.status == 0
    assert outcome.json == {"status": "success", "result": "[exit code: 0]\n\nhello"}


@pytest.mark.parametrize("command", ["echo hello; echo $0", "ls", "echo hello > there"])
def test_another_command_is_not(oneclaw, home, command):
    arguments = json.dumps({"command": command})
    outcome = oneclaw("call", "--allow", "shell.execute:echo *", "exec", arguments)
    assert outcome.status == 1
    assert outcome.json["error_type"] == "permission_denied"
    assert "The user can grant it with: oneclaw permissions grant shell.execute" in outcome.json["message"]
    assert not (home / "workspace" / "there").exists()


def test_what_is_granted_for_good_holds_and_what_is_denied_goes_before_it(oneclaw, ok):
    ok("permissions", "grant", "shell.execute")
    ok("permissions", "deny", "shell.execute:rm *")
    assert "hello" in oneclaw("call", "exec", '{"command": "echo hello"}').json["result"]
    denied = oneclaw("call", "exec", '{"command": "true && rm x"}').json
    assert "oneclaw permissions reset 'shell.execute:rm *'" in denied["message"]


def test_a_plain_sentence_is_enough(oneclaw):
    outcome = oneclaw("run", "--json", "--allow", "shell.execute", "Run the command echo a | tr a b")
    assert result_of(outcome)["result"] == "[exit code: 0]\n\nb"
    denied = oneclaw("run", "--json", "Run the command echo a | tr a b")
    assert result_of(denied)["error_type"] == "permission_denied"


def test_wrong_arguments_are_told_of(oneclaw):
    for arguments in (
        {},
        {"command": 5},
        {"command": "ls", "timeout": 5},
        {"command": "ls", "timeout_seconds": "soon"},
    ):
        outcome = oneclaw("call", "--allow", "shell.execute", "exec", json.dumps(arguments))
        assert outcome.json["error_type"] == "validation_error"


def test_a_model_sees_the_end_of_a_long_output(oneclaw):
    outcome = oneclaw("run", "--json", "--allow", "shell.execute", "Run the command seq 1 20000")
    result = result_of(outcome)["result"]
    assert len(result) < 30_000
    assert result.endswith("\n20000")
