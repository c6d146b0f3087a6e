"""Lines of standard input, read without a thread."""

from __future__ import annotations

import asyncio
import os
import sys

from oneclaw_core.errors import UsageError

MAX_LINE_BYTES = 10_000_000
_PIECE_BYTES = 65_536


class LineReader:
    """Reads lines without a thread, which could not be stopped while it waits for input.

    Args:
        descriptor: of a terminal, pipe, socket or file; it stays open.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._received = bytearray()
        self._is_at_end = False

    async def read_line(self) -> str | None:
        """Read one line, without its end.

        Returns:
            The line; ``None`` at the end of the input. Bytes that are no UTF-8 are replaced.

        Raises:
            UsageError: the line is longer than anybody writes, or has no end.
        """
        while b"\n" not in self._received and not self._is_at_end:
            if len(self._received) > MAX_LINE_BYTES:
                raise UsageError(f"a line of standard input is longer than {MAX_LINE_BYTES:,} bytes")
            await self._wait()
            try:
                piece = os.read(self._descriptor, _PIECE_BYTES)
            except OSError:  # the terminal is gone
                piece = b""
            self._is_at_end = not piece
            self._received += piece
        if not self._received:
            return None
        line, _, rest = bytes(self._received).partition(b"\n")
        self._received = bytearray(rest)
        return line.removesuffix(b"\r").decode("utf-8", "replace")

    async def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        try:
            loop.add_reader(self._descriptor, readable.set)
        except PermissionError:  # epoll's way to say that a file can always be read
            return
        try:
            await readable.wait()
        finally:
            loop.remove_reader(self._descriptor)


async def read_input_line() -> str | None:
    """Read a line of standard input; ``None`` at its end, or if there is no standard input."""
    try:
        descriptor = sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):
        return None
    return await LineReader(descriptor).read_line()
