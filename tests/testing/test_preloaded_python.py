"""Processes that are forked with their imports done are like those that Python starts."""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile

import preloaded_python
import pytest
from preloaded_python import PreloadedPython

pytestmark = pytest.mark.every_python

DEADLINE_SECONDS = 60
# Heavy enough to be told from what is imported anyway, and not imported by Python itself.
MODULE = "xml.dom.minidom"
ABOUT = f"""
import json, os, sys, time
is_imported = {MODULE!r} in sys.modules
print(json.dumps({{
    "arguments": sys.argv,
    "directory": os.getcwd(),
    "environ": dict(os.environ),
    "imports_from": sys.path[:2],
    "is_imported": is_imported,
    "is_leader": os.getsid(0) == os.getpid(),
    "name": __name__,
    "open": sorted(os.listdir("/proc/self/fd")),
    "read": sys.stdin.read(),
    "zone": time.tzname[0],
}}))
print("écrit", file=sys.stderr)
sys.exit(3)
"""
WRITE_BOTH = "import os; os.write(1, b'out '); os.write(2, b'err')"
only_forked = pytest.mark.skipif(not preloaded_python.CAN_FORK, reason="nothing is forked on this system")


@pytest.fixture(scope="module")
def preloaded():
    return PreloadedPython([MODULE])


@pytest.fixture(params=[True, False], ids=["forked", "started"])
def python(request, preloaded, monkeypatch):
    monkeypatch.setattr(preloaded_python, "CAN_FORK", request.param and preloaded_python.CAN_FORK)
    return preloaded


def start(python, code, *arguments, options=(), **changes):
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return python.start([sys.executable, *options, "-c", code, *arguments], **streams | changes)


def ended(process):
    """Close the streams; give the exit status."""
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    return process.wait(DEADLINE_SECONDS)


def told(process, text=b""):
    process.stdin.write(text)
    process.stdin.close()
    about = json.loads(process.stdout.read())
    error = process.stderr.read()
    return about, error, ended(process)


def test_it_has_what_it_was_given(python, tmp_path):
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path / "more"), "TZ": "XYZ-3", "NAME": "ü\udcff"}
    process = start(python, ABOUT, "one", "two three", cwd=tmp_path, env=environ)

    about, error, status = told(process, "läs".encode())

    assert about["arguments"] == ["-c", "one", "two three"]
    assert about["directory"] == str(tmp_path)
    assert environ.items() <= about["environ"].items()
    assert about["environ"].keys() - environ.keys() <= {"LC_CTYPE"}  # which Python sets itself
    assert about["imports_from"] == ["", str(tmp_path / "more")]
    assert about["is_imported"] == preloaded_python.CAN_FORK
    assert about["is_leader"]
    assert about["name"] == "__main__"
    assert about["read"] == "läs"
    assert about["zone"] == "XYZ"
    assert error == "écrit\n".encode()
    assert status == process.returncode == process.poll() == 3


def test_without_more_it_has_what_this_process_has(python, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ONLY_HERE", "1")

    about, _, _ = told(start(python, ABOUT, options=["-P"]))

    assert about["directory"] == str(tmp_path)
    assert about["environ"]["ONLY_HERE"] == "1"
    assert "" not in about["imports_from"]


def test_no_file_is_open_but_its_streams(python):
    other = start(python, "input()")
    with tempfile.TemporaryFile():
        about, _, _ = told(start(python, ABOUT))
    ended(other)

    assert len(about["open"]) == 4  # and the folder that is listed


def test_its_streams_may_be_files(python, tmp_path):
    with (tmp_path / "log").open("wb") as log:
        process = start(
            python,
            WRITE_BOTH,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    assert ended(process) == 0
    assert (tmp_path / "log").read_text() == "out err"


def test_a_large_request_arrives_whole(python):
    text = "x" * 100_000
    process = start(python, "import os, sys; print(len(os.environ['TEXT'] + sys.argv[1]))", text, env={"TEXT": text})
    assert process.stdout.read() == b"200000\n"
    assert ended(process) == 0


def test_signals_reach_it_and_it_can_be_waited_for_with_a_limit(python):
    # A shell that has started the tests in the background lets them ignore this signal.
    heeding = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    process = start(python, f"{heeding}; import sys; print('up', flush=True); sys.stdin.read()")
    assert process.stdout.readline() == b"up\n"
    assert process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.01)

    process.send_signal(signal.SIGINT)

    assert process.stderr.read().endswith(b"KeyboardInterrupt\n")
    assert ended(process) in (-signal.SIGINT, 130)
    process.kill()  # what has ended can be killed

    killed = start(python, "input()")
    killed.kill()
    assert ended(killed) == -signal.SIGKILL


def test_a_failure_is_told_as_python_does(python):
    process = start(python, "1 / 0")
    assert b"ZeroDivisionError" in process.stderr.read()
    assert ended(process) == 1


@only_forked
def test_several_run_at_once_and_end_in_any_order(preloaded):
    running = [start(preloaded, "import sys; sys.exit(int(input()))") for _ in range(5)]
    for number, process in reversed(list(enumerate(running))):
        process.stdin.write(f"{number}\n".encode())
        assert ended(process) == number
    assert len({process.pid for process in running}) == 5


@only_forked
def test_what_goes_on_ends_with_the_object_that_has_started_it():
    python = PreloadedPython([])
    process = start(python, "import sys; print('up', flush=True); sys.stdin.read()")
    assert process.stdout.readline() == b"up\n"

    del python

    assert select.select([process.stdout], [], [], DEADLINE_SECONDS)[0]
    assert process.stdout.read() == b""
    with pytest.raises(ChildProcessError, match="has ended"):
        ended(process)


@only_forked
def test_what_cannot_be_imported_is_said(capfd):
    python = PreloadedPython(["no_such_module"])
    with pytest.raises(OSError):
        start(python, "pass", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert "No module named 'no_such_module'" in capfd.readouterr().err


def test_every_process_has_a_session_of_its_own(python):
    with pytest.raises(ValueError, match="session"):
        start(python, "pass", start_new_session=False)
