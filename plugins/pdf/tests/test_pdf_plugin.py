"""What the plugin declares, and its tools as a model uses them."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import oneclaw_pdf
import pytest
from pdf_files import make_pdf
from pytest_oneclaw import (
    assert_group_loaded,
    assert_tool_called,
    assert_tool_error,
    assert_tool_not_offered,
    assert_tool_succeeded,
)

from oneclaw_core import ToolCall
from oneclaw_core.providers import ModelResponse

ENTRIES = json.loads((Path(oneclaw_pdf.__file__).parent / "pdf.json").read_text())
PART = r"<<<(\w+)\n(.*)\n\1>>>"


@pytest.fixture
def report(project):
    return make_pdf(project / "report.pdf", ["One", "Two", "Three"])


def test_what_it_registers(definitions_snapshot):
    definitions_snapshot()


@pytest.mark.parametrize("entry", ENTRIES[1:], ids=lambda entry: entry["name"])
def test_each_tool_fits_its_function(entry):
    module, _, name = entry["function"].partition(":")
    parameters = dict(inspect.signature(getattr(importlib.import_module(module), name)).parameters)

    assert parameters.pop("context").kind is inspect.Parameter.KEYWORD_ONLY
    assert list(parameters) == list(entry["parameters"]["properties"])
    assert [key for key, value in parameters.items() if value.default is value.empty] == entry["parameters"]["required"]
    assert entry["isolation"] == "process"


@pytest.mark.long
def test_the_tools_run_in_processes_of_their_own(call_tool, report, workspace):
    assert "Pages: 3" in assert_tool_succeeded(call_tool("pdf_info", path="report.pdf"))
    assert "Two" in assert_tool_succeeded(call_tool("pdf_extract_text", path="report.pdf", pages="2"))
    rendered = call_tool("pdf_render_page", path="report.pdf", page=1)
    assert "pdf-renders" in assert_tool_succeeded(rendered)
    assert rendered.attachments[0].data.startswith(b"\x89PNG")
    assert [path.suffix for path in (workspace / "pdf-renders").iterdir()] == [".png"]
    assert_tool_error(call_tool("pdf_info", path="missing.pdf"), "file_not_found")


@pytest.mark.long
def test_a_model_loads_the_group_and_reads_a_page(oneclaw, model, report):
    model.calls("load_tool_group", group_name="pdf").calls("pdf_extract_text", path="report.pdf", pages="3")
    model.then("It says: Three.")

    turn = oneclaw.send("What does the last page of report.pdf say?")

    assert_group_loaded(turn, "pdf")
    assert "Three" in assert_tool_succeeded(assert_tool_called(turn, "pdf_extract_text"))
    assert_tool_not_offered(model.requests[0], "pdf_extract_text")


@pytest.mark.long
def test_a_model_reads_a_long_document_part_by_part(oneclaw, model, project):
    pages = [f"Page {number} begins.\n" + "More and more of it.\n" * 60 for number in range(40)]
    make_pdf(project / "long.pdf", pages)
    text = assert_tool_succeeded(oneclaw.call_tool("pdf_extract_text", path="long.pdf", max_chars=10**6))
    whole = re.search(PART, text, re.DOTALL)[2]
    parts = []

    def go_on(request):
        shown = request.messages[-1].content
        assert len(shown) <= 30_000
        parts.append(re.search(PART, shown, re.DOTALL)[2])
        following = re.search(r"go on with offset (\d+) ", shown)
        if following is None:
            return "That was all."
        model.then(go_on)
        arguments = json.dumps({"path": "long.pdf", "offset": int(following[1])})
        return ModelResponse(tool_calls=(ToolCall(f"more_{len(parts)}", "pdf_extract_text", arguments),))

    model.calls("load_tool_group", group_name="pdf").calls("pdf_extract_text", path="long.pdf").then(go_on)
    oneclaw.send("Read long.pdf")

    assert len(whole) > 40_000
    assert "".join(parts) == whole
    assert len(parts) == 2


@pytest.mark.long
@pytest.mark.one_python  # needs other plugins
def test_its_words_lead_to_it(oneclaw, report):
    turn = oneclaw.send("How many pages does report.pdf have?")

    assert_group_loaded(turn, "pdf")
    assert "Pages: 3" in assert_tool_succeeded(assert_tool_called(turn, "pdf_info", path="report.pdf"))


@pytest.mark.long
def test_importing_the_plugin_does_not_import_pdfium():
    code = "import sys, oneclaw_pdf; print('pypdfium2' in sys.modules or 'PIL' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
