"""The program in the test's own process, each run as if it were a new one, on a home of the test's own."""

import os
import re
import sys
from dataclasses import dataclass

import pytest
from how_long import IS_LONG

from oneclaw_core.cli.main import main
from oneclaw_core.secrets import redaction as secrets

_VARIABLES_OF_OTHERS = re.compile(r"(ONECLAW|OPENAI|ANTHROPIC|GEMINI|GOOGLE|OLLAMA)_\w+|\w+_API_KEY|NO_COLOR")


@dataclass(frozen=True)
class Run:
    """What one run of the program came to."""

    arguments: tuple
    status: int
    stdout: str
    stderr: str


@pytest.fixture(scope="session")
def is_long():
    """Whether everything is to be tried, as in the tests of reliability, and not a part of it."""
    return IS_LONG


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An environment without anybody's settings, and the path of a home that is not there yet."""
    for name in list(os.environ):
        if _VARIABLES_OF_OTHERS.fullmatch(name):
            monkeypatch.delenv(name)
    path = tmp_path / "home"
    monkeypatch.setenv("ONECLAW_HOME", str(path))
    return path


@pytest.fixture
def few_plugins(home, monkeypatch, is_long):
    """Only what a test is about, in the short form: to load the others is half of what most runs of the program do."""
    if not is_long:
        monkeypatch.setenv("ONECLAW_DISABLED_PLUGINS", "google_workspace,js_tool_management,pdf")


@pytest.fixture
def program(home, capfd, monkeypatch):
    """Run the program: ``program("keys", "set", "openai", typed="sk-1234")``. It knows no secrets of earlier runs."""

    def run(*arguments, typed=""):
        monkeypatch.setattr(secrets, "_remembered", secrets._Remembered())
        reading, writing = os.pipe()
        os.write(writing, typed.encode())
        os.close(writing)
        capfd.readouterr()
        with os.fdopen(reading) as stdin, monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", stdin)
            status = main(list(arguments))
        captured = capfd.readouterr()
        return Run(arguments, status, captured.out, captured.err)

    return run
