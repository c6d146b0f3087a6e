"""Lines that the user writes: in a terminal, or through a pipe or a file."""

from __future__ import annotations

import os
import select
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from oneclaw_core.cli import LineReader, print_text, warn

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from prompt_toolkit.completion import Completer
    from prompt_toolkit.document import Document
    from prompt_toolkit.history import History


class ChatInput(Protocol):
    """Gives the lines that the user writes."""

    async def read(self) -> str | None:
        """Read a message or a command; ``None`` when there will be no more."""
        ...


class PipedInput:
    """Reads lines from a stdin that is not a terminal: nothing is shown, nothing is asked."""

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
