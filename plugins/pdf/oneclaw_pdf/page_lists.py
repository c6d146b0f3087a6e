"""Lists of pages as people write them: ``1,3,5-7`` means just those five pages."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from oneclaw_pdf.errors import PdfProblem

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_CHARACTERS = 1000

# A range may lack its end ("5-": to the last page), and people type dashes for hyphens.
_PART = re.compile(r"([0-9]{1,9})(?:\s*[-\u2013\u2014]\s*([0-9]{1,9})?)?")


def parse_page_list(text: str, page_count: int) -> Sequence[int]:
    """Read a list of pages.

    Args:
        text: pages and ranges separated by commas, spaces allowed; blank or ``all`` for every page.
        page_count: how many pages the document has.

    Returns:
        Page numbers from 1, in the order asked for, each once.

    Raises:
        PdfProblem: ``invalid_page_range``; a part is none, or lies outside the document.
    """
    if text.strip().lower() in ("", "all"):
        return range(1, page_count + 1)
    if len(text) > MAX_CHARACTERS:
        raise _invalid(f"the list is longer than {MAX_CHARACTERS} characters", page_count)
    pages: dict[int, None] = {}
    for part in text.split(","):
        match = _PART.fullmatch(part.strip())
        if match is None:
            raise _invalid(f"{part.strip()[:50]!r} is not a page or range of pages", page_count)
        first = int(match[1])
        last = int(match[2]) if match[2] else first if match[0] == match[1] else page_count
        if first < 1 or max(first, last) > page_count:
            raise _invalid(f"there is no page {first if not 1 <= first <= page_count else last}", page_count)
        if first > last:
            raise _invalid(f"the range {part.strip()} runs backwards", page_count)
        pages.update(dict.fromkeys(range(first, last + 1)))
    return list(pages)


def format_page_list(pages: Sequence[int]) -> str:
    """Write page numbers as short as possible, in their order: ``1, 3, 5-7``."""
    starts = [0, *(i + 1 for i, (one, next_one) in enumerate(pairwise(pages)) if next_one != one + 1), len(pages)]
    return ", ".join(
        str(pages[start]) if end - start == 1 else f"{pages[start]}-{pages[end - 1]}"
        for start, end in pairwise(starts)
        if start < end
    )


def _invalid(reason: str, page_count: int) -> PdfProblem:
    valid = "The document has one page, 1" if page_count == 1 else f"The document has the pages 1-{page_count}"
    return PdfProblem(
        "invalid_page_range", f"pages is not valid: {reason}. {valid}; write a list such as 1,3,5-7 or leave pages out."
    )
