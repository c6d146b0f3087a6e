"""Type checkers accept the code that authors read and start from, and what OneClaw's types say to them."""

import os
import subprocess
import sys

import pytest
from code_of_authors import write_code_of_authors
from documentation_pages import ROOT

pytestmark = pytest.mark.one_python


@pytest.fixture(scope="module")
def code(tmp_path_factory):
    folder = tmp_path_factory.mktemp("code")
    write_code_of_authors(folder)
    return folder


def check(code, *arguments):
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("MYPY", "PYRIGHT_"))}
    # Pyright for Python would ask the package index for a newer version.
    environ["PYRIGHT_PYTHON_IGNORE_WARNINGS"] = "1"
    command = [sys.executable, "-m", *arguments, "."]
    done = subprocess.run(
        command, cwd=code, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900
    )
    assert done.returncode == 0, f"the first parts of a path are the page, the last is the line:\n{done.stdout}"


def test_mypy_finds_nothing(code):
    pytest.importorskip("mypy", reason="mypy is not installed")
    # The options and the cache of the whole tree: what the libraries define is known from there.
    shared = (f"--config-file={ROOT / 'pyproject.toml'}", f"--cache-dir={ROOT / '.mypy_cache'}")
    check(code, "mypy", "--strict", *shared, "--namespace-packages", "--explicit-package-bases")


@pytest.mark.long
def test_pyright_finds_nothing(code):
    pytest.importorskip("pyright", reason="pyright is not installed; it is in the dependency group long")
    check(code, "pyright", "--pythonpath", sys.executable)
