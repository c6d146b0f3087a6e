"""Workers that are forks of a process with their modules."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from oneclaw_core.process import python_process
from oneclaw_core.process.forking import NUMBER_BYTES, ForkedProcess

pytestmark = [
    pytest.mark.every_python,
    pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone"),
]

HERE = str(Path(__file__).parent)
CANARY = b"canary-of-a-secret-0123456789"


async def call(target="forked_functions:report", *arguments, preload=("forked_functions",), text=b"", **options):
    async with python_process(
        target, *arguments, preload=preload, search_path=[HERE, *map(str, sys.path)], **options
    ) as process:
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


@pytest.mark.long
def test_each_call_gets_a_worker_that_has_served_no_other():
    async def two():
        return await call(), await call()

    first, second = asyncio.run(two())
    assert first["server"] == second["server"]
    assert first["pid"] != second["pid"]
    assert first["calls"] == second["calls"] == 1
    assert has_ended(first["pid"])


def test_a_worker_is_a_process_of_its_own_in_all_that_matters(tmp_path):
    found = asyncio.run(
        call("forked_functions:report", "an argument", directory=tmp_path, environ={"FORK_VARIABLE": "x"})
    )
    assert found["arguments"] == ["an argument"]
    assert found["directory"] == str(tmp_path)
    assert found["variable"] == "x"
    assert found["is_leader"]
    assert found["descriptors"] == [0, 1, 2]


@pytest.mark.long
@pytest.mark.one_python
def test_many_calls_at_once_have_one_server():
    async def many():
        return await asyncio.gather(*(call(text=b"%d" % number) for number in range(40)))

    found = asyncio.run(many())
    assert [each["secret"] for each in found] == [str(number) for number in range(40)]
    assert len({each["server"] for each in found}) == 1


@pytest.mark.long
def test_the_exit_status_comes_back():
    assert asyncio.run(call("forked_functions:leave")) == 7


def test_a_directory_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        asyncio.run(call(directory=tmp_path / "missing"))


def memory_of(pid):
    """Everything that a process has in memory."""
    with Path(f"/proc/{pid}/mem").open("rb", 0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            start, end = (int(number, 16) for number in line.split()[0].split("-"))
            try:
                memory.seek(start)
                yield memory.read(end - start)
            except (OSError, ValueError, OverflowError):  # what the kernel maps
                continue


def test_the_server_holds_no_secret(monkeypatch):
    monkeypatch.setenv("FORK_API_KEY", CANARY.decode())
    # As a request, and as an environment that a plugin gives to its worker.
    found = asyncio.run(call(text=CANARY, environ={**os.environ, "FORK_VARIABLE": CANARY.decode()}))
    assert found["secret"] == found["variable"] == CANARY.decode()

    try:
        environ = Path(f"/proc/{found['server']}/environ").read_bytes()
        memory = list(memory_of(found["server"]))
    except PermissionError:
        pytest.skip("it cannot be read at all, which only root is spared")
    assert CANARY not in environ
    assert sum(map(len, memory)) > 1_000_000
    assert not any(CANARY in piece for piece in memory)


def test_another_user_process_cannot_read_server_or_worker():
    """What is not dumpable belongs to root in ``/proc``, whoever runs it."""

    async def owner():
        async with python_process(
            "forked_functions:wait", preload=("forked_functions",), search_path=[HERE, *map(str, sys.path)]
        ) as process:
            pids = (await process.stdout.readline()).split()
            return [Path(f"/proc/{int(pid)}/environ").stat().st_uid for pid in pids]

    assert asyncio.run(owner()) == [0, 0]


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "code"),
    [
        (
            "starts_thread",
            "import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()",
        ),
        ("opens_file", "stream = open(__file__)"),
    ],
)
def test_a_module_that_makes_forks_unsafe_is_imported_by_the_worker_alone(tmp_path, name, code, monkeypatch):
    (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    found = asyncio.run(call(preload=("forked_functions", name)))
    assert found["modules"] == []
    assert found["server"] != os.getpid()


def test_modules_that_cannot_be_preloaded_leave_a_fresh_interpreter(tmp_path, monkeypatch):
    (tmp_path / "ends_all.py").write_text("import os\nos._exit(5)")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = asyncio.run(call(preload=("ends_all",)))
    assert found["server"] == os.getpid()


def test_a_server_that_was_killed_is_started_again():
    async def kill_between():
        first = await call()
        os.kill(first["server"], signal.SIGKILL)
        return first, await call()

    first, second = asyncio.run(kill_between())
    assert first["server"] != second["server"]


def test_signals_that_a_command_sends_to_all_do_not_end_the_server():
    async def signal_between():
        first = await call()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(first["server"], number)
        return first, await call()

    first, second = asyncio.run(signal_between())
    assert first["server"] == second["server"]


PROGRAM = """
import asyncio, sys
from oneclaw_core.process import python_process
from oneclaw_core.process.forking import NUMBER_BYTES, ForkedProcess
async def main():
    async with python_process(
        "forked_functions:wait", preload=("forked_functions",), search_path=[sys.argv[1], *sys.path]
    ) as process:
        print((await process.stdout.readline()).decode(), end="", flush=True)
        if sys.argv[2] == "stay":
            await asyncio.sleep(600)
asyncio.run(main())
"""


@pytest.mark.long
@pytest.mark.parametrize("how", ["stay", "end"])
def test_nothing_is_left_when_the_program_is_killed_or_ends(how):
    command = [sys.executable, "-c", PROGRAM, HERE, how]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        pids = [int(pid) for pid in program.stdout.readline().split()]
        if how == "stay":
            program.kill()
        program.wait(60)
    for pid in pids:
        wait_until(lambda pid=pid: has_ended(pid), f"process {pid} goes on")


def test_a_worker_ends_with_its_server():
    async def kill():
        async with python_process(
            "forked_functions:wait", preload=("forked_functions",), search_path=[HERE, *map(str, sys.path)]
        ) as process:
            worker, server = map(int, (await process.stdout.readline()).split())
            os.kill(server, signal.SIGKILL)
            assert await process.wait(60)
            return worker, process.returncode

    worker, returncode = asyncio.run(kill())
    assert returncode == -signal.SIGKILL
    wait_until(lambda: has_ended(worker), f"process {worker} goes on")


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


def test_no_connection_stays_open_if_waiting_for_the_end_is_cancelled():
    async def run():
        near, server = socket.socketpair()
        near.setblocking(False)
        with server:
            process = ForkedProcess(os.getpid(), near)
            waiting = asyncio.create_task(process.wait(30))
            server.send(bytes(NUMBER_BYTES))
            while process.returncode is None:
                await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.wait({waiting})
            return process.returncode, near.fileno()

    assert asyncio.run(run()) == (0, -1)
