"""Answers over HTTP as the SDK takes them: what a body is, its bytes say, and each message in it is judged alone."""

from __future__ import annotations

import codecs
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from oneclaw_mcp.cleaning import cleaned
from oneclaw_mcp.messages import lost_session_error, read_messages

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from oneclaw_mcp.connection import HttpState

MAX_EVENT_BYTES = 16 * 1024 * 1024
EVENTS, JSON = "text/event-stream", "application/json"
_REFUSAL_CHARACTERS = 300
_BEGINNING_OF_EVENTS = re.compile(rb"\s*(?:(?:data|event|id|retry)\s*:|:)")
_LINE_END = re.compile(r"\r\n|\n|\r(?!\Z)")
# Statuses with which servers refuse a session that they do not know; 404 is the one of the specification.
_GONE, _PERHAPS_GONE = 404, frozenset({400, 401, 410})
_FIRST_ERROR = 400


class TooLongError(Exception):
    """A message is longer than any should be."""

    def __init__(self) -> None:
        super().__init__(f"its answer is longer than {MAX_EVENT_BYTES // 1024**2} MiB")


def looks_like_events(beginning: bytes) -> bool:
    """Return True if a body begins like a stream of events."""
    return _BEGINNING_OF_EVENTS.match(beginning.removeprefix(codecs.BOM_UTF8)) is not None


async def readable_events(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Write a stream of events anew, with one whole message in each event.

    Raises:
        TooLongError: an event is too long.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    reader, document = _EventReader(), ""
    is_first, is_document = True, False
    async for piece in pieces:
        text = decoder.decode(piece)
        if is_first and text.strip():
            is_first, is_document = False, text.lstrip()[0] in "{["
        if is_document:
            document += text
            if len(document) > MAX_EVENT_BYTES:
                raise TooLongError
            continue
        for event in reader.feed(text):
            yield event.encode()
    for event in _events_of(read_messages(document)) if is_document else reader.rest():
        yield event.encode()


def readable_body(
    status: int, content_type: str, body: bytes, request: bytes, state: HttpState, *, has_session: bool
) -> tuple[str, bytes]:
    """Return a whole body as the SDK takes it, with its type, and keep what it says of the server.

    Args:
        status: of the answer.
        content_type: as the server says.
        body: of the answer.
        request: the body of the request.
        state: gets what is learnt.
        has_session: True if the request names a session.
    """
    messages = read_messages(body)
    text = cleaned(body[: 4 * _REFUSAL_CHARACTERS].decode("utf-8", "replace"), _REFUSAL_CHARACTERS)
    is_of_request = any(each.get("id") is not None and each["id"] == _id_of(request) for each in messages)
    if has_session and (status == _GONE or (status in _PERHAPS_GONE and not is_of_request)):
        return JSON, json.dumps(lost_session_error(f"status {status}: {text}")).encode()
    if not messages:
        if text or status >= _FIRST_ERROR:
            state.refusal = f"status {status}, {cleaned(content_type, 50) or 'of no type'}: {text}".rstrip(" :")
        return content_type, body
    state.refusal = ""
    if len(messages) == 1:
        return JSON, json.dumps(messages[0]).encode()
    return EVENTS, "".join(_events_of(messages)).encode()


def _id_of(request: bytes) -> Any:
    try:
        document = json.loads(request)
    except ValueError:
        return None
    return document.get("id") if isinstance(document, dict) else None


def _events_of(messages: list[dict[str, Any]]) -> Iterator[str]:
    for each in messages:
        yield f"event: message\ndata: {json.dumps(each)}\n\n"


@dataclass(slots=True)
class _EventReader:
    """Reads events as they come; a line ends with CR, LF or both."""

    _unread: str = ""
    _lines: list[str] = field(default_factory=list)
    _size: int = 0

    def feed(self, text: str) -> Iterator[str]:
        *lines, self._unread = _LINE_END.split(self._unread + text)
        for line in lines:
            if line:
                self._lines.append(line)
                self._size += len(line)
            elif self._lines:
                yield from self._event()
        if self._size + len(self._unread) > MAX_EVENT_BYTES:
            raise TooLongError

    def rest(self) -> Iterator[str]:
        """Yield what has no blank line behind it."""
        yield from self.feed("\n\n")

    def _event(self) -> Iterator[str]:
        fields = [(name, value.removeprefix(" ")) for name, _, value in (each.partition(":") for each in self._lines)]
        self._lines, self._size = [], 0
        data = "\n".join(value for name, value in fields if name == "data")
        kind = next((value for name, value in reversed(fields) if name == "event"), "message")
        position = "".join(f"{name}: {value}\n" for name, value in fields if name in ("id", "retry"))
        messages = read_messages(data)
        if messages:
            first, *others = _events_of(messages)
            yield position + first
            yield from others
        elif kind != "message":  # such as the endpoint of the old transport
            yield f"{position}event: {kind}\ndata: {data.splitlines()[0] if data else ''}\n\n"
        elif position:
            yield f"{position}data: \n\n"
