"""Server-sent events from a server that may be hostile or broken."""

from __future__ import annotations

from contextlib import aclosing
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
    import httpx
    from httpx_sse import EventSource

    since_event = 0

    async def counted() -> AsyncGenerator[bytes, None]:
        nonlocal since_event
        total = 0
        async for chunk in chunks:
            since_event += len(chunk)
            total += len(chunk)
            if since_event > max_event_bytes or total > max_stream_bytes:
                raise StreamTooLargeError
            yield chunk

    # The parser insists on the right content type, which not every server sends, and has no limits of its own.
    headers = {"content-type": "text/event-stream; charset=utf-8-sig"}
    async with (
        aclosing(counted()) as content,
        aclosing(EventSource(httpx.Response(200, headers=headers, content=content)).aiter_sse()) as events,
    ):
        async for event in events:
            since_event = 0
            if event.data:
                yield event.data
