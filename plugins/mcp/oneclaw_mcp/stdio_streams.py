"""The messages of a server that is a program, as the SDK reads and writes them.

They are in place of the memory streams of the SDK's transport, between which tasks carry each message on.
"""

from __future__ import annotations

import asyncio
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from oneclaw_core.process import run_in_thread
from oneclaw_mcp.messages import read_messages

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from oneclaw_mcp.stdio import ServerLog

# Longer ones are parsed in a thread.
_LONG_LINE_BYTES = 262_144
# Of one that goes over several lines.
_LONGEST_MESSAGE_BYTES = 1_048_576


class _Stream:
    """Closes nothing: the program is ended as a whole."""

    async def aclose(self) -> None:
        """Do nothing."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        return


class ReceivedMessages(_Stream):
    """The messages that a program writes, one a line.

    Args:
        lines: gets them, and ``None`` at the end.
        log: gets the lines that are no messages.
        taken: called with each line that is taken.
    """

    def __init__(self, lines: asyncio.Queue[bytes | None], log: ServerLog, taken: Callable[[bytes], None]) -> None:
        self._lines = lines
        self._log = log
        self._taken = taken
        self._read: deque[SessionMessage] = deque()
        self._unfinished = bytearray()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage:
        while not self._read:
            if not self._lines.empty():
                await asyncio.sleep(0)  # a program that sends very many does not keep others waiting
            line = await self._lines.get()
            if line is None:
                self._lines.put_nowait(None)  # it stays at its end
                raise StopAsyncIteration
            self._taken(line)
            if len(line) <= _LONG_LINE_BYTES:
                self._read += self._parsed(line)
            else:
                self._read += await run_in_thread(partial(self._parsed, line))
        return self._read.popleft()

    async def receive(self) -> SessionMessage:
        """Return the next message.

        Raises:
            anyio.EndOfStream: the program has ended.
        """
        try:
            return await anext(self)
        except StopAsyncIteration:
            raise anyio.EndOfStream from None

    def _parsed(self, line: bytes) -> list[SessionMessage]:
        messages = read_messages(line) if line.strip() != b"{" else []
        if messages or len(self._unfinished) > _LONGEST_MESSAGE_BYTES:
            self._unfinished.clear()
        elif self._unfinished or line.strip() == b"{":  # a message with a member on each line, as jq writes it
            self._unfinished += line + b"\n"
            if line.rstrip() == b"}":
                messages = read_messages(bytes(self._unfinished))
                self._unfinished.clear()
            if messages or self._unfinished:
                return _session_messages(messages)
        if not messages and line.strip():  # such as a banner on standard output
            self._log.feed(b"[on standard output] " + line[:500] + b"\n")
        return _session_messages(messages)


def _session_messages(messages: list[dict[str, Any]]) -> list[SessionMessage]:
    return [SessionMessage(jsonrpc_message_adapter.validate_python(each, by_name=False)) for each in messages]


class SentMessages(_Stream):
    """The messages for a program.

    Args:
        write: writes a line to it.
    """

    def __init__(self, write: Callable[[bytes], Awaitable[None]]) -> None:
        self._write = write

    async def send(self, item: Any, /) -> None:
        """Write a message; returns when the program's pipe has taken it."""
        text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        await self._write(text.encode() + b"\n")
