"""Tests whose program is missing are skipped, and counted by program at the end of the run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parents[1] / "support"
TESTS = """
    import pytest

    @pytest.mark.needs("no-such-program")
    def test_one():
        pass

    @pytest.mark.needs("sh", "no-such-program")
    def test_two():
        pass

    @pytest.mark.needs("sh")
    def test_three():
        pass
"""


@pytest.fixture
def run(tmp_path):
    """Run the tests above; gives what pytest prints."""
    (tmp_path / "test_programs.py").write_text(TESTS.replace("\n    ", "\n"))

    def run(**environ):
        command = [sys.executable, "-m", "pytest", "-p", "needed_programs", "-p", "no:cacheprovider", str(tmp_path)]
        environ = {**os.environ, "PYTHONPATH": str(SUPPORT), **environ}
        return subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False).stdout

    return run


@pytest.mark.long
def test_a_missing_program_is_named_once_with_the_number_of_its_tests(run):
    printed = run()

    assert printed.count("2 tests: needs no-such-program") == 1
    assert "1 passed, 2 skipped" in printed


@pytest.mark.long
def test_a_program_that_must_be_there_fails_its_tests(run):
    assert "1 passed, 2 errors" in run(ONECLAW_TESTS_NEED="git no-such-program")
