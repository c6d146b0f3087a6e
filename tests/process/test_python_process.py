"""Python functions in separate processes."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from oneclaw_core.process import SandboxPolicy, python_process

pytestmark = [
    pytest.mark.every_python,
    pytest.mark.skipif(sys.platform != "linux", reason="descendants are found on Linux alone"),
]

HERE = str(Path(__file__).parent)


async def call(target="worker_functions:report", *arguments, text=b"", **options):
    async with python_process(target, *arguments, search_path=[HERE, *map(str, sys.path)], **options) as process:
        await process.send(text + b"\n")
        answer = await process.stdout.read()
        await process.wait()
        return json.loads(answer) if answer else process.returncode


def has_ended(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return True
    return state.rpartition(")")[2].split()[0] == "Z"


def wait_until(condition, what):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def test_a_function_gets_what_its_caller_gives_and_nothing_else(tmp_path):
    found = asyncio.run(
        call(
            "worker_functions:report",
            "one",
            "two words",
            text=b"x",
            directory=tmp_path,
            environ={"WORKER_VARIABLE": "y"},
        )
    )
    assert found["arguments"] == ["one", "two words"]
    assert (found["secret"], found["directory"], found["variable"]) == ("x", str(tmp_path), "y")
    assert found["descriptors"] == [0, 1, 2]
    assert found["group"] == found["session"] != os.getsid(0)
    assert has_ended(found["pid"])


@pytest.mark.parametrize(("target", "status"), [("leave", 7), ("crash", -signal.SIGSEGV), ("crash", -signal.SIGKILL)])
def test_the_exit_status_comes_back(target, status):
    assert asyncio.run(call(f"worker_functions:{target}", str(-status))) == status


def test_a_directory_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        asyncio.run(call(directory=tmp_path / "missing"))


def test_a_module_that_cannot_be_imported_ahead_is_left_to_the_function(tmp_path, monkeypatch):
    (tmp_path / "ends_all.py").write_text("raise SystemExit(5)")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert asyncio.run(call(preload=("ends_all",)))["modules"] == []


THREAD = """
import threading
from queue import SimpleQueue
asked, answers = SimpleQueue(), SimpleQueue()
def attempt(path):
    try:
        return open(path).read()
    except OSError as error:
        return type(error).__name__
def serve():
    while True:
        answers.put(attempt(asked.get()))
threading.Thread(target=serve, daemon=True).start()
def in_thread(path):
    asked.put(path)
    return answers.get(timeout=60)
"""


def test_threads_that_a_module_starts_are_in_the_sandbox(tmp_path, monkeypatch):
    pytest.importorskip("oneclaw_core.process.sandbox.landlock")
    from oneclaw_core.process.sandbox.choice import choose_sandbox

    if not choose_sandbox("landlock").strength.is_available:
        pytest.skip("there is no Landlock here")
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "reads_in_thread.py").write_text(THREAD)
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("sesame")
    monkeypatch.syspath_prepend(str(tmp_path / "code"))
    policy = SandboxPolicy(hidden_folders=(secret,))
    found = asyncio.run(
        call("worker_functions:read_beside", str(secret / "key"), preload=("reads_in_thread",), policy=policy)
    )
    assert found == {"main": "PermissionError", "thread": "PermissionError"}


PROGRAM = """
import asyncio, sys
from oneclaw_core.process import SandboxPolicy, python_process
async def main():
    policy = SandboxPolicy() if sys.argv[3] == "sandbox" else None
    async with python_process("worker_functions:wait", search_path=[sys.argv[1], *sys.path], policy=policy) as process:
        print((await process.stdout.readline()).decode(), end="", flush=True)
        if sys.argv[2] == "stay":
            await asyncio.sleep(600)
asyncio.run(main())
"""


@pytest.mark.parametrize(("how", "where"), [("stay", "sandbox"), ("stay", "open"), ("end", "open")])
def test_nothing_is_left_when_the_program_is_killed_or_ends(how, where):
    command = [sys.executable, "-c", PROGRAM, HERE, how, where]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        pids = [int(pid) for pid in program.stdout.readline().split()]
        if how == "stay":
            program.kill()
        program.wait(60)
    assert len(pids) == 2
    for pid in pids:
        wait_until(lambda pid=pid: has_ended(pid), f"process {pid} goes on")


def test_a_call_that_is_cancelled_while_modules_are_imported_leaves_nothing(tmp_path, monkeypatch):
    marker = tmp_path / "pid"
    (tmp_path / "hangs.py").write_text(
        f"import os, time\nopen({str(marker)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)"
    )
    monkeypatch.syspath_prepend(str(tmp_path))

    async def cancel():
        task = asyncio.create_task(call(preload=("hangs",)))
        while not marker.exists() or not marker.read_text():
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(cancel())
    assert has_ended(int(marker.read_text()))
