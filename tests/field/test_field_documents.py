"""PDF files as programs write them, read by the tools of the group ``pdf``.

A line of ``right.toml`` says what ``pdf_extract_text`` (``text``) and ``pdf_info`` (``info``) tell, and what neither
does (``absent``).
"""

from io import BytesIO

import pytest
from field_corpus import observations
from oneclaw_pdf.tools import pdf_extract_text, pdf_info, pdf_render_page
from PIL import Image

pytestmark = pytest.mark.one_python


@pytest.fixture
def oneclaw_plugins():
    return ["pdf"]


@pytest.fixture
def documents(oneclaw_project):
    def write(observed):
        (oneclaw_project / observed.path.name).write_bytes(observed.content)
        return observed.path.name

    return write


@pytest.mark.parametrize("observed", observations("pdf"))
def test_a_document_of_the_field(observed, documents, tool_context):
    name = documents(observed)
    text = pdf_extract_text(name, context=tool_context).result
    info = pdf_info(name, context=tool_context).result

    assert [each for each in observed.right["text"] if each not in text] == []
    assert [each for each in observed.right["info"] if each not in info] == []
    assert [each for each in observed.right.get("absent", ()) if each in text or each in info] == []
    text.encode()  # it can be sent


def test_the_values_of_a_form_are_rendered(documents, tool_context):
    (form,) = (each.values[0] for each in observations("pdf") if each.id == "pdf/filled-form.pdf")
    shown = pdf_render_page(documents(form), 1, 72, context=tool_context)

    picture = Image.open(BytesIO(shown.attachments[0].data)).convert("L")
    married = picture.crop((150, 792 - 675, 170, 792 - 655))
    assert married.getextrema()[0] == 0  # the box is filled
