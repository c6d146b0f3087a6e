"""The descriptions of events, which may be HTML, as text; pure, without any I/O."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_LINE_ENDS = frozenset({"br", "p", "div", "ul", "ol", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote"})
_SILENT = frozenset({"script", "style", "head", "title"})
_TAG = re.compile(r"<(?:/?[a-zA-Z][^<>]*|!--)")
_ENTITY = re.compile(r"&(?:#\d+|#x[0-9a-fA-F]+|[a-zA-Z]\w*);")


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self.silent = 0
        self.links: list[tuple[str, int]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SILENT:
            self.silent += 1
        elif tag == "li":
            self.pieces.append("\n- ")
        elif tag in _LINE_ENDS:
            self.pieces.append("\n")
        elif tag == "a":
            self.links.append((dict(attrs).get("href") or "", len(self.pieces)))

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT:
            self.silent = max(0, self.silent - 1)
        elif tag in _LINE_ENDS and tag != "br":
            self.pieces.append("\n")
        elif tag == "a" and self.links:
            href, start = self.links.pop()
            if href and href not in "".join(self.pieces[start:]):
                self.pieces.append(f" ({href})")

    def handle_data(self, data: str) -> None:
        if not self.silent:
            self.pieces.append(data)


def description_text(description: str) -> str:
    """Turn a description into text; one without any HTML stays as it is.

    Args:
        description: as Google answers it.
    """
    if not _TAG.search(description) and not _ENTITY.search(description):
        return description
    reader = _Reader()
    reader.feed(description)
    reader.close()
    lines = [" ".join(line.split()) for line in "".join(reader.pieces).split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
