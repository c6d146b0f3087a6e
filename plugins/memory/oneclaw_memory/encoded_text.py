"""A text file as its owner wrote it: in which encoding, and with which line ends."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class TextForm:
    """Encoding of a text in its file.

    Attributes:
        encoding: by its name in Python.
        byte_order_mark: what precedes the text.
        has_windows_line_ends: whether all lines end in CR LF.
    """

    encoding: str = "utf-8"
    byte_order_mark: bytes = b""
    has_windows_line_ends: bool = False


def decoded(content: bytes) -> tuple[str, TextForm]:
    """Read a file's text, whose lines end in LF then.

    UTF-8 and UTF-16 are recognised; anything else is taken for Windows' or ISO's Latin, which loses nothing.
    """
    mark, encoding = next((each for each in _BYTE_ORDER_MARKS if content.startswith(each[0])), (b"", "utf-8"))
    text = None
    for encoding_tried in (encoding, "cp1252"):
        try:
            text = content[len(mark) :].decode(encoding_tried)
        except UnicodeDecodeError:
            mark = b""
        else:
            encoding = encoding_tried
            break
    if text is None:
        text, encoding = content.decode("latin-1"), "latin-1"
    has_windows_line_ends = "\r\n" in text and text.count("\n") == text.count("\r\n")
    form = TextForm(encoding, mark, has_windows_line_ends)
    return text.replace("\r\n", "\n") if has_windows_line_ends else text, form


def encoded(text: str, form: TextForm) -> bytes:
    """Write a text as its file was; as UTF-8 if it has characters now that the encoding lacks."""
    if form.has_windows_line_ends:
        text = text.replace("\n", "\r\n")
    try:
        return form.byte_order_mark + text.encode(form.encoding)
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")
