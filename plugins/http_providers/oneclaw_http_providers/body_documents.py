"""Read the JSON documents of a response body by its bytes, whatever its frame and its label. No I/O.

Servers send an answer as server-sent events, as JSON lines, as one JSON document or as an array of them, and mix these:
an error in the middle of an event stream often stands there as bare JSON.
"""

from __future__ import annotations

import codecs
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DOCUMENT_BYTES = 16 * 1024 * 1024
MAX_BODY_BYTES = 256 * 1024 * 1024

END_MARK = "[DONE]"
ERROR_EVENT = "error"
_KEPT_CHARACTERS = 2_000
_LINE_END = re.compile(rb"[\r\n]")
_STRUCTURE = re.compile(rb'["{}\[\]\n\r]')
_IN_STRING = re.compile(rb'["\\\n\r]')
# Of an array around several documents, the beginning; its commas and its end are passed over.
_BEGINNING = re.compile(rb"[ \t]*(?:\[\s*)?(?=\{)")
_BETWEEN_VALUES = b" \t\r\n,]"
_EVENT_FIELDS = frozenset({b"data", b"event", b"id", b"retry"})
_FIELD = re.compile(rb"[ \t]*(data|event|id|retry)[ \t]*:", re.IGNORECASE)


class BodyTooLargeError(Exception):
    """The server sends more than any answer takes."""


class BrokenDocumentError(Exception):
    """A part of the body begins as a JSON document and is none."""


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON document of a body.

    Attributes:
        value: parsed; :data:`END_MARK` for the end of the stream.
        event: the name of the server-sent event that brought it, often empty.
    """

    value: Any
    event: str = ""

    @property
    def is_end(self) -> bool:
        """True if it is the mark that ends a stream."""
        return bool(self.value == END_MARK)


class BodyDocuments:
    """Finds the documents of one body, fed piece by piece.

    Args:
        max_document_bytes: the most that may come before a document is complete.
        max_body_bytes: the most that may come at all.

    Attributes:
        other_text: the beginning of the text that belongs to no document, such as a web page.
    """

    def __init__(self, max_document_bytes: int = MAX_DOCUMENT_BYTES, max_body_bytes: int = MAX_BODY_BYTES) -> None:
        self.other_text = ""
        self._max_document_bytes = max_document_bytes
        self._max_body_bytes = max_body_bytes
        self._total = 0
        self._since_document = 0
        self._buffer = bytearray()
        self._searched = 0  # of the buffer, for the end of a line
        self._is_first = True
        self._skips_line_feed = False
        self._value: _ValueScanner | None = None  # while the buffer begins with a JSON value
        self._data: list[bytes] = []
        self._event = b""

    def feed(self, piece: bytes) -> Iterator[Document]:
        """Take a piece and yield the documents that it completes.

        Raises:
            BodyTooLargeError: one of the limits is exceeded.
            BrokenDocumentError: a document cannot be read.
        """
        self._total += len(piece)
        self._since_document += len(piece)
        if self._since_document > self._max_document_bytes or self._total > self._max_body_bytes:
            raise BodyTooLargeError
        self._buffer += piece
        if self._is_first:
            if codecs.BOM_UTF8.startswith(self._buffer[:3]) and len(self._buffer) < 3:
                return
            self._is_first = False
            if self._buffer.startswith(codecs.BOM_UTF8):
                del self._buffer[:3]
        yield from self._read()

    def end(self) -> Iterator[Document]:
        """Yield what is complete now that nothing more comes; the beginning of a document is dropped."""
        if self._value is None:
            if self._buffer:
                self._buffer += b"\n"
                yield from self._read()
            if self._value is None and self._data:
                try:
                    yield from self._dispatch()
                except BrokenDocumentError:
                    self._note(b"{")

    def _read(self) -> Iterator[Document]:
        while self._buffer:
            if self._skips_line_feed:
                self._skips_line_feed = False
                if self._buffer.startswith(b"\n"):
                    self._take(1)
                    continue
            if self._value is not None:
                end = self._value.end_in(self._buffer)
                if end is None:
                    return
                text = self._take(end)
                self._value = None
                yield from self._documents_in(text)
                self._skip_between_values()
            elif not self._data and self._begins_value():
                self._value = _ValueScanner()
            else:
                line = self._line()
                if line is None:
                    return
                yield from self._add_line(line)

    def _take(self, length: int) -> bytes:
        taken = bytes(self._buffer[:length])
        del self._buffer[:length]
        self._searched = 0
        return taken

    def _begins_value(self) -> bool:
        found = _BEGINNING.match(self._buffer)
        if found is not None:
            self._take(found.end())
        return found is not None

    def _skip_between_values(self) -> None:
        length = len(self._buffer) - len(self._buffer.lstrip(_BETWEEN_VALUES))
        self._take(length)

    def _line(self) -> bytes | None:
        """Take a line off the buffer; ``None`` if it has no end yet."""
        found = _LINE_END.search(self._buffer, self._searched)
        if found is None:
            self._searched = len(self._buffer)
            return None
        self._skips_line_feed = found[0] == b"\r"
        line = self._take(found.end())
        return line[:-1]

    def _add_line(self, line: bytes) -> Iterator[Document]:
        if not line:
            yield from self._dispatch()
            return
        if line.startswith(b":"):
            return
        name, colon, value = line.partition(b":")
        name = name.strip().lower()
        if name not in _EVENT_FIELDS:
            if self._data:  # the rest of a document that is written over several lines
                self._data.append(line)
            elif line.strip() == END_MARK.encode():
                yield Document(END_MARK)
            else:
                self._note(line)
            return
        value = value.removeprefix(b" ") if colon else b""
        if name == b"data":
            # Some servers put no blank line between their events.
            if len(self._data) == 1 and _is_document(self._data[0]):
                yield from self._dispatch()
            self._data.append(value)
        elif name == b"event":
            self._event = value.strip()

    def _dispatch(self) -> Iterator[Document]:
        data, event = b"\n".join(self._data), self._event.decode("utf-8", "replace")
        self._data.clear()
        self._event = b""
        self._since_document = len(self._buffer)
        if data.strip():
            yield from self._documents_in(data, event)

    def _documents_in(self, data: bytes, event: str = "") -> Iterator[Document]:
        self._since_document = len(self._buffer)
        text = data.decode("utf-8", "replace").strip()
        if text.strip('"') == END_MARK:
            yield Document(END_MARK)
            return
        try:
            values = _parsed(text)
        except (ValueError, RecursionError):
            if text.startswith("{"):
                raise BrokenDocumentError from None
            if event == ERROR_EVENT:
                yield Document(text, event)
            else:
                self._note(data)
            return
        for value in values:
            if isinstance(value, dict) or event == ERROR_EVENT:
                yield Document(value, event)
            else:
                self._note(data)

    def _note(self, data: bytes) -> None:
        if len(self.other_text) < _KEPT_CHARACTERS:
            self.other_text += data[:_KEPT_CHARACTERS].decode("utf-8", "replace") + "\n"


class _ValueScanner:
    """Finds the end of a JSON object at the beginning of a buffer, each byte looked at once."""

    def __init__(self) -> None:
        self._place = 0
        self._depth = 0
        self._is_in_string = False

    def end_in(self, buffer: bytearray) -> int | None:
        """Return the length of the object; ``None`` if it goes on behind what has come.

        An object that another event interrupts ends there.
        """
        while True:
            found = (_IN_STRING if self._is_in_string else _STRUCTURE).search(buffer, self._place)
            if found is None:
                self._place = len(buffer)
                return None
            character = found[0]
            if character == b"\\":
                if found.end() == len(buffer):  # what it escapes has not come
                    self._place = found.start()
                    return None
                self._place = found.end() + 1
                continue
            self._place = found.end()
            if character == b'"':
                self._is_in_string = not self._is_in_string
            elif character in b"{[":
                self._depth += 1
            elif character in b"}]":
                self._depth -= 1
                if not self._depth:
                    return self._place
            elif _FIELD.match(buffer, self._place):
                return found.start()


def _is_document(data: bytes) -> bool:
    text = data.decode("utf-8", "replace").strip()
    if text == END_MARK:
        return True
    if not text.startswith("{"):
        return False
    try:
        json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return False
    return True


def _parsed(text: str) -> list[Any]:
    """Parse the values in a text: one, those of an array, or several one behind the other.

    Raises:
        ValueError: it is no JSON.
        RecursionError: it is nested too deeply.
    """
    # Bytes that were no UTF-8 have become this character; in a key they would hide a part of the answer.
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=_with_whole_keys if "\ufffd" in text else None)
    found: list[Any] = []
    place = 0
    while place < len(text):
        value, place = decoder.raw_decode(text, place)
        if isinstance(value, str) and value.lstrip().startswith("{"):  # encoded twice
            value = decoder.decode(value)
        found += value if isinstance(value, list) else [value]
        while place < len(text) and text[place].isspace():
            place += 1
    return found


def _with_whole_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if any("\ufffd" in key for key, _ in pairs):
        raise ValueError("a key is garbled")
    return dict(pairs)
