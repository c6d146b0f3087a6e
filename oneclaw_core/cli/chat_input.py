"""Lines of input: from a terminal, a pipe or a file."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Protocol

from oneclaw_core.cli.output import print_text, warn
from oneclaw_core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
    from pathlib import Path

    from prompt_toolkit.completion import Completer
    from prompt_toolkit.document import Document
    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyBindings

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


class TerminalInput:
    """Reads lines in the terminal, with history, and completion of slash commands.

    Args:
        history_file: where the lines are kept, readable by their owner alone.
        commands: gives what to complete, with a few words on each; what ends with a space wants more behind it.
    """

    def __init__(self, history_file: Path, commands: Callable[[], Awaitable[Mapping[str, str]]]) -> None:
        from prompt_toolkit import PromptSession

        self._session: PromptSession[str] = PromptSession(
            [("bold", "> ")],
            history=_history(history_file),
            completer=_completer(commands),
            complete_while_typing=True,
            key_bindings=_key_bindings(),
            prompt_continuation="  ",
            enable_suspend=True,
        )

    async def read(self) -> str | None:
        """Read the next message, of one line or more, that is not empty."""
        while True:
            try:
                text = await self._session.prompt_async()
            except EOFError:
                return None
            except KeyboardInterrupt:
                if not self._session.default_buffer.text:
                    print_text("(/quit or Ctrl-D leaves)")
                continue
            if text.strip():
                return text


def _history(path: Path) -> History:
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        warn(f"what you type is not kept: {path} cannot be written ({error.strerror})")
        return InMemoryHistory()
    return FileHistory(path)


def _completer(commands: Callable[[], Awaitable[Mapping[str, str]]]) -> Completer:
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


def _key_bindings() -> KeyBindings:
    from prompt_toolkit.application import get_app
    from prompt_toolkit.filters import Condition
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    bindings = KeyBindings()

    @Condition
    def wants_more() -> bool:
        state = get_app().current_buffer.complete_state
        chosen = state.current_completion if state is not None else None
        return chosen is not None and chosen.text.endswith(" ")

    @bindings.add("enter", filter=wants_more)
    def _take_completion(event: KeyPressEvent) -> None:
        # What is chosen in the menu stands in the line already, and is sent by the next Enter.
        event.current_buffer.complete_state = None

    @bindings.add("escape", "enter")
    def _new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return bindings
