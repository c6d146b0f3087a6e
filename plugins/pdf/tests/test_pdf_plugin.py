"""What the plugin declares."""

from __future__ import annotations

import importlib
import inspect
import json
import subprocess
import sys
from pathlib import Path

import oneclaw_pdf
import pytest

from oneclaw_core import ToolDefinition

ENTRIES = json.loads((Path(oneclaw_pdf.__file__).parent / "pdf.json").read_text())


class Register:
    def __init__(self) -> None:
        self.manifests = []

    def manifest(self, path) -> None:
        self.manifests.append(path)


def test_it_registers_its_manifest():
    register = Register()

    oneclaw_pdf.register_tools(register)

    assert [json.loads(path.read_text()) for path in register.manifests] == [ENTRIES]


def test_the_group_is_described():
    assert ENTRIES[0] == {
        "_meta": True,
        "display_name": "PDF Tools",
        "description": "Extract text, get info, and render pages from PDF files",
    }
    assert [entry["name"] for entry in ENTRIES[1:]] == ["pdf_info", "pdf_extract_text", "pdf_render_page"]


@pytest.mark.parametrize("entry", ENTRIES[1:], ids=lambda entry: entry["name"])
def test_each_tool_is_a_definition_of_its_function(entry):
    definition = ToolDefinition(
        entry["name"],
        entry["description"],
        entry["parameters"],
        tuple(entry["required_permissions"]),
        entry["timeout_seconds"],
    )
    module, _, name = entry["function"].partition(":")
    parameters = dict(inspect.signature(getattr(importlib.import_module(module), name)).parameters)

    assert parameters.pop("context").kind is inspect.Parameter.KEYWORD_ONLY
    assert list(parameters) == list(definition.parameters["properties"])
    assert [key for key, value in parameters.items() if value.default is value.empty] == entry["parameters"]["required"]
    assert "files.read" in definition.required_permissions
    assert ("files.write" in definition.required_permissions) == (name == "pdf_render_page")
    assert entry["isolation"] == "process"


def test_importing_the_plugin_does_not_import_pdfium():
    code = "import sys, oneclaw_pdf; print('pypdfium2' in sys.modules or 'PIL' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
