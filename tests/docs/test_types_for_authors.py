"""Pyright accepts the code that authors read and start from; tox has mypy check it in the environment ``types``."""

import os
import subprocess
import sys

import pytest
from code_of_authors import write_code_of_authors

pytestmark = [pytest.mark.one_python, pytest.mark.long]


def test_pyright_finds_nothing(tmp_path):
    pytest.importorskip("pyright", reason="pyright is not installed; it is in the dependency group long")
    write_code_of_authors(tmp_path)
    environ = {key: value for key, value in os.environ.items() if not key.startswith("PYRIGHT_")}
    # Pyright for Python would ask the package index for a newer version.
    environ["PYRIGHT_PYTHON_IGNORE_WARNINGS"] = "1"
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "."]
    done = subprocess.run(
        command, cwd=tmp_path, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900
    )
    assert done.returncode == 0, f"the first parts of a path are the page, the last is the line:\n{done.stdout}"
