"""Server-sent events: the data of each, from a stream of bytes, within limits."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

MAX_EVENT_BYTES = 16 * 1024 * 1024
MAX_STREAM_BYTES = 256 * 1024 * 1024


class StreamTooLargeError(Exception):
    """The server sends more than any answer takes."""


async def event_data(
    chunks: AsyncIterator[bytes], max_event_bytes: int = MAX_EVENT_BYTES, max_stream_bytes: int = MAX_STREAM_BYTES
) -> AsyncGenerator[str, None]:
    """Yield the data of each event of a stream; events without data and comments are left out.

    The bytes are read as UTF-8 whatever the server calls them, as the format demands; invalid ones are replaced.

    Args:
        chunks: the stream, split anywhere.
        max_event_bytes: the most that may come before an event is complete.
        max_stream_bytes: the most that may come at all.

    Raises:
        StreamTooLargeError: one of the limits is exceeded.
    """
    pending: list[bytes] = []  # of a line that is not complete
    data: list[bytes] = []
    total = since_event = 0
    is_first_line = True
    async for chunk in chunks:
        since_event += len(chunk)
        total += len(chunk)
        if since_event > max_event_bytes or total > max_stream_bytes:
            raise StreamTooLargeError
        pending.append(chunk)
        if b"\n" not in chunk and b"\r" not in chunk:
            continue
        lines = b"".join(pending).splitlines(keepends=True)
        # A carriage return at the end may be the first half of a line's end.
        pending = [] if lines[-1].endswith(b"\n") else [lines.pop()]
        for line in lines:
            if is_first_line:
                line, is_first_line = line.removeprefix(codecs.BOM_UTF8), False
            name, _, value = line.rstrip(b"\r\n").partition(b":")
            if name == b"data":
                data.append(value.removeprefix(b" "))
            elif not name and not line.startswith(b":"):
                since_event = 0
                text = b"\n".join(data).decode(errors="replace")
                data.clear()
                if text:
                    yield text
    if data and b"".join(pending) == b"\r" and (text := b"\n".join(data).decode(errors="replace")):
        yield text
