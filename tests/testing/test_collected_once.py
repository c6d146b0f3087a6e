"""Tests that are shared among forked processes are all run, and all are reported."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parents[1] / "support"
TESTS = """
    import os, time
    import pytest

    @pytest.mark.parametrize("number", range(50))
    def test_good(number, tmp_path):
        (tmp_path / "only").touch(exist_ok=False)

    def test_bad():
        assert 1 == 2

    @pytest.mark.skip
    def test_left_out():
        pass
"""
CRASH = """
    import os

    def test_before():
        pass

    def test_that_ends_the_process():
        os._exit(7)

    def test_after():
        pass
"""


def run(folder, *arguments):
    environ = {**os.environ, "PYTHONPATH": str(SUPPORT)}
    command = [sys.executable, "-m", "pytest", "-p", "collected_once", "-p", "no:cacheprovider", "--processes=2"]
    command += ["--rootdir", str(folder), "--basetemp", str(folder / "tmp"), *arguments, str(folder)]
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def write(folder, **files):
    folder.mkdir()
    for name, text in files.items():
        (folder / f"test_{name}.py").write_text(re.sub("^    ", "", text, flags=re.MULTILINE))


def test_every_test_is_run_and_reported(tmp_path):
    write(tmp_path / "plain", these=TESTS, others=TESTS.replace("1 == 2", "1 == 3"))
    status, output = run(tmp_path / "plain")
    assert (status, output.count("AssertionError")) == (1, 2)
    assert "2 failed, 100 passed, 2 skipped" in output


def test_a_process_that_ends_leaves_no_test_unreported(tmp_path):
    write(tmp_path / "crash", dying=CRASH, others=TESTS.replace("1 == 2", "1 == 1"))
    status, output = run(tmp_path / "crash")
    assert status == 1
    assert "the process that runs the tests ended with the status 7" in output
    assert "test_that_ends_the_process" in output
    assert "2 failed, 52 passed, 1 skipped" in output


@pytest.mark.long
def test_the_first_failure_can_be_the_last(tmp_path):
    write(tmp_path / "first", these=TESTS.replace("range(50)", "range(2)"), others=TESTS)
    status, output = run(tmp_path / "first", "-x", "-k", "bad or left_out")
    assert status == 1
    assert "stopping after" in output


@pytest.mark.long
def test_a_module_can_be_imported_before_all_others(tmp_path):
    write(tmp_path / "first", these="import sys\n    assert 'xml.dom.minidom' in sys.modules\n    def test_it(): pass")
    assert run(tmp_path / "first", "--import-first=xml.dom.minidom")[0] == 0
    assert run(tmp_path / "first")[0] == 2
