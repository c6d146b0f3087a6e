"""The metadata of a PDF file."""

from __future__ import annotations

import re
import time
from functools import partial
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from oneclaw_core import untrusted
from oneclaw_pdf.beside_text import attached_files, describe_beside
from oneclaw_pdf.dates import iso_date
from oneclaw_pdf.document import on_one_line
from oneclaw_pdf.errors import PdfProblem
from oneclaw_pdf.extraction import page_content
from oneclaw_pdf.page_lists import format_page_list

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from oneclaw_pdf.document import Document

MAX_OUTLINE_ENTRIES = 50
MAX_OUTLINE_DEPTH = 4
MAX_VALUE_CHARACTERS = 500
# A cover may be a picture; a scan is one throughout.
MAX_PAGES_SEARCHED_FOR_TEXT = 10

# For what is looked for on all pages.
TIME_LIMIT_SECONDS = 5.0

_CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_METADATA = {
    "Title": "Title",
    "Author": "Author",
    "Subject": "Subject",
    "Keywords": "Keywords",
    "Creator": "Creator",
    "Producer": "Producer",
    "Created": "CreationDate",
    "Modified": "ModDate",
}


def describe(document: Document) -> str:
    """Describe a document in lines ``Key: value``; what is blank is left out, and what its author wrote is marked."""
    facts = "\n".join(_facts(document))
    written = "\n".join([*_metadata(document), *_attached(document), *_outline(document)])
    return f"{facts}\n{untrusted(written, f'the document {document.name}')}" if written else facts


def _facts(document: Document) -> Iterator[str]:
    yield f"File: {document.name}"
    yield f"Pages: {document.page_count}"
    yield f"Size: {document.size_bytes} bytes"
    version = document.pdf.get_version()
    if version:
        yield f"PDF version: {version // 10}.{version % 10}"
    yield f"Encrypted: {'yes' if document.is_encrypted else 'no'}"
    width, height = document.pdf.get_page_size(0)
    millimetres = 25.4 / 72
    yield (
        f"Page size: {width:g} x {height:g} points "
        f"({width * millimetres:.0f} x {height * millimetres:.0f} mm) on page 1"
    )
    yield f"Text layer: {_text_layer(document)}"
    yield from describe_beside(document, _pages_in_time(document))
    yield f"Path: {on_one_line(str(document.path))}"


def _pages_in_time(document: Document) -> Iterator[int]:
    """Give the numbers of pages until the time is up."""
    deadline = time.monotonic() + TIME_LIMIT_SECONDS
    return takewhile(lambda _: time.monotonic() < deadline, range(1, document.page_count + 1))


def _text_layer(document: Document) -> str:
    searched = min(document.page_count, MAX_PAGES_SEARCHED_FOR_TEXT)
    bare, odd = [], []
    for number in range(1, searched + 1):
        try:
            content = page_content(document, number)
        except PdfProblem:
            continue
        if not content.text:
            bare.append(number)
        elif not content.is_legible:
            odd.append(number)
    where = "" if searched == document.page_count else f" on the first {searched} pages"
    if len(bare) == searched:
        return f"no{where}: probably scanned, look at its pages with pdf_render_page"
    parts = [f"none on {_named(bare)}"] if bare else []
    parts += [f"not all that {_named(odd)} shows, or without meaning"] if odd else []
    if not parts:
        return "yes"
    return f"yes, but{where} {', '.join(parts)}: look at these pages with pdf_render_page"


def _named(pages: list[int]) -> str:
    return f"page{'s' if len(pages) > 1 else ''} {format_page_list(pages)}"


def _metadata(document: Document) -> Iterator[str]:
    for label, key in _METADATA.items():
        value = _on_one_line(partial(document.pdf.get_metadata_value, key))
        if value:
            yield f"{label}: {iso_date(value) if key.endswith('Date') else value}"


def _attached(document: Document) -> Iterator[str]:
    names = attached_files(document.pdf)
    if names:
        shown = "; ".join(each[:MAX_VALUE_CHARACTERS] for each in names[:MAX_OUTLINE_ENTRIES])
        others = "; and others" if len(names) > MAX_OUTLINE_ENTRIES else ""
        yield f"Attached files, which no tool reads: {shown}{others}"


def _outline(document: Document) -> Iterator[str]:
    entries = list(islice(document.pdf.get_toc(max_depth=MAX_OUTLINE_DEPTH), MAX_OUTLINE_ENTRIES + 1))
    if not entries:
        return
    yield "Outline:"
    for entry in entries[:MAX_OUTLINE_ENTRIES]:
        destination = entry.get_dest()
        index = destination.get_index() if destination else None
        page = "" if index is None else f" (page {index + 1})"
        yield f"{'  ' * (entry.level + 1)}{_on_one_line(entry.get_title) or '(untitled)'}{page}"
    if len(entries) > MAX_OUTLINE_ENTRIES:
        yield f"  (more entries than the {MAX_OUTLINE_ENTRIES} shown)"


def _on_one_line(read: Callable[[], str]) -> str:
    try:
        value = " ".join(_CONTROL_CHARACTERS.sub(" ", read()).split())
    except UnicodeDecodeError:  # a damaged text string; pypdfium2 decodes strictly
        return ""
    return value if len(value) <= MAX_VALUE_CHARACTERS else value[:MAX_VALUE_CHARACTERS] + "…"
