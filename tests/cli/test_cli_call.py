import io
import json
import os
import signal
import subprocess
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


@pytest.mark.long
def test_the_result_alone_is_on_stdout(oneclaw, install_plugin):
    install_plugin("noisy", NOISY)
    outcome = oneclaw("call", "noisy")
    assert (outcome.status, outcome.stdout) == (
        0,
        '{"status": "success", "result": {"name": "Zoë", "parts": [1, 2]}}\n',
    )
    assert outcome.stderr == "working\n"  # what it prints when it is imported is one of its problems


def test_arguments_are_json(ok):
    document = json.loads(ok("call", "get_current_time", '{"timezone": "UTC"}'))
    assert document["status"] == "success"
    assert "+00:00" in document["result"]


def test_arguments_can_come_from_stdin(oneclaw, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"timezone": "No/Where"}')))
    outcome = oneclaw("call", "get_current_time", "-")
    assert outcome.status == 1
    assert "No/Where" in outcome.json["message"]


@pytest.mark.long
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


@pytest.mark.long
@pytest.mark.one_python
def test_on_a_terminal_the_result_is_indented(home):
    with PseudoTerminal("call", "get_current_time", environ=os.environ) as terminal:
        terminal.expect('{\n  "status": "success",\n  "result": "')
        assert terminal.exit_status() == 0


WRITES_TO_DESCRIPTOR_1 = """
    import os
    import subprocess

    from oneclaw_core import hookimpl, tool

    @tool
    def get_noise() -> str:
        "Make noise."
        print("from Python")
        os.write(1, b"from the descriptor\\n")
        subprocess.run(["echo", "from a subprocess"], check=True)
        return "noon"

    @tool
    def leave_process() -> int:
        "Leave a process behind."
        return subprocess.Popen(["sleep", "100"], close_fds=False).pid

    @hookimpl
    def register_tools(register):
        os.write(1, b"while it registers\\n")
        register(get_noise)
        register(leave_process)
"""


@pytest.fixture
def loud(install_plugin, tmp_path, monkeypatch):
    """Install a tool that writes to descriptor 1, also for programs that the test starts."""
    install_plugin("loud", WRITES_TO_DESCRIPTOR_1)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))


def start(*arguments):
    return subprocess.run([sys.executable, "-m", "oneclaw_core", *arguments], capture_output=True, text=True)


@pytest.mark.long
def test_what_subprocesses_write_to_descriptor_1_goes_to_stderr(loud):
    done = start("call", "get_noise")
    assert (done.returncode, done.stdout) == (0, '{"status": "success", "result": "noon"}\n')
    for line in ("from Python", "from the descriptor", "from a subprocess"):
        assert line in done.stderr.splitlines()


@pytest.mark.long
def test_the_events_of_a_turn_are_not_broken_by_a_subprocess(loud):
    done = start("run", "--json", "--model", "offline/rules", "call get_noise")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["result"] for each in events if each["event"] == "tool_result"] == ["noon"], done.stdout
    assert "from a subprocess\n" in done.stderr


@pytest.mark.long
def test_a_listing_is_not_broken_by_what_a_plugin_writes_to_descriptor_1(loud):
    assert "get_noise" in {each["name"] for each in json.loads(start("tools", "list", "--json").stdout)}


@pytest.mark.long
def test_a_subprocess_that_is_left_behind_does_not_keep_stdout_open(loud):
    program = [sys.executable, "-m", "oneclaw_core", "call", "leave_process"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as running:
        output, _ = running.communicate(timeout=60)
    os.kill(json.loads(output)["result"], signal.SIGKILL)
