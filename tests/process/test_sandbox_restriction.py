"""A process restricts itself, as root and as an ordinary user: what it can do then, and what it cannot."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from oneclaw_core.process import Access, SandboxPolicy
from oneclaw_core.process.sandbox.seccomp import build_filter

WORKER = Path(__file__).with_name("restricted_worker.py")
NOBODY = 65534
USERS = [os.getuid(), *([NOBODY] if os.getuid() == 0 else [])]
REFUSED = {"EACCES", "EPERM", "ENOSYS", "EAFNOSUPPORT"}


def has_landlock():
    if sys.platform != "linux" or os.uname().machine not in ("x86_64", "aarch64"):
        return False
    from oneclaw_core.process.sandbox.landlock import landlock_version

    return landlock_version() >= 1


needs_landlock = pytest.mark.skipif(not has_landlock(), reason="this kernel has no Landlock")


@pytest.fixture
def directory():
    # Other users can enter it, unlike tmp_path.
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name).resolve()
        (directory / "secret").mkdir()
        (directory / "secret" / "key").write_text("key")
        (directory / "workspace").mkdir()
        for each in (directory, *directory.rglob("*")):
            each.chmod(0o777)
        yield directory


def attempts(directory, user, kind):
    done = subprocess.run(
        [sys.executable, str(WORKER), str(user), str(directory), kind], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@needs_landlock
@pytest.mark.parametrize("user", USERS)
def test_a_worker_for_programs_keeps_to_its_policy(directory, user):
    found = attempts(directory, user, "programs")
    done = {name for name, outcome in found.items() if outcome == "done"}
    assert done - {"signal the parent"} == {
        "read a system file",
        "write in the workspace",
        "socket pair",
        "fork",
        "run a program",
    }
    assert {outcome for outcome in found.values() if outcome != "done"} <= REFUSED
    assert not (directory / "made").exists()


@needs_landlock
@pytest.mark.parametrize("user", USERS)
def test_a_worker_that_only_computes_opens_and_starts_nothing(directory, user):
    found = attempts(directory, user, "computing")
    done = {name for name, outcome in found.items() if outcome == "done"}
    assert done - {"signal the parent"} == {"socket pair"}
    assert {outcome for outcome in found.values() if outcome != "done"} <= REFUSED


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
