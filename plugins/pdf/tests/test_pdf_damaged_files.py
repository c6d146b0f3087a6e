"""Files that are no PDF files, or not whole ones: an answer in a sentence, whatever the bytes."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oneclaw_pdf.tools import pdf_extract_text, pdf_info, pdf_render_page
from pdf_files import make_pdf

TOOLS = [
    pdf_info,
    pdf_extract_text,
    lambda path, context: pdf_render_page(path, 1, 72, context=context),
]


@pytest.mark.lowest_versions
@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not a PDF file"),
        (b"Dear Sir or Madam", "is not a PDF file"),
        (b"\x89PNG\r\n\x1a\n" + bytes(5000), "is not a PDF file"),
        (bytes(2000) + b"%PDF-1.7", "is not a PDF file"),
        (b"%PDF-1.7", "is damaged or incomplete"),
        (b"%PDF-1.7\n" + b"garbage " * 1000, "is damaged or incomplete"),
        (b"%PDF-1.7\ntrailer << /Root 1 0 R >>\nstartxref\n99999999999\n%%EOF", "is damaged or incomplete"),
        (
            b"%PDF-1.7\n1 0 obj << /Type /Catalog >> endobj\ntrailer << /Root 1 0 R >>\n%%EOF",
            "is damaged or incomplete",
        ),
        (b"%PDF-1.7\n" + b"[" * 100_000, "is damaged or incomplete"),
    ],
)
def test_what_is_no_intact_pdf_file_is_a_pdf_error(context, project, tool, content, said):
    (project / "bad.pdf").write_bytes(content)

    result = tool("bad.pdf", context=context)

    assert result.error_type == "pdf_error"
    assert result.error_message.startswith("bad.pdf ")
    assert said in result.error_message


@pytest.mark.lowest_versions
def test_a_truncated_file_is_a_pdf_error(context, project):
    content = make_pdf(project / "whole.pdf", ["text " * 10] * 20).read_bytes()
    (project / "cut.pdf").write_bytes(content[: len(content) // 10])

    for tool in TOOLS:
        assert tool("cut.pdf", context=context).error_type == "pdf_error"


@cache
def whole_file():
    with TemporaryDirectory() as directory:
        return make_pdf(Path(directory, "whole.pdf"), ["One", "Two"], outline=[("A", 0), ("B", 0)]).read_bytes()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_changed_bytes_give_an_answer(context, project, data):
    content = bytearray(whole_file())
    for _ in range(data.draw(st.integers(1, 8))):
        position = data.draw(st.integers(8, len(content) - 1))
        content[position] = data.draw(st.integers(0, 255))
    (project / "changed.pdf").write_bytes(content)

    for tool in TOOLS:
        result = tool("changed.pdf", context=context)
        assert result.is_success or result.error_type in {
            "pdf_error",
            "password_required",
            "invalid_page",
            "invalid_page_range",
        }
