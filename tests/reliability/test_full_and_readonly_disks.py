"""A disk that is full, or that nothing may be written to: one clear line, nothing lost, and it goes on afterwards.

The disks are mounted in a mount namespace of the programs that use them, so that nothing outlives those.
"""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_python

PROGRAM = Path(__file__).with_name("on_a_full_disk.py")
NAMESPACE = ("unshare", "--mount", "--map-root-user")


@cache
def can_mount():
    """Whether this user may have a mount namespace, and mount in it."""
    try:
        tried = subprocess.run([*NAMESPACE, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, check=False)
    except FileNotFoundError:
        return False
    return tried.returncode == 0


needs_mounts = pytest.mark.skipif(
    "not can_mount()", reason="NOT TESTED: full and read-only disks, which take user namespaces or root on Linux"
)


@pytest.fixture
def used(tmp_path, monkeypatch):
    """Runs the program on a directory; gives what it reports."""
    disk = tmp_path / "disk"
    disk.mkdir()
    monkeypatch.setenv("ONECLAW_HOME", str(disk / "home"))
    monkeypatch.setenv("PYTHONPATH", str(PROGRAM.parent))

    def run(kind, *, in_namespace):
        command = [*(NAMESPACE if in_namespace else ()), sys.executable, str(PROGRAM), str(disk), kind]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=os.environ, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def assert_clear(ran, *words):
    """What a command printed is its output, or a line that says what is wrong with the disk."""
    assert "Traceback" not in ran["err"] + ran["out"], ran
    assert "unexpected" not in ran["err"], ran
    lines = [line for line in ran["err"].splitlines() if line.startswith("oneclaw: ") and "warning: " not in line]
    if ran["status"] == 0 or ran["command"] == "doctor":
        return
    said = lines[0] if lines else ran["out"]
    assert len(lines) <= 1, ran
    assert any(word in said for word in words), ran


@needs_mounts
def test_a_disk_that_becomes_full(used):
    report = used("full", in_namespace=True)
    assert report["before"][0]["status"] == 0
    turns = report["turns"]
    assert turns["faults"] == report["faults"] == []
    errors = [turn["error"] for turn in turns["turns"] if turn["error"]]
    assert errors
    assert len(errors) < len(turns["turns"])
    for error in errors:
        assert error.startswith("the disk is full, nothing was stored: free some space")
        assert error.count("nothing was stored") == 1
    assert [turn["after"] for turn in turns["turns"]] == [""] * len(turns["turns"])
    for ran in report["commands"]:
        assert_clear(ran, "disk is full", "No space left", "cannot be written", "no session")
    assert sum(ran["status"] != 0 for ran in report["commands"]) > 5
    assert_clear(report["new home"], "disk is full", "No space left")
    assert report["new home"]["status"] == 1
    # What was in a file before is in it whole, and what was half written is gone.
    assert report["notes"] == "old"
    assert report["left"] == []
    failed = [ran for ran in report["after"] if ran["status"] and "no session" not in ran["err"]]
    assert failed == []


@pytest.mark.long
@needs_mounts
def test_a_home_that_may_only_be_read(used):
    report = used("readonly", in_namespace=True)
    for ran in [*report["commands"], report["new home"]]:
        assert_clear(ran, "Read-only file system", "this user", "no session")
    assert {ran["command"]: ran["status"] for ran in report["commands"]}["tools list"] == 0
    assert report["new home"]["status"] == 1
    assert report["changed"] == []


@pytest.mark.long
def test_files_that_cannot_grow(used):
    report = used("limited", in_namespace=False)
    failed = [ran for ran in report["commands"] if ran["status"]]
    assert failed
    for ran in failed:
        assert ran["status"] == 1
        assert_clear(ran, "disk is full", "check the disk and its free space", "File too large")
    assert report["after"][0]["status"] == 0
    assert report["faults"] == []
