"""Lines of input: from a terminal, a pipe or a file."""

from __future__ import annotations

import asyncio
import os
import select
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from oneclaw_core.cli.output import print_text, warn
from oneclaw_core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from prompt_toolkit.completion import Completer
    from prompt_toolkit.document import Document
    from prompt_toolkit.history import History

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


class ChatInput(Protocol):
    """Gives the lines that the user writes."""

    async def read(self) -> str | None:
        """Read a message or a command; ``None`` when there will be no more."""
        ...


class PipedInput:
    """Reads lines from a stdin that is no terminal: nothing is shown, nothing is asked."""

    def __init__(self) -> None:
        self._lines = LineReader(sys.stdin.fileno())

    async def read(self) -> str | None:
        """Read the next line that is not empty."""
        line = await self._lines.read_line()
        while line is not None and not line.strip():
            line = await self._lines.read_line()
        return line


@contextmanager
def hidden_typing() -> Iterator[None]:
    """Show nothing of what is typed while the block runs, such as before there is a line to type in."""
    descriptor = sys.stdin.fileno()
    _echo(descriptor, is_on=False)
    try:
        yield
    finally:
        _echo(descriptor, is_on=True)


def _echo(descriptor: int, *, is_on: bool) -> None:
    import termios

    try:
        modes = termios.tcgetattr(descriptor)
        modes[3] = modes[3] | termios.ECHO if is_on else modes[3] & ~termios.ECHO
        termios.tcsetattr(descriptor, termios.TCSANOW, modes)
    except termios.error:  # the terminal is gone
        return


class PlainInput:
    """Reads lines in a terminal without drawing anything anew, for screen readers and terminals that cannot redraw.

    What is typed during an answer is not shown in the middle of it; it is the next line.
    """

    def __init__(self) -> None:
        self._descriptor = sys.stdin.fileno()
        self._lines = LineReader(self._descriptor)

    async def read(self) -> str | None:
        """Read the next line that is not empty."""
        while True:
            is_typed_ahead = self._is_readable()
            sys.stdout.write("> ")
            sys.stdout.flush()
            _echo(self._descriptor, is_on=True)
            line = await self._lines.read_line()
            _echo(self._descriptor, is_on=False)
            if is_typed_ahead or line is None:
                print_text(line or "")
            if line is None or line.strip():
                return line

    def close(self) -> None:
        """Show what is typed again."""
        _echo(self._descriptor, is_on=True)

    def _is_readable(self) -> bool:
        return bool(select.select([self._descriptor], [], [], 0)[0])


def line_history(path: Path) -> History:
    """Return the lines that were typed before, kept in a file that its owner alone reads.

    Args:
        path: of the file.
    """
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        warn(f"what you type is not kept: {path} cannot be written ({error.strerror})")
        return InMemoryHistory()
    return FileHistory(path)


def slash_completer(commands: Callable[[], Awaitable[Mapping[str, str]]]) -> Completer:
    """Return what completes slash commands.

    Args:
        commands: gives them, with a few words on each; what ends with a space wants more behind it.
    """
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion

    class SlashCompleter(Completer):
        def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
            return ()  # plugins are asked on the event loop

        async def get_completions_async(
            self, document: Document, complete_event: CompleteEvent
        ) -> AsyncGenerator[Completion, None]:
            typed = document.text_before_cursor
            if typed.startswith("/"):
                for name, summary in (await commands()).items():
                    if name.startswith(typed.lower()):
                        yield Completion(name, start_position=-len(typed), display_meta=summary)

    return SlashCompleter()
