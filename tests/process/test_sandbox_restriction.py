"""A process restricts itself, as root and as an ordinary user: what it can do then, and what it cannot."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from escape_fixtures import USERS, done, names_in, surroundings

from oneclaw_core.process import Access, SandboxPolicy
from oneclaw_core.process.sandbox.landlock import Landlocked
from oneclaw_core.process.sandbox.seccomp import build_filter

WORKER = Path(__file__).with_name("restricted_worker.py")
PROBED = Landlocked().probe()
needs_landlock = pytest.mark.skipif(not PROBED.is_available, reason=PROBED.reason)
# As in test_sandbox_programs.py, where each stands with the words for users.
KNOWN_GAPS = {
    "read a hidden file in the workspace",
    "replace a protected folder",
    "replace it in a nested repository",
    "rename what is above it",
    "write a protected file",
    "write in a protected folder",
    "watch a folder outside",
    "see the size of a hidden file",
    "change the permissions of a hidden file",
    "change the times of a hidden file",
    "mark a hidden file",
    "see a command line",
}


def attempts(user, kind):
    with surroundings() as of:
        command = [sys.executable, str(WORKER), str(user), kind, json.dumps(of)]
        environ = {**os.environ, "TMPDIR": of["workspace"]}
        ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
        assert ended.returncode == 0, ended.stderr
        assert names_in(of["outside"]) == ["socket"]
    return done(json.loads(ended.stdout))


@pytest.mark.long
@needs_landlock
@pytest.mark.parametrize("user", USERS)
def test_a_worker_for_programs_keeps_to_its_policy(user):
    assert attempts(user, "programs") - KNOWN_GAPS == {
        "read a system file",
        "write in the workspace",
        "write in the temporary directory",
        "make a pair of sockets",
        "fork",
        "run a program",
        "limit itself",
    }


@pytest.mark.long
@needs_landlock
@pytest.mark.parametrize("user", USERS)
def test_a_worker_that_only_computes_opens_and_starts_nothing(user):
    assert attempts(user, "computing") == {
        "make a pair of sockets",
        "limit itself",
        "see the size of a hidden file",  # no rule of Landlock is about it, and Python itself asks for sizes
    }


def test_of_the_rules_on_a_path_the_longest_one_decides(tmp_path):
    policy = SandboxPolicy(
        write_roots=(tmp_path / "work", tmp_path / "work" / "home" / "workspace"),
        read_roots=(tmp_path / "hidden" / "tools",),
        hidden_folders=(tmp_path / "hidden", tmp_path / "work" / "home"),
        hidden_files=(tmp_path / "work" / ".env",),
        protected=(tmp_path / "work" / ".git" / "hooks",),
    )
    assert policy.access(tmp_path) is Access.READ
    assert policy.access(tmp_path / "work" / "a") is Access.WRITE
    assert policy.access(tmp_path / "work" / ".env") is Access.HIDDEN
    assert policy.access(tmp_path / "work" / "home" / "key") is Access.HIDDEN
    assert policy.access(tmp_path / "work" / "home" / "workspace" / "a") is Access.WRITE
    assert policy.access(tmp_path / "work" / ".git" / "hooks" / "pre-commit") is Access.READ
    assert policy.access(tmp_path / "hidden" / "tools" / "python") is Access.READ
    assert SandboxPolicy(is_system_readable=False).access(tmp_path) is Access.HIDDEN


def test_filters_are_built_for_two_architectures_alone():
    assert build_filter(machine="x86_64") != build_filter(machine="aarch64")
    assert not {len(build_filter(machine=each)) % 8 for each in ("x86_64", "aarch64")} - {0}
    with pytest.raises(NotImplementedError, match="riscv64"):
        build_filter(machine="riscv64")
