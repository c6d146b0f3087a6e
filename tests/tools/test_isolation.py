import asyncio
import datetime
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import isolated_functions
import pytest

from oneclaw_core.errors import PermissionDeniedError, ToolDefinitionError
from oneclaw_core.files.paths import PathGuard
from oneclaw_core.process import isolation, python_runner
from oneclaw_core.process.isolation import WorkerError, call_in_process
from oneclaw_core.process.sandbox.landlock import landlock_version
from oneclaw_core.tool_functions.function import tool
from oneclaw_core.tools.context import ToolContext
from oneclaw_core.tools.invoke import FunctionTarget
from oneclaw_core.types.messages import Attachment
from oneclaw_core.types.tools import MAX_KEPT_CHARACTERS, ToolResult

pytestmark = pytest.mark.every_python


@pytest.fixture
def context(tmp_path):
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    return ToolContext(tmp_path, "session", "agent", "the_tool", "call-1", PathGuard(workspace, workspace))


def run(isolated_tool, arguments, context):
    return asyncio.run(isolated_tool.execute(arguments, context))


async def wait_for_pids(path):
    deadline = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < deadline, "the worker has not started"
        await asyncio.sleep(0.01)
    return [int(pid) for pid in path.read_text().split()]


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # One that no one has collected yet has ended all the same.
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


def wait_until_gone(pid):
    deadline = time.monotonic() + 10
    while is_running(pid):
        assert time.monotonic() < deadline, f"process {pid} still runs"
        time.sleep(0.01)


def test_runs_in_another_process_with_python_values_and_gives_json(context):
    result = run(isolated_functions.report, {"day": "2026-11-21"}, context)
    assert result.is_success
    assert result.result == {"pid": result.result["pid"], "tool_name": "the_tool", "day": "2026-11-21"}
    assert result.result["pid"] != os.getpid()


def test_attachments_and_groups_to_load_come_back_with_the_result(context):
    picture = Attachment("a.png", "image/png", b"\x89PNG\x00")
    expected = ToolResult.success("a picture", (picture,), loads_groups=("pdf",))
    assert run(isolated_functions.picture, {}, context) == expected


def test_the_process_gets_no_keys_of_the_environment(context, monkeypatch):
    monkeypatch.setenv("LAB_API_KEY", "sk-canary-0123456789")
    monkeypatch.setenv("LAB_REGION", "north")

    names = run(isolated_functions.variables, {}, context).result

    assert "LAB_API_KEY" not in names
    assert {"LAB_REGION", "PATH"} <= set(names)


def test_the_function_itself_stays_callable_here(context):
    made = isolated_functions.report(datetime.date(2026, 1, 1), context)
    assert made.pid == os.getpid()


def test_arguments_are_checked_before_a_process_is_started(context, monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", None)
    result = run(isolated_functions.report, {"day": "soon"}, context)
    assert result.error_type == "validation_error"
    assert "/day: " in result.error_message


def test_cancelling_kills_the_process_and_what_it_started(context):
    pid_file = context.paths.workspace / "pids"

    async def cancel_when_running():
        task = asyncio.create_task(
            isolated_functions.hang.execute({"pid_file": str(pid_file), "with_child": True}, context)
        )
        pids = await wait_for_pids(pid_file)
        assert all(is_running(pid) for pid in pids)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(ProcessLookupError):
            os.kill(pids[0], 0)  # gone, and collected, when the cancelled call ends
        return pids

    worker, child = asyncio.run(cancel_when_running())
    assert not is_running(worker)
    wait_until_gone(child)


def test_cancelling_while_the_process_starts_leaves_none_behind(context, monkeypatch):
    pid_file = context.paths.workspace / "pids"
    started = []

    class Cancelling(python_runner.PythonProcess):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            started.append(self)
            asyncio.current_task().cancel()

    monkeypatch.setattr(python_runner, "PythonProcess", Cancelling)

    async def call():
        with pytest.raises(asyncio.CancelledError):
            await isolated_functions.hang.execute({"pid_file": str(pid_file)}, context)
        assert started[0].returncode == -signal.SIGKILL

    asyncio.run(call())
    assert not is_running(started[0].pid)


@pytest.mark.long
def test_a_worker_ends_when_its_caller_is_killed(tmp_path):
    pid_file = tmp_path / "pids"
    caller = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import asyncio, sys; from pathlib import Path; sys.path.insert(0, sys.argv[1])\n"
            "from isolated_functions import hang\n"
            "from oneclaw_core import ToolContext\n"
            "from oneclaw_core.files import PathGuard\n"
            "here = Path(sys.argv[2]).parent\n"
            "context = ToolContext(here, None, 'a', 't', 'c', PathGuard(here, here))\n"
            "asyncio.run(hang.execute({'pid_file': sys.argv[2], 'with_child': True}, context))",
            str(Path(__file__).parent),
            str(pid_file),
        ]
    )
    try:
        worker, child = asyncio.run(wait_for_pids(pid_file))
    finally:
        caller.send_signal(signal.SIGKILL)
        caller.wait()
    wait_until_gone(worker)
    wait_until_gone(child)


needs_landlock = pytest.mark.skipif(
    sys.platform != "linux" or landlock_version() < 6, reason="this kernel does not confine processes"
)
CANARY = "canary-of-the-program-0123456789"


@pytest.fixture
def key(tmp_path, monkeypatch):
    """A file that no tool may read, beside what tools may read."""
    monkeypatch.setenv("CALLER", str(os.getpid()))
    (tmp_path / "outside").mkdir()
    path = tmp_path / "outside" / "id_ed25519"
    path.write_text(CANARY)
    return path


@needs_landlock
def test_a_worker_cannot_get_out(context, key):
    found = run(isolated_functions.escape, {"folder": str(key).split("/")}, context).result
    assert found.pop("write a temporary file") == "done"
    assert found.pop("have a program read a key") == "refused"
    assert found.pop("be read by others") == "refused"
    assert set(found.values()) <= {"EACCES", "EPERM"}, found
    assert [each.name for each in key.parent.iterdir()] == [key.name]


@pytest.mark.long
@needs_landlock
def test_a_tool_that_needs_the_network_has_it_and_nothing_else(context, key):
    found = run(isolated_functions.escape_to_the_network, {"folder": str(key).split("/")}, context).result
    assert found["connect"] == "ECONNREFUSED"
    assert found["read a key"] == "EACCES"
    assert found["make a socket of the machine"] == "EPERM"


@needs_landlock
def test_a_worker_reads_the_files_that_the_call_names_alone(context):
    named, other = (context.paths.workspace / name for name in ("named.txt", "other.txt"))
    named.write_text("named")
    other.write_text("other")
    arguments = {"path": str(named), "other": str(other)[::-1]}
    assert run(isolated_functions.read_named, arguments, context).result == ["named", "EACCES"]


@needs_landlock
def test_a_directory_that_the_call_names_stays_closed(context):
    named, hidden = (context.paths.workspace / name for name in ("named.txt", ".env"))
    named.write_text("named")
    hidden.write_text("KEY=value")
    arguments = {"path": str(named), "other": str(hidden)[::-1], "unused": str(context.paths.workspace)}
    assert run(isolated_functions.read_named, arguments, context).result == ["named", "EACCES"]


@pytest.mark.long
@needs_landlock
def test_a_worker_writes_the_workspace_if_its_tool_declares_it(context):
    path = context.paths.workspace / "new.txt"
    assert run(isolated_functions.write_undeclared, {"path": str(path)}, context).result == "EACCES"
    assert run(isolated_functions.write_declared, {"path": str(path)}, context).result == "done"


def test_calls_leave_no_temporary_directory(context, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    isolation._folder_of.cache_clear()
    assert run(isolated_functions.report, {"day": "2026-11-21"}, context).is_success
    assert not list(tmp_path.glob("oneclaw-*/*"))
    isolation._folder_of.cache_clear()


KILLED = """
import os
from oneclaw_core.process.isolation import worker_folder
folder = worker_folder()
os.utime(os.path.dirname(folder.name), (0, 0))
os.kill(os.getpid(), 9)
"""


@pytest.mark.long
def test_what_a_killed_program_has_left_is_removed_by_the_next(tmp_path, monkeypatch):
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    assert subprocess.run([sys.executable, "-c", KILLED], env=environ, check=False).returncode == -9
    (left,) = tmp_path.glob("oneclaw-workers-*")
    script = KILLED.replace("os.kill(os.getpid(), 9)", "print(folder.name, flush=True); input()")
    with subprocess.Popen(
        [sys.executable, "-c", script], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        used = Path(running.stdout.readline().strip())
        assert not left.exists()
        subprocess.run([sys.executable, "-c", KILLED], env=environ, check=False)
        assert used.is_dir()
        running.communicate("\n")
    assert not used.parent.exists()


def test_calls_run_side_by_side(context):
    async def two():
        return await asyncio.gather(
            *(isolated_functions.report.execute({"day": "2026-01-01"}, context) for _ in range(2))
        )

    first, second = asyncio.run(two())
    assert first.result["pid"] != second.result["pid"]


@pytest.mark.parametrize(
    ("how", "ending"), [("exit", "ended with exit status 7"), ("segfault", "was ended by signal SIGSEGV")]
)
def test_a_worker_that_dies_is_an_error_that_says_how(context, how, ending):
    result = run(isolated_functions.fail, {"how": how}, context)
    assert result.error_type == "execution_error"
    assert result.error_message == f"The process that ran the tool {ending} before the tool had finished."


@pytest.mark.parametrize(
    ("how", "type_name", "message"),
    [
        ("value", "ValueError", "héllo\nworld"),
        ("unpicklable", "UnpicklableError", "this and that"),
        ("sys.exit", "SystemExit", "enough"),
        ("progress", "OneClawError", "not in a worker process"),
        ("group", "ValueError", "one\nOSError: two"),
    ],
)
def test_an_exception_comes_back_with_its_type_and_message(context, how, type_name, message):
    with pytest.raises(WorkerError) as caught:
        run(isolated_functions.fail, {"how": how}, context)
    assert type(caught.value).__name__ == type_name
    assert message in str(caught.value)
    assert "isolated_functions.py" in caught.value.__notes__[0]


@pytest.mark.parametrize("how", ["forbidden", "forbidden group"])
def test_the_path_guard_works_in_the_worker(context, how):
    with pytest.raises(PermissionDeniedError, match="/etc/hostname") as caught:
        run(isolated_functions.fail, {"how": how}, context)
    assert caught.value.permission == "files.read"


def test_a_tool_result_comes_back_as_it_is(context):
    result = run(isolated_functions.fail, {"how": "result"}, context)
    assert (result.error_type, result.error_message) == ("too_hard", "I give up.")


def test_a_value_that_json_cannot_hold_is_an_error(context):
    result = run(isolated_functions.fail, {"how": "object"}, context)
    assert result.error_type == "execution_error"
    assert "object" in result.error_message


def test_what_a_tool_prints_and_reads_does_not_get_into_the_answer(context, capfd):
    assert run(isolated_functions.noisy, {}, context).result == "read ''"
    assert capfd.readouterr() == ("", "")


def test_a_worker_does_not_import_from_the_working_directory(context, tmp_path, monkeypatch):
    (tmp_path / "pickle.py").write_text("raise SystemExit('not this one')")
    monkeypatch.chdir(tmp_path)
    assert run(isolated_functions.report, {"day": "2026-01-01"}, context).is_success


@pytest.mark.long
@pytest.mark.one_python
def test_large_arguments_and_results_fit(context):
    async def call():
        target = FunctionTarget("builtins", "sorted", "tool 'large'")
        return await call_in_process(target, {}, context, is_converted=False)

    with pytest.raises(WorkerError):  # sorted wants a positional argument
        asyncio.run(call())
    text = "x" * 3_000_000

    async def echo():
        target = FunctionTarget("textwrap", "dedent", "tool 'large'")
        return await call_in_process(target, {"text": text}, context, is_converted=False)

    assert asyncio.run(echo()).result == text


def test_an_answer_without_end_is_not_taken(context, monkeypatch):
    monkeypatch.setattr("oneclaw_core.process.isolation.MAX_ANSWER_BYTES", 100_000)
    assert run(isolated_functions.talk, {"characters": 90_000}, context).result == "x" * 90_000
    result = run(isolated_functions.talk, {"characters": 3_000_000}, context)
    assert result.error_type == "execution_error"
    assert "its answer is longer than 100,000 bytes" in result.error_message


@pytest.mark.long
@pytest.mark.one_python
def test_a_worker_cuts_a_text_that_is_too_long_to_be_kept(context):
    result = run(isolated_functions.talk, {"characters": MAX_KEPT_CHARACTERS + 7}, context)
    assert result.result[MAX_KEPT_CHARACTERS:].startswith("\n[cut here: 7 of 10,000,007 characters")


def test_arguments_that_cannot_be_sent_are_a_clear_error(context):
    target = FunctionTarget("isolated_functions", "plain", "tool 'plain'")
    with pytest.raises(ToolDefinitionError, match="tool 'plain': its arguments cannot be sent to a worker process"):
        asyncio.run(call_in_process(target, {"number": lambda: 1}, context, is_converted=True))


def test_an_async_function_is_refused():
    with pytest.raises(ToolDefinitionError, match="async function cannot run with isolation='process'"):

        @tool(isolation="process")
        async def waits() -> str:
            """Wait."""
            return ""


def test_an_async_function_named_by_a_manifest_is_refused_in_the_worker(context):
    target = FunctionTarget("isolated_functions", "asynchronous", "tool 'asynchronous'")
    with pytest.raises(WorkerError, match="async function cannot run"):
        asyncio.run(call_in_process(target, {}, context, is_converted=False))


def test_a_function_that_a_worker_cannot_import_is_refused():
    def local() -> str:
        """Be local."""
        return ""

    with pytest.raises(ToolDefinitionError, match=r"move .*local.* to the top level of a module"):
        tool(isolation="process")(local)


def test_another_isolation_is_refused():
    with pytest.raises(ToolDefinitionError, match="isolation must be 'process', not 'thread'"):
        tool(isolation="thread")(isolated_functions.plain)


@pytest.mark.long
def test_the_process_of_a_call_imports_what_it_needs_without_asyncio():
    code = (
        "import sys, oneclaw_core.process.isolated_call, oneclaw_core.tools.invoke, oneclaw_core.files.paths; "
        "print(sorted({'asyncio', 'pydantic', 'secrets', 'subprocess'} & {*sys.modules}))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"
