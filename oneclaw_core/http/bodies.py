"""Reading the body of a response in little memory, however far it unpacks."""

from __future__ import annotations

import asyncio
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    import httpx

PIECE_BYTES = 64 * 1024
_GZIP = zlib.MAX_WBITS | 16
_GZIP_BEGINNING = b"\x1f\x8b"


async def body_pieces(response: httpx.Response) -> AsyncIterator[bytes]:
    """Read a body, unpacked, in pieces of at most some 64 KB, as they come.

    The library's own way unpacks all that has arrived into one piece, which may have a thousand times its size.

    Args:
        response: streamed; one that ``expands_boundedly`` passes.

    Raises:
        httpx.HTTPError: the connection broke, or the body is not compressed as the response says.
    """
    import httpx

    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding in ("", "identity"):
        async for piece in response.aiter_raw():
            yield piece
        return
    unpacker = _Unpacker(is_gzip=encoding in ("gzip", "x-gzip"))
    try:
        async for packed in response.aiter_raw():
            for piece in unpacker.unpack(packed):
                yield piece
                await asyncio.sleep(0)  # one packed piece may make a thousand of these
        yield unpacker.rest()
    except zlib.error as error:
        raise httpx.DecodingError(str(error), request=response.request) from error


class _Unpacker:
    """Unpacks ``gzip`` and ``deflate``; by the latter, some servers mean zlib's format, some the bare one."""

    def __init__(self, *, is_gzip: bool) -> None:
        self._is_gzip = is_gzip
        self._stream = zlib.decompressobj(_GZIP) if is_gzip else None
        self._beginning = b""

    def unpack(self, data: bytes) -> Iterator[bytes]:
        data, self._beginning = self._beginning + data, b""
        if self._stream is None:
            if len(data) < 2:
                self._beginning = data
                return
            self._stream = zlib.decompressobj(zlib.MAX_WBITS if _is_zlib(data) else -zlib.MAX_WBITS)
        while data:
            if self._stream.eof:
                if self._is_gzip and data == _GZIP_BEGINNING[:1]:
                    self._beginning = data  # another member, of which no more has come yet
                    return
                if not self._is_gzip or not data.startswith(_GZIP_BEGINNING):
                    return  # padding
                self._stream = zlib.decompressobj(_GZIP)
            piece = self._stream.decompress(data, PIECE_BYTES)
            if piece:
                yield piece
            data = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail

    def rest(self) -> bytes:
        """What was unpacked and had no room in the last piece: a few hundred bytes."""
        return self._stream.flush() if self._stream is not None else b""


def _is_zlib(data: bytes) -> bool:
    return data[0] & 0x0F == zlib.DEFLATED and int.from_bytes(data[:2]) % 31 == 0
