"""Programs that installing runs: where, with which variables, and how they end."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
from oneclaw_devtools.installing.neutral_process import installer_environ, neutral_directory, run_installer

from oneclaw_core import OneClawError


def run(program, show=lambda line: None, deadline_seconds=20.0):
    with neutral_directory() as directory:
        return run_installer([sys.executable, "-c", program], os.environ, directory, show, deadline_seconds)


def wait_until_ended(process_id):
    ends_at = time.monotonic() + 10
    while is_running(process_id):
        assert time.monotonic() < ends_at
        threading.Event().wait(0.01)


def is_running(process_id):
    try:
        os.kill(process_id, 0)
        state = Path(f"/proc/{process_id}/stat")
        # A zombie has ended.
        return not (state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z")
    except ProcessLookupError:
        return False


def test_output_is_shown_by_line_and_the_status_returned():
    shown = []
    program = """
import os, sys
print(os.listdir(), repr(sys.stdin.read()), flush=True)
print("err", file=sys.stderr)
os.write(1, b"x" * 15_000 + b"\\xff")
try:
    os.open("/dev/tty", os.O_RDWR)
except OSError:
    sys.exit(3)  # no terminal
"""
    assert run(program, shown.append) == 3
    assert shown[:2] == ["['uv.toml'] ''", "err"]
    assert [len(line) for line in shown[2:]] == [10_000, 5_001]


def test_a_program_that_cannot_be_started(tmp_path):
    for program in (str(tmp_path / "nothing"), "a\0b"):
        with pytest.raises(OneClawError, match="cannot be started"):
            run_installer([program], {}, tmp_path, print)


def test_the_deadline_ends_a_program_and_its_children():
    shown = []
    program = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
child.wait()
"""
    with pytest.raises(OneClawError, match="was not done in 0 seconds"):
        run(program, shown.append, 0.45)
    wait_until_ended(int(shown[0]))


def test_a_child_that_is_left_behind_is_ended():
    shown = []
    program = """
import subprocess, sys
print(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid, flush=True)
"""
    assert run(program, shown.append) == 0
    wait_until_ended(int(shown[0]))


def test_ctrl_c_lets_a_program_clean_up(tmp_path):
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


def test_build_scripts_get_passwords_of_indexes_and_no_keys():
    environ = {
        "OPENAI_API_KEY": "sk-0123456789abcdef",
        "ONECLAW_HOME": "/home/me/.oneclaw",
        "UV_INDEX_WORK_PASSWORD": "the-password-of-the-index",
        "PIP_INDEX_URL": "https://somebody:token@example.com/simple",
        "PATH": "/bin",
    }
    made = installer_environ(environ)
    assert {name: made.get(name) for name in environ} == environ | {"OPENAI_API_KEY": None, "ONECLAW_HOME": None}
    assert made["GIT_TERMINAL_PROMPT"] == "0"
