"""Pages whose text layer says little: fonts without a table of characters, and images with a few words over them."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from pypdfium2 import raw  # type: ignore[import-untyped]  # ships no types

if TYPE_CHECKING:
    import pypdfium2

# A page is judged by some of its characters, spread over all of it.
_MOST_LOOKED_AT = 2_000
# Above this part of the characters, a page is no text with a few odd signs, such as bullets of a private font.
_ODD_PART = 0.2
# Of a page of text, an image may fill half; a scan may have a stamp or a page number as text.
_IMAGE_PART = 0.5
_FEW_CHARACTERS = 200
_MEANINGLESS = frozenset({"Co", "Cn", "Cs", "Cc"})
_CID = re.compile(r"\(cid:\d+\)")
# Marks of PDFium for a hyphen at the end of a line.
_HYPHENS = "\x02\ufffe"


def is_meaningless(text_page: pypdfium2.PdfTextPage, text: str) -> bool:
    """Return True if much of a page's text is no text: what its fonts draw is not known as characters.

    Args:
        text_page: of the page.
        text: as PDFium extracted it, with all characters.
    """
    signs = re.sub(r"\s+", "", text)
    if not signs:
        return False
    odd = sum(map(len, _CID.findall(signs))) + sum(map(_is_odd, signs))
    if odd > _ODD_PART * len(signs):
        return True
    count = text_page.count_chars()
    looked_at = range(0, count, max(count // _MOST_LOOKED_AT, 1))
    unknown = sum(raw.FPDFText_HasUnicodeMapError(text_page, index) == 1 for index in looked_at)
    return bool(unknown > _ODD_PART * len(looked_at))


def is_mostly_image(page: pypdfium2.PdfPage, text: str) -> bool:
    """Return True if a page has few characters of text, and images fill most of it."""
    if len(text) > _FEW_CHARACTERS:
        return False
    width, height = page.get_size()
    covered = 0.0
    for each in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=3):
        left, bottom, right, top = each.get_bounds()
        covered += max(min(right, width) - max(left, 0), 0) * max(min(top, height) - max(bottom, 0), 0)
    return bool(covered > _IMAGE_PART * width * height)


def _is_odd(sign: str) -> bool:
    return sign == "\ufffd" or (sign not in _HYPHENS and unicodedata.category(sign) in _MEANINGLESS)
