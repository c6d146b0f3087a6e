"""The text of pages."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oneclaw_pdf.beside_text import BesideText, beside_text
from oneclaw_pdf.errors import PdfProblem
from oneclaw_pdf.legibility import is_meaningless, is_mostly_image

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_pdf.document import Document

# Less than the tool's timeout of 30 s: what has been read by then is worth more than a timeout.
TIME_LIMIT_SECONDS = 20.0

NO_TEXT = "(no text: render this page with pdf_render_page to see it)"
_MEANINGLESS = (
    "(the fonts of this page do not say which characters they show, so this text may mean nothing: render this page "
    "with pdf_render_page to see it)"
)
_MOSTLY_IMAGE = "(most of this page is an image, as in a scan: render it with pdf_render_page to see all of it)"

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
            content = page_content(document, number)
            has_text = has_text or not content.is_empty
            body = content.shown
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


@dataclass(frozen=True, slots=True)
class PageContent:
    """Readable content of a page.

    Attributes:
        text: of the text layer, within the visible area, with plain line feeds; empty if there is none.
        beside: what is not in the text layer.
        hint: what to say before the text; empty for nothing.
    """

    text: str
    beside: BesideText
    hint: str = ""

    @property
    def is_legible(self) -> bool:
        """True if the text layer says what the page shows."""
        return bool(self.text) and not self.hint

    @property
    def is_empty(self) -> bool:
        """True if nothing can be read, as in a scan."""
        return not self.text and not self.beside.lines()

    @property
    def shown(self) -> str:
        """The content for the model."""
        return "\n".join([*filter(None, (self.hint, self.text or NO_TEXT)), *self.beside.lines()])


def page_content(document: Document, number: int) -> PageContent:
    """Read a page by its number from 1.

    Raises:
        PdfProblem: ``pdf_error``; the page is damaged.
    """
    page = document.load_page(number)
    try:
        beside = beside_text(document.pdf, page)
        text_page = page.get_textpage()
        try:
            raw_text: str = text_page.get_text_bounded()
            is_odd = is_meaningless(text_page, raw_text)
        finally:
            text_page.close()
        text = raw_text.translate(_CLEANED).replace("\r\n", "\n").replace("\r", "\n").strip()
        is_image = bool(text) and not is_odd and is_mostly_image(page, text)
        return PageContent(text, beside, _MEANINGLESS if is_odd else _MOSTLY_IMAGE if is_image else "")
    finally:
        page.close()
