"""Reading the bytes of a file as text; pure, without any I/O."""

from __future__ import annotations

import codecs
import re

_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def decoded(content: bytes, content_type: str = "", *, is_cut: bool = False) -> str:
    """Read a text.

    Args:
        content: the bytes, or the first of them.
        content_type: as Google names it, maybe with a charset.
        is_cut: whether there are more bytes.
    """
    for encoding in _encodings(content, content_type):
        try:
            return codecs.getincrementaldecoder(encoding)("strict").decode(content, not is_cut).removeprefix("\ufeff")
        except (LookupError, UnicodeError, ValueError):
            continue
    return content.decode("latin-1")


def _encodings(content: bytes, content_type: str) -> list[str]:
    marked = [encoding for mark, encoding in _MARKS if content.startswith(mark)]
    match = _CHARSET.search(content_type)
    named = [match[1]] if match and _is_charset(match[1]) else []
    return [*marked, *named, "utf-8", "cp1252"]


def _is_charset(name: str) -> bool:
    try:
        return isinstance(b"x".decode(name), str)
    except (LookupError, UnicodeError):  # also codecs that are no character sets, such as hex
        return False
