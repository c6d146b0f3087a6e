"""Programs in a sandbox, by each backend that works here, as root and as an ordinary user."""

import asyncio
import dataclasses
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from escape_fixtures import USERS, done, names_in, surroundings
from how_long import some
from needed_programs import PROGRAMS, require

from oneclaw_core.process import SandboxError, SandboxLimits, SandboxPolicy, run_program
from oneclaw_core.process.sandbox.bubblewrap import Bubblewrap
from oneclaw_core.process.sandbox.confinement import confine
from oneclaw_core.process.sandbox.landlock import GAPS, Landlocked

ATTEMPTS = Path(__file__).with_name("escape_attempts.py")
PYTHON = shutil.which("python3", path="/usr/bin:/usr/local/bin:/bin") or sys.executable
ALLOWED = {
    "read a system file",
    "write in the workspace",
    "write in the temporary directory",
    "make a pair of sockets",
    "fork",
    "run a program",
    "limit itself",
}
UNPROTECTED = "hidden and protected files in a writable directory are neither"
CHANGED = "permissions, times and attributes of files elsewhere can be changed"
# Attempts that succeed, and for Landlock the words in which `oneclaw doctor` and the page say so.
KNOWN_GAPS = {
    "bubblewrap": {"make a socket of tcp", "signal the parent"},
    "landlock": {
        "read a hidden file in the workspace": UNPROTECTED,
        "replace a protected folder": UNPROTECTED,
        "replace it in a nested repository": UNPROTECTED,
        "rename what is above it": UNPROTECTED,
        "write a protected file": UNPROTECTED,
        "write in a protected folder": UNPROTECTED,
        "watch a folder outside": "folders elsewhere can be watched for changes",
        "see the size of a hidden file": "sizes and times of files elsewhere can be seen",
        "change the permissions of a hidden file": CHANGED,
        "change the times of a hidden file": CHANGED,
        "mark a hidden file": CHANGED,
        "see a command line": "names and command lines of other processes can be seen",
    },
}


def test_the_gaps_are_those_that_users_are_told():
    page = " ".join((Path(__file__).parents[2] / "docs" / "sandbox.md").read_text().split())
    # The last one is none of files or processes: wrap() refuses such a policy.
    assert {*KNOWN_GAPS["landlock"].values(), "a single domain cannot be allowed"} == set(GAPS)
    assert [each for each in GAPS if each not in page] == []
    if Landlocked().probe().is_available:
        assert Landlocked().probe().gaps == GAPS


@pytest.fixture(params=[Bubblewrap(), Landlocked()], ids=lambda each: each.name)
def backend(request):
    if request.param.name == "bubblewrap":
        require("bubblewrap")
    elif not (strength := request.param.probe()).is_available:
        pytest.skip(strength.reason)
    return request.param


@pytest.fixture
def of():
    with surroundings() as found:
        yield found


def policy_for(of, **options):
    workspace, temporary = Path(of["workspace"]), Path(of["temporary"])
    hidden = [each for each in map(Path, ("/home", "/mnt", "/root", "/run", "/srv")) if each.is_dir()]
    return SandboxPolicy(
        write_roots=(workspace,),
        hidden_folders=(*hidden, Path(of["secret"])),
        hidden_files=(workspace / ".env", Path("/etc/shadow")),
        protected=tuple(
            workspace / each for each in (".git/config", ".git/hooks", "nested/.git/config", "nested/.git/hooks")
        ),
        environment=(("PATH", "/usr/local/bin:/usr/bin:/bin"),),
        temporary=temporary,
        **options,
    )


def run(backend, of, command, user=None, policy=None):
    """Run a program in a sandbox without a supervisor, which another user might not be able to start."""
    policy = policy or policy_for(of)
    with backend.wrap(command, policy, Path(of["workspace"])) as prepared:
        # Without the shell that watches, which waits for the supervisor.
        words = [*prepared.command]
        if prepared.has_namespaces:
            words = [*words[: words.index("--") + 1], *command]
        program = b"" if prepared.program is None else os.pread(prepared.program, 1 << 20, 0)
        other = {"user": user, "group": user, "extra_groups": []} if user not in (None, os.getuid()) else {}
        return subprocess.run(
            words,
            cwd=prepared.directory,
            env=prepared.environment,
            pass_fds=prepared.descriptors,
            preexec_fn=None if prepared.has_namespaces else lambda: confine(prepared.ruleset, program),
            capture_output=True,
            text=True,
            check=False,
            **other,
        )


def in_shell(backend, of, command, **options):
    return run(backend, of, ["/bin/sh", "-c", command], **options)


@pytest.mark.parametrize("user", USERS)
def test_nothing_gets_out(backend, of, user):
    shutil.copy(ATTEMPTS, Path(of["workspace"], "attempts.py"))
    ended = run(backend, of, [PYTHON, "-I", "attempts.py", json.dumps(of)], user)
    assert ended.returncode == 0, ended.stderr
    found = done(json.loads(ended.stdout))
    assert found - set(KNOWN_GAPS[backend.name]) == ALLOWED
    if user == os.getuid():  # a gap that is closed is told no longer
        assert set(KNOWN_GAPS[backend.name]) <= found
    assert names_in(of["outside"]) == ["socket"]
    assert names_in(of["secret"]) == ["key"]


WORK = {
    "git": "git init -q w && cd w && echo 1 > a && git add a && git -c user.name=A -c user.email=a@b commit -qm x",
    "venv": f"{PYTHON} -m venv --without-pip v && v/bin/python -c 'print(1)'",
    "sqlite": f"""{PYTHON} -c 'import sqlite3; sqlite3.connect("d").execute("create table t (a)")'""",
    "gcc": "echo 'int main(void) { return 0; }' > m.c && gcc m.c -o m && ./m",
    "pipes": "mkfifo p && { echo x > p & } && cat p && wait && echo $$ | tee /dev/null | grep -q .",
    "server": (
        f'{PYTHON} -c \'import socket as s; a = s.create_server(("127.0.0.1", 0)); '
        "s.create_connection(a.getsockname())'"
    ),
    "pool": f"""{PYTHON} -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [1]))'""",
}
# It gets neither sockets nor the memory that all processes of the machine share.
WITHOUT_LANDLOCK = {"pool", "server"}


@pytest.mark.parametrize("program", some(list(WORK), 2))
def test_ordinary_work_goes_on(backend, of, program):
    if program in PROGRAMS:
        require(program)
    if backend.name == "landlock" and program in WITHOUT_LANDLOCK:
        pytest.skip("not with Landlock")
    ended = in_shell(backend, of, WORK[program])
    assert (ended.returncode, ended.stderr) == (0, "")


def supervised(backend, of, command, timeout_seconds=30, policy=None):
    said = bytearray()
    end = asyncio.run(
        run_program(
            ["/bin/sh", "-c", command],
            directory=Path(of["workspace"]),
            timeout_seconds=timeout_seconds,
            on_stdout=said.extend,
            sandbox=(backend, policy or policy_for(of)),
        )
    )
    return end, said.decode()


@pytest.mark.long
def test_exit_status_and_output_are_those_of_the_program(backend, of):
    end, said = supervised(backend, of, "echo out; echo err >&2; exit 7")
    assert (end.exit_code, said) == (7, "out\nerr\n")


@pytest.mark.long
def test_a_program_that_kills_itself_is_no_failure_of_the_sandbox(backend, of):
    assert supervised(backend, of, "kill -9 $$")[0].exit_code in (-9, 137)
    assert supervised(backend, of, "kill -9 $PPID; sleep 600", 3)[0].exit_code in (-9, 137, None)


def test_limits_hold_in_the_sandbox(backend, of):
    policy = policy_for(of, limits=SandboxLimits(memory_bytes=300_000_000))
    hog = f"{PYTHON} -c 'bytes(1 << 30)'"
    assert supervised(backend, of, hog, policy=policy)[0].exit_code == 1


@pytest.mark.long
def test_processes_are_limited_in_the_sandbox_alone(bubblewrap, of):
    # The kernel holds no limit of processes against root.
    user = next((each for each in USERS if each != 0), None)
    if user is None:
        pytest.skip("there is no user but root")
    bomb = "for i in $(seq 40); do sleep 600 & done; kill -9 -1"
    ended = in_shell(bubblewrap, of, f"{SandboxLimits(processes=20).in_shell()}; {bomb}", user=user)
    assert "fork" in ended.stderr


@pytest.fixture
def bubblewrap(of):
    require("bubblewrap")
    return Bubblewrap()


@pytest.mark.long
def test_what_is_left_is_named_and_ends_with_the_sandbox(bubblewrap, of):
    end, _ = supervised(bubblewrap, of, "sleep 601 & setsid sleep 602 & echo $$")
    assert (end.exit_code, end.left_count, end.detached_count) == (0, 2, 0)
    assert set(end.left_names) == {"sleep 601", "sleep 602"}
    # Each process has another number here, so it is looked for by its command line.
    assert not [each for each in Path("/proc").glob("[0-9]*/cmdline") if b"sleep\x00602" in content(each)]


@pytest.mark.long
def test_a_forged_report_leaves_nothing_running(bubblewrap, of):
    end, _ = supervised(bubblewrap, of, "setsid sleep 6051 & echo 7 > /proc/2/fd/9; sleep 6052")
    assert end.exit_code == 7
    assert not [each for each in Path("/proc").glob("[0-9]*/cmdline") if b"sleep\x00605" in content(each)]


def content(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


@pytest.mark.long
def test_at_the_time_limit_programs_are_asked_to_end_before_they_are_killed(bubblewrap, of):
    trapped = "trap 'echo asked > said; exit' TERM; echo ready; while :; do sleep 0.05; done"
    end, said = supervised(bubblewrap, of, trapped, 3)
    assert end.exit_code is None
    assert said.startswith("ready\n")
    assert Path(of["workspace"], "said").read_text() == "asked\n"
    assert supervised(bubblewrap, of, "trap '' TERM; setsid sleep 603 & sleep 604", 3)[0].exit_code is None
    assert not [each for each in Path("/proc").glob("[0-9]*/cmdline") if b"sleep\x00603" in content(each)]


def test_a_sandbox_that_cannot_be_set_up_runs_nothing(bubblewrap, of, tmp_path):
    marker = Path(of["workspace"], "ran")
    policy = dataclasses.replace(policy_for(of), read_roots=(tmp_path,))
    broken = Bubblewrap()
    broken._namespaces = lambda policy: ["--no-such-option"]
    with pytest.raises(SandboxError, match="cannot be set up"):
        supervised(broken, of, f"touch {marker}", policy=policy)
    assert not marker.exists()


def test_without_bubblewrap_the_probe_says_so():
    strength = Bubblewrap("/nonexistent/bwrap").probe()
    assert not strength.is_available
    assert not strength.is_whole


FORBIDDEN = """
import json, os, sys
libc = __import__("ctypes").CDLL(None, use_errno=True)
uid, gid = os.getuid(), os.getgid()
if libc.unshare(0x10000000):
    sys.exit(77)
open("/proc/self/setgroups", "w").write("deny")
open("/proc/self/uid_map", "w").write(f"0 {uid} 1")
open("/proc/self/gid_map", "w").write(f"0 {gid} 1")
open("/proc/sys/user/max_user_namespaces", "w").write("0")
from oneclaw_core.process.sandbox.choice import choose_sandbox
chosen = choose_sandbox("auto")
name, rejected = chosen.rejected[0]
print(json.dumps([chosen.name, chosen.strength.is_whole, name, rejected.reason]))
"""


@pytest.mark.long
def test_where_namespaces_are_forbidden_no_backend_enforces_all(bubblewrap):
    ended = subprocess.run([sys.executable, "-c", FORBIDDEN], capture_output=True, text=True, check=False)
    if ended.returncode == 77:
        pytest.skip("no namespace can be made to try this in")
    name, is_whole, rejected, reason = json.loads(ended.stdout)
    assert (name in ("landlock", "none"), is_whole, rejected) == (True, False, "bubblewrap")
    assert "namespace" in reason
