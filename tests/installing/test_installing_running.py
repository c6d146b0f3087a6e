"""Programs that installing runs: their output, their end, and what ends them."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from oneclaw_core import OneClawError
from oneclaw_core.installing.running import installer_environ, run_program


def run(program, show=lambda line: None, deadline_seconds=20.0):
    return run_program([sys.executable, "-c", program], os.environ, show, deadline_seconds)


def wait_until(is_so):
    ends_at = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < ends_at
        threading.Event().wait(0.01)


def is_running(process_id):
    try:
        os.kill(process_id, 0)
        state = Path(f"/proc/{process_id}/stat")
        # One that has ended and that nobody has asked after yet.
        return not (state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z")
    except ProcessLookupError:
        return False


def test_what_it_prints_is_shown_line_by_line_and_its_status_given():
    shown = []
    program = "import sys; print('out'); print('\\xe9', flush=True); print('err', file=sys.stderr); sys.exit(3)"
    assert run(program, shown.append) == 3
    assert sorted(shown) == sorted(["out", "é", "err"])


def test_a_line_without_end_is_shown_in_parts():
    shown = []
    assert run("import os; os.write(1, b'x' * 25_000 + b'\\xff')", shown.append) == 0
    assert [len(line) for line in shown] == [10_000, 10_000, 5_001]


def test_it_has_no_input_and_no_terminal():
    shown = []
    program = """
import os, sys
print(repr(sys.stdin.read()))
try:
    os.open("/dev/tty", os.O_RDWR)
except OSError:
    print("no terminal")
"""
    assert run(program, shown.append) == 0
    assert shown == ["''", "no terminal"]


def test_a_program_that_cannot_be_started(tmp_path):
    with pytest.raises(OneClawError, match="nothing cannot be started: No such file"):
        run_program([str(tmp_path / "nothing")], {}, print, 1.0)
    with pytest.raises(OneClawError, match="cannot be started"):
        run_program(["a\0b"], {}, print, 1.0)


def test_the_deadline_ends_it_and_what_it_has_started():
    shown = []
    program = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
child.wait()
"""
    with pytest.raises(OneClawError, match="was not done in 0 seconds"):
        run(program, shown.append, 0.45)
    for process_id in map(int, shown):
        wait_until(lambda process_id=process_id: not is_running(process_id))


def test_what_is_left_behind_with_its_output_open_is_not_waited_for():
    shown = []
    program = """
import subprocess, sys
print(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid, flush=True)
"""
    assert run(program, shown.append) == 0
    wait_until(lambda: not is_running(int(shown[0])))


def test_ctrl_c_lets_it_clean_up_and_ends_it(tmp_path):
    cleaned = tmp_path / "cleaned"
    program = f"""
import pathlib, time
try:
    print("ready", flush=True)
    time.sleep(600)
except KeyboardInterrupt:
    pathlib.Path({str(cleaned)!r}).touch()
"""
    with pytest.raises(KeyboardInterrupt):
        run(program, lambda line: signal.raise_signal(signal.SIGINT))
    assert cleaned.exists()


def test_keys_of_services_are_kept_from_build_scripts_and_passwords_of_indexes_are_not():
    environ = {
        "OPENAI_API_KEY": "sk-0123456789abcdef",
        "ONECLAW_HOME": "/home/me/.oneclaw",
        "UV_INDEX_WORK_PASSWORD": "the-password-of-the-index",
        "PIP_INDEX_URL": "https://somebody:token@example.com/simple",
        "PATH": "/bin",
    }
    made = installer_environ(environ, {"UV_TOOL_DIR": "/tools"})
    assert {name: made.get(name) for name in environ} == environ | {"OPENAI_API_KEY": None, "ONECLAW_HOME": None}
    assert (made["UV_TOOL_DIR"], made["GIT_TERMINAL_PROMPT"]) == ("/tools", "0")
