"""Processes of Python that have imported what tests of the core need before they start."""

import subprocess
from types import SimpleNamespace

from preloaded_python import PreloadedPython, installed

PRELOADED = (
    "anyio.streams",
    "anyio.to_thread",
    "ctypes",
    "docstring_parser",
    "genai_prices",
    "httpx",
    "importlib_metadata",
    "jsonschema",
    "logging.handlers",
    "oneclaw_core.agents",
    "oneclaw_core.app",
    "oneclaw_core.builtin",
    "oneclaw_core.turn.turn",
    "oneclaw_core.cli.run",
    "oneclaw_terminal.chat",
    "oneclaw_core.cli.input_lines",
    "oneclaw_terminal.screen_chat",
    "oneclaw_terminal.view",
    "oneclaw_core.cli.main",
    "oneclaw_core.cli.rendering",
    "oneclaw_core.plugins.catalogue.compatibility",
    "oneclaw_core.plugins.catalogue.description",
    "oneclaw_core.plugins.registration.named_registrars",
    "oneclaw_core.plugins.registration.registrars",
    "oneclaw_core.process.probe_child",
    "oneclaw_devtools.conformance.inspect",
    "oneclaw_javascript.plugin",
    "oneclaw_memory.settings",
    "oneclaw_offline.rules",
    "oneclaw_openai.chat",
    "oneclaw_core.sessions.sqlite_backend",
    "oneclaw_core.sessions.store",
    "oneclaw_core.tools.find_tool_groups",
    "oneclaw_core.tools.function",
    "oneclaw_core.tools.load_tool_group",
    "oneclaw_core.tools.manifest",
    "packaging.requirements",
    "prompt_toolkit.shortcuts",
    "pydantic",
    "resource",
    "yaml",
    "zipp.glob",
)
FORKED_PYTHON = PreloadedPython(installed(PRELOADED))
# Code for such a process.
RUN_PYTEST = "import runpy; runpy.run_module('pytest', run_name='__main__', alter_sys=True)"


def fork_probes(monkeypatch):
    """Let the checks of plugins look at them in such processes."""
    from oneclaw_core.process import python_runner

    def start(command, **options):
        # What inherits descriptors is started by Python itself.
        return (subprocess.Popen if "pass_fds" in options else FORKED_PYTHON.start)(command, **options)

    streams = {"PIPE": subprocess.PIPE, "DEVNULL": subprocess.DEVNULL}
    monkeypatch.setattr(python_runner, "subprocess", SimpleNamespace(Popen=start, **streams))
