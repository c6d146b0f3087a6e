"""Texts of shapes and cells as a model reads them; pure, without any I/O."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

TEXT_FIELDS = "text/textElements(endIndex,paragraphMarker/bullet(nestingLevel,glyph),textRun/content,autoText/content)"
_NUMBERED = re.compile(r"\w+[.)]")


def shown_text(text: Mapping[str, Any]) -> str:
    """Write a text with its bullets.

    Args:
        text: Google's ``TextContent``.
    """
    lines = [""]
    mark = ""
    for element in text.get("textElements", []):
        if "paragraphMarker" in element:
            mark = _mark(element["paragraphMarker"].get("bullet"))
        for kind in ("textRun", "autoText"):
            for number, piece in enumerate(str(element.get(kind, {}).get("content", "")).split("\n")):
                if number:
                    lines.append("")
                    mark = ""
                if piece:
                    lines[-1] += f"{mark}{piece}"
                    mark = ""
    return "\n".join(lines).replace("\v", "\n").rstrip("\n")


def text_end(text: Mapping[str, Any]) -> int:
    """The index at the end of a text, before its last newline, in UTF-16 code units; 0 if there is none."""
    return max([int(element.get("endIndex", 0)) for element in text.get("textElements", [])], default=1) - 1


def _mark(bullet: Mapping[str, Any] | None) -> str:
    if bullet is None:
        return ""
    glyph = str(bullet.get("glyph", ""))
    return f"{'  ' * int(bullet.get('nestingLevel', 0))}{glyph if _NUMBERED.fullmatch(glyph) else '-'} "
