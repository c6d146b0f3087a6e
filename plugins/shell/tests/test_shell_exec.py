"""The core tool exec, on real processes."""

import asyncio
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from how_long import some
from oneclaw_shell import execute as shell
from oneclaw_shell.execute import execute

from oneclaw_core import ToolContext
from oneclaw_core.files import PathGuard
from oneclaw_core.process import programs, supervisor

pytestmark = [
    pytest.mark.every_python,
    pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc"),
]
DEADLINE_SECONDS = 10


@pytest.fixture
def context(tmp_path):
    for name in ("home/workspace", "project"):
        (tmp_path / name).mkdir(parents=True)
    guard = PathGuard(tmp_path / "home" / "workspace", tmp_path / "project")
    return ToolContext(tmp_path / "home", None, "test", "exec", "call_1", guard)


@pytest.fixture
def run(context):
    """Run a command and give the text of its result, which is a success."""

    def run(command, **arguments):
        result = asyncio.run(execute(command, context=context, **arguments))
        assert result.is_success, result
        return result.result

    return run


@pytest.fixture
def mark(monkeypatch):
    """A word in the environment of all that a test starts, by which it is found in the list of processes."""
    word = f"MARK_{os.getpid()}_{time.monotonic_ns()}"
    monkeypatch.setenv("EXEC_TEST", word)
    yield word
    for pid in running(word):
        os.kill(pid, signal.SIGKILL)


def left_running(word, seconds=2):
    """The processes with a word that are still there after some time: one that is killed may take a moment to go."""
    deadline = time.monotonic() + seconds
    while (found := running(word)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def running(word):
    """The processes with a word in their environment or command line, but for this one and those that have ended."""
    found = []
    for directory in Path("/proc").iterdir():
        if directory.name.isdigit() and int(directory.name) != os.getpid():
            try:
                text = (directory / "environ").read_bytes() + (directory / "cmdline").read_bytes()
                state = (directory / "stat").read_bytes().rpartition(b")")[2].split()[0]
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue
            if word.encode() in text and state not in (b"Z", b"X"):
                found.append(int(directory.name))
    return found


def wait_until(is_so):
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.01)


def error_of(result):
    assert result.error_type == "validation_error"
    return result.error_message


# --- what a command gives ---


def test_the_exit_code_stands_first_then_the_output(run):
    assert run("echo one; echo two") == "[exit code: 0]\n\none\ntwo"


@pytest.mark.long
def test_a_command_that_fails_is_a_success_that_says_so(run):
    assert run("echo out; echo wrong >&2; exit 3") == "[exit code: 3]\n\nout\n[stderr]\nwrong"
    assert run("echo wrong >&2; false") == "[exit code: 1]\n\n[stderr]\nwrong"
    assert run("no-such-program").startswith("[exit code: 127]\n\n[stderr]\n")


def test_no_output_is_said(run):
    assert run("true") == "[exit code: 0]\n\n[no output]"


def test_the_signal_that_ended_the_shell_is_named(run):
    assert run("kill -KILL $$") == "[exit code: 137, ended by SIGKILL]\n\n[no output]"


def test_there_is_nothing_to_read_and_no_terminal(run):
    text = run("cat; test -t 0 || echo none; (: < /dev/tty) || true")
    assert text.startswith("[exit code: 0]\n\nnone\n[stderr]")
    assert "/dev/tty" in text


@pytest.mark.long
def test_signals_and_descriptors_are_as_in_any_shell(run):
    assert run("yes | head -n 1; ls /proc/self/fd | wc -l") == "[exit code: 0]\n\ny\n4"
    assert re.search(r"SigIgn:\t0+[08]0{7}$", run("grep Sig /proc/self/status"), re.MULTILINE)


@pytest.mark.long
def test_output_that_is_no_text_is_shown_all_the_same(run):
    assert run(r"printf '\377ab\303'") == "[exit code: 0]\n\n\ufffdab\ufffd"
    assert run("printf 'Gr\u00fc\u00dfe'") == "[exit code: 0]\n\nGr\u00fc\u00dfe"


def test_a_command_may_have_many_lines(run):
    assert run("for word in a b\ndo\n  echo $word\ndone\n") == "[exit code: 0]\n\na\nb"


# --- where it runs ---


def test_it_runs_in_the_workspace(run, context):
    assert run("pwd").endswith(f"\n{context.paths.workspace}")


@pytest.mark.long
def test_a_directory_is_looked_for_in_the_start_directory_then_in_the_workspace(run, context, tmp_path):
    for name in ("home/workspace/only", "home/workspace/both", "project/both"):
        (tmp_path / name).mkdir()
    assert run("pwd", working_directory="only").endswith("workspace/only")
    assert run("pwd", working_directory="both").endswith("project/both")
    assert run("pwd", working_directory=str(tmp_path)).endswith(f"\n{tmp_path}")
    assert run("pwd", working_directory=".").endswith("/project")


def test_a_directory_that_is_none_is_refused(context, tmp_path):
    (tmp_path / "project" / "file").touch()
    for directory, reason in (
        ("missing", "does not exist"),
        ("file", "is not a directory"),
        ("a\0b", "does not exist"),
        ("x" * 5000, "does not exist"),
        ("\ud800", "does not exist"),
    ):
        message = error_of(asyncio.run(execute("pwd", working_directory=directory, context=context)))
        assert reason in message
        assert len(message) < 400


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (" \n", "must not be blank"),
        ("echo a\0b", "NUL"),
        ("echo \ud800", "surrogate"),
        ("x" * (128 * 1024), "write it to a file"),
    ],
)
def test_a_command_that_cannot_be_run_is_refused(context, command, reason):
    assert reason in error_of(asyncio.run(execute(command, context=context)))


def test_a_length_below_one_is_refused(context):
    assert "max_length must be 1 or more" in error_of(asyncio.run(execute("true", max_length=0, context=context)))


def test_a_workspace_that_is_gone_is_an_error(context):
    context.paths.workspace.rmdir()
    result = asyncio.run(execute("true", context=context))
    assert result.error_type == "execution_error"
    assert "cannot be started" in result.error_message


# --- its environment ---


def test_the_environment_is_the_users_without_secrets(run, monkeypatch):
    for name in ("OPENAI_API_KEY", "MY_SERVER_API_KEY", "GITHUB_TOKEN", "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, f"veiled-{name}")
    monkeypatch.setenv("ONECLAW_MODEL", "veiled/model")
    monkeypatch.setenv("COPY", "Bearer veiled-OPENAI_API_KEY")
    monkeypatch.setenv("HARMLESS", "shown")
    printed = run("env; cat /proc/$PPID/environ | tr '\\0' '\\n'")
    assert "HARMLESS=shown" in printed
    assert f"PATH={os.environ['PATH']}" in printed
    assert "veiled" not in printed


def test_a_key_that_a_command_finds_elsewhere_is_not_told(run, context, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    (context.paths.workspace / "notes").write_text("my key is sk-0123456789")
    assert run("cat notes") == "[exit code: 0]\n\nmy key is [redacted]"


# --- much output ---


@pytest.mark.long
@pytest.mark.one_python
def test_a_hundred_megabytes_of_output_need_no_memory(run):
    run("true")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    text = run(
        "yes 0123456789abcdef | head -c 100000000; yes error | head -c 3000000 >&2; echo last", timeout_seconds=60
    )
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 20_000, f"{grown} KB"
    assert text.startswith("[exit code: 0]\n\n0123456789abcdef\n")
    assert "last\n[stderr]\nerror\n" in text
    assert re.search(r"\[left out here: 99,9\d\d,\d{3} of 100,000,005 characters", text)
    assert len(text) < 101_000


def test_both_ends_are_kept_and_cut_between_lines(run):
    text = run("seq 1 1000", max_length=100)
    lines = text.split("\n")
    assert lines[2:5] == ["1", "2", "3"]
    assert lines[-1] == "1000"
    assert all(line.isdigit() or line.startswith("[left out here: ") for line in lines[2:])
    assert len("\n".join(lines[2:])) < 100 + 150


def test_in_a_conversation_the_ends_fit_into_what_the_model_is_shown(context):
    context.shown_characters = 5_000
    command = "seq 1 5000; seq 10001 15000 >&2"
    text = asyncio.run(execute(command, context=context)).result
    assert len(text) < 5_000
    for part in ("\n1\n", "\n5000\n[stderr]\n10001\n", "15000"):
        assert part in text
    assert text.count("[left out here: ") == 2


# --- its end ---


@pytest.mark.long
def test_when_its_time_is_up_the_output_so_far_is_given(run, mark):
    started = time.monotonic()
    text = run("echo early; echo trouble >&2; sleep 60", timeout_seconds=1)
    assert text == (
        "[exit code: -1, timed out after 1 s]\n\nearly\n[stderr]\ntrouble\n"
        "[ended after 1 s, with all that the command had started]"
    )
    assert time.monotonic() - started < 30
    assert left_running(mark) == []


@pytest.mark.parametrize("seconds", [0, -5])
def test_the_time_is_at_least_a_second(run, seconds):
    assert run("echo there", timeout_seconds=seconds).endswith("there")


STUBBORN = {
    "children of children": "sleep 61 & (sleep 62 & sleep 63 & wait) & wait",
    "a separate session": "setsid sleep 61 & sleep 62",
    "one that is deaf to SIGTERM": "trap '' TERM; sleep 61; sleep 62; sleep 63",
    "one that is stopped": "sh -c 'kill -STOP $$; sleep 61' & sleep 62",
    "orphans": "(sleep 61 &) ; (setsid sh -c 'sleep 62 & sleep 63' &) ; sleep 64",
    "orphans without an environment": "(env -i setsid sh -c 'sleep 61.{0} & sleep 62.{0}' &) ; sleep 63",
    "one that starts others to the end": "trap '(setsid sleep 61 &); sleep 62' TERM; while sleep 0.05; do :; done",
    "one that writes on": "setsid yes & yes",
}


ON_EVERY_PYTHON = ("children of children", "orphans")


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(command, id=name, marks=() if name in ON_EVERY_PYTHON else pytest.mark.long)
        for name, command in STUBBORN.items()
    ],
)
def test_when_its_time_is_up_nothing_of_it_is_left(run, mark, command):
    digits = mark.rpartition("_")[2]
    started = time.monotonic()
    assert "timed out after 1 s" in run(command.replace("{0}", digits), timeout_seconds=1)
    assert left_running(mark) == []
    assert running(f".{digits}") == []
    assert time.monotonic() - started < 30


@pytest.mark.long
@pytest.mark.parametrize("command", ["trap '' TERM; sleep 61", "(setsid sleep 61 &); sleep 62"])
def test_when_the_call_is_cancelled_nothing_of_it_is_left(context, mark, command):
    async def cancel():
        call = asyncio.create_task(execute(f"touch started; {command}", context=context))
        while not (context.paths.workspace / "started").exists():
            await asyncio.sleep(0.01)
        call.cancel()
        done, _ = await asyncio.wait({call}, timeout=30)
        return bool(done) and call.cancelled()

    assert asyncio.run(cancel())
    assert left_running(mark) == []


@pytest.mark.one_python
@pytest.mark.parametrize("number", some([signal.SIGINT, signal.SIGKILL], 2))
def test_when_the_program_ends_nothing_of_it_is_left(tmp_path, mark, number):
    program = (
        "import asyncio, sys; from pathlib import Path; from oneclaw_core import ToolContext; "
        "from oneclaw_core.files import PathGuard; from oneclaw_shell.execute import execute; "
        "home = Path(sys.argv[1]); "
        "context = ToolContext(home, None, 'test', 'exec', 'call_1', PathGuard(home, home)); "
        "asyncio.run(execute('touch started; (setsid sleep 61 &); sleep 62', context=context))"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stderr=subprocess.DEVNULL) as process:
        wait_until((tmp_path / "started").exists)
        process.send_signal(number)
    wait_until(lambda: running(mark) == [])


def test_what_is_left_in_the_background_is_ended_with_the_command(run, mark):
    started = time.monotonic()
    text = run("sleep 61 & (sleep 62 &) ; echo started")
    assert time.monotonic() - started < 30
    assert text.startswith("[exit code: 0]\n\nstarted\n[ended with the command, which had left it in the background: ")
    assert "sleep 61" in text
    assert "sleep 62" in text
    assert left_running(mark) == []


def test_what_has_a_session_of_its_own_goes_on_and_holds_no_one_up(run, mark):
    started = time.monotonic()
    text = run("setsid sleep 61 & echo started")
    assert time.monotonic() - started < 30
    # The process is named by what it is at that moment: `setsid`, or what that has become.
    assert re.fullmatch(
        r"\[exit code: 0]\n\nstarted\n\[goes on in the background, in a session of its own: (setsid )?sleep 61]", text
    )
    assert len(running(mark)) == 1


@pytest.mark.long
def test_what_ends_just_after_the_command_loses_none_of_its_output(run):
    assert run("(sleep 0.1; echo late) & echo early") == "[exit code: 0]\n\nearly\nlate"


@pytest.mark.long
def test_a_command_cannot_end_what_watches_over_it_by_chance(run, mark):
    text = run("kill -TERM $PPID; kill -INT $PPID; kill -HUP $PPID; echo on; sleep 61", timeout_seconds=1)
    assert "on" in text
    assert left_running(mark) == []


def test_a_command_that_ends_what_watches_over_it_is_told_of(context):
    result = asyncio.run(execute("kill -KILL $PPID", context=context))
    assert result.error_type == "execution_error"
    assert "supervisor was killed" in result.error_message


@pytest.mark.one_python
def test_a_command_that_stops_what_watches_over_it_is_ended_all_the_same(run, mark):
    assert "timed out" in run("kill -STOP $PPID; sleep 61", timeout_seconds=1)
    assert left_running(mark) == []


@pytest.mark.long
@pytest.mark.one_python
def test_many_at_once_are_kept_apart(context):
    async def all_of_them():
        calls = (execute(f"echo {number}; exit {number}", context=context) for number in range(10))
        return [result.result for result in await asyncio.gather(*calls)]

    assert asyncio.run(all_of_them()) == [f"[exit code: {number}]\n\n{number}" for number in range(10)]


@pytest.mark.long
def test_nothing_stays_open(run):
    run("true")
    before = len(list(Path("/proc/self/fd").iterdir()))
    run("echo; setsid sleep 0.5 &")
    run("sleep 5", timeout_seconds=1)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_the_definition_says_what_the_code_does():
    manifest = json.loads((Path(shell.__file__).parent / "exec.json").read_text())
    assert manifest["required_permissions"] == ["shell.execute"]
    properties = manifest["parameters"]["properties"]
    assert f"Default {shell.DEFAULT_TIMEOUT_SECONDS}, at most {shell.MAX_TIMEOUT_SECONDS}." in str(properties)
    assert f"default {shell.DEFAULT_MAX_LENGTH}." in str(properties)
    ending = programs.GRACE_SECONDS + supervisor.KILL_SECONDS
    assert shell.MAX_TIMEOUT_SECONDS + ending < manifest["timeout_seconds"] == 125
