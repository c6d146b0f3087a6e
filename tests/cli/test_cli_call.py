import io
import json
import os
import sys

import pytest
from pseudo_terminal import PseudoTerminal

NOISY = """
    from oneclaw_core import hookimpl, tool

    print("imported")

    @tool
    def noisy() -> dict:
        "Print while it works."
        print("working")
        return {"name": "Zoë", "parts": [1, 2]}

    @tool
    def failing() -> str:
        "Fail."
        raise RuntimeError("out of order")

    @hookimpl
    def register_tools(register):
        register(noisy)
        register(failing, group="broken_things")
"""


def test_the_result_alone_is_on_stdout(oneclaw, install_plugin):
    install_plugin("noisy", NOISY)
    outcome = oneclaw("call", "noisy")
    assert (outcome.status, outcome.stdout) == (
        0,
        '{"status": "success", "result": {"name": "Zoë", "parts": [1, 2]}}\n',
    )
    assert outcome.stderr == "imported\nworking\n"


def test_arguments_are_json(ok):
    document = json.loads(ok("call", "get_current_time", '{"timezone": "UTC"}'))
    assert document["status"] == "success"
    assert "+00:00" in document["result"]


def test_arguments_can_come_from_stdin(oneclaw, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"timezone": "No/Where"}')))
    outcome = oneclaw("call", "get_current_time", "-")
    assert outcome.status == 1
    assert "No/Where" in outcome.json["message"]


def test_a_failing_tool_of_any_group_gives_status_1_and_no_traceback(oneclaw, install_plugin, home):
    install_plugin("noisy", NOISY)
    outcome = oneclaw("call", "failing")
    assert outcome.status == 1
    assert outcome.json == {
        "status": "error",
        "error_type": "execution_error",
        "message": "RuntimeError: out of order",
    }
    assert "Traceback (most recent call last)" in (home / "logs" / "oneclaw.log").read_text()


def test_text_that_is_no_json_is_quoted(oneclaw):
    outcome = oneclaw("call", "get_current_time", "{bad")
    assert outcome.status == 1
    assert outcome.json["error_type"] == "validation_error"
    assert "{bad" in outcome.json["message"]


def test_an_unknown_tool_is_an_error_result(oneclaw):
    outcome = oneclaw("call", "get_curent_time")
    assert outcome.status == 1
    assert outcome.json["error_type"] == "not_found"
    assert "get_current_time" in outcome.json["message"]


@pytest.mark.one_python
def test_on_a_terminal_the_result_is_indented(home):
    with PseudoTerminal("call", "get_current_time", environ=os.environ) as terminal:
        terminal.expect('{\n  "status": "success",\n  "result": "')
        assert terminal.exit_status() == 0
