"""The text of pages."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oneclaw_pdf.errors import PdfProblem

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pypdfium2  # type: ignore[import-untyped]  # ships no types

    from oneclaw_pdf.document import Document

# Less than the tool's timeout of 30 s: what has been read by then is worth more than a timeout.
TIME_LIMIT_SECONDS = 20.0

# PDFium marks a hyphen at the end of a line with one of two characters and leaves the line break out.
_CLEANED = {code: None for code in range(32) if chr(code) not in "\t\n\r"} | {0x02: "-\n", 0xFFFE: "-\n"}


@dataclass(frozen=True, slots=True)
class Extraction:
    """The text of some pages.

    Attributes:
        text: of each page, under a line ``--- Page N ---``, the part of it that is wanted.
        full_length: of the uncut text, in characters.
        is_without_text: whether all pages were read and have none, as in a scan.
        cut_page: the page in which the part ends, ``None`` if it goes to the end.
        unread: the pages that there was no time for.
    """

    text: str
    full_length: int
    is_without_text: bool
    cut_page: int | None
    unread: Sequence[int]


def extract(document: Document, pages: Sequence[int], max_characters: int, offset: int = 0) -> Extraction:
    """Extract the text of pages.

    Args:
        document: an open one.
        pages: page numbers from 1.
        max_characters: how much text to keep.
        offset: how much to leave out before it.

    Raises:
        PdfProblem: ``pdf_error``; none of the pages can be loaded.
    """
    kept: list[str] = []
    full_length = damaged = done = 0
    has_text = False
    cut_page: int | None = None
    deadline = time.monotonic() + TIME_LIMIT_SECONDS
    for number in pages:
        try:
            content = page_text(document.load_page(number))
            has_text = has_text or bool(content)
            body = content or "(no text: render this page with pdf_render_page to see it)"
        except PdfProblem:
            damaged += 1
            body = "(this page is damaged and cannot be read)"
        section = f"{'' if done == 0 else chr(10) * 2}--- Page {number} ---\n{body}"
        room = offset + max_characters - full_length
        if room > 0:
            kept.append(section[max(offset - full_length, 0) : room])
        if cut_page is None and len(section) > room:
            cut_page = number
        full_length += len(section)
        done += 1
        if time.monotonic() > deadline:
            break
    if damaged == done:
        raise PdfProblem("pdf_error", f"{document.shown} is damaged: none of the pages asked for can be read.")
    is_without_text = not has_text and damaged == 0 and done == len(pages)
    return Extraction("".join(kept), full_length, is_without_text, cut_page, pages[done:])


def page_text(page: pypdfium2.PdfPage) -> str:
    """The text of a page, within its visible area, with plain line feeds; empty if it has none."""
    text_page = page.get_textpage()
    try:
        text: str = text_page.get_text_bounded()
    finally:
        text_page.close()
        page.close()
    return text.translate(_CLEANED).replace("\r\n", "\n").replace("\r", "\n").strip()
