"""The program run in the test's own process, on a home of the test's own, with plugins that the test writes."""

import json
import os
import re
import sys
import textwrap
from contextlib import ExitStack
from dataclasses import dataclass

import pytest
from model_server import ModelServer

from oneclaw_core.cli.main import main

# Other plugins that may be installed beside the core; each start of the program would read all of their manifests.
PLUGINS_OF_OTHERS = "checkpoints,config,google_workspace,js_tool_management,pdf,scheduled_tasks,serve,telegram"
VARIABLES_OF_OTHERS = re.compile(r"(ONECLAW|OPENAI|ANTHROPIC|GEMINI|GOOGLE|OLLAMA)_\w+|\w+_API_KEY|NO_COLOR")


@dataclass(frozen=True)
class Outcome:
    """What one run of the program came to."""

    status: int
    stdout: str
    stderr: str

    @property
    def json(self):
        return json.loads(self.stdout)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An environment without anybody's settings or plugins, and the path of a home that is not there yet."""
    for name in list(os.environ):
        if VARIABLES_OF_OTHERS.fullmatch(name):
            monkeypatch.delenv(name)
    path = tmp_path / "home"
    monkeypatch.setenv("ONECLAW_HOME", str(path))
    monkeypatch.setenv("ONECLAW_DISABLED_PLUGINS", PLUGINS_OF_OTHERS)
    return path


@pytest.fixture
def oneclaw(home, capfd):
    """Run the program: ``oneclaw("tools", "list").status``."""

    def run(*arguments):
        capfd.readouterr()
        status = main(list(arguments))
        captured = capfd.readouterr()
        assert "Traceback" not in captured.err
        return Outcome(status, captured.out, captured.err)

    return run


@pytest.fixture
def ok(oneclaw):
    """Run the program, which must succeed without a word on stderr, and give what it prints on stdout."""

    def run(*arguments):
        outcome = oneclaw(*arguments)
        assert (outcome.status, outcome.stderr) == (0, ""), f"exit status {outcome.status}: {outcome.stderr}"
        return outcome.json if "--json" in arguments else outcome.stdout

    return run


@pytest.fixture
def install_plugin(tmp_path, monkeypatch):
    """Put a distribution with one plugin where Python finds it: ``install_plugin("weather", SOURCE)``."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))  # who has which names
    installed = []

    def install(name, source, *, entry_points=None, files=None, metadata=None):
        module = f"oneclaw_{name}"
        info = site / f"{module}-1.2.dist-info"
        info.mkdir()
        text = f"Metadata-Version: 2.1\nName: oneclaw-{name}\nVersion: 1.2\n" if metadata is None else metadata
        (info / "METADATA").write_text(text)
        (info / "entry_points.txt").write_text(entry_points or f"[oneclaw]\n{name} = {module}\n")
        package = site / module
        package.mkdir()
        (package / "__init__.py").write_text(textwrap.dedent(source))
        for file_name, content in (files or {}).items():
            (package / file_name).write_text(content)
        installed.append(module)
        return package

    yield install
    for module in [each for each in sys.modules if each.partition(".")[0] in installed]:
        del sys.modules[module]


@pytest.fixture
def all_plugins(home, monkeypatch):
    """Every plugin is loaded that is installed beside the core."""
    monkeypatch.delenv("ONECLAW_DISABLED_PLUGINS")


@pytest.fixture
def serve(home, monkeypatch):
    """Start a model service that answers from a script, and point the program at it: ``serve(text("Hello."))``."""
    with ExitStack() as servers:

        def start(*script):
            server = servers.enter_context(ModelServer(script))
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
            return server

        yield start
