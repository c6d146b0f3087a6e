"""Questions at the terminal: for a permission, and those of tools. Lines are read without a thread."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
import textwrap
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING

from oneclaw_core.cli.output import coloured_changes, is_terminal, printable, terminal_size, write_stderr
from oneclaw_core.errors import UsageError
from oneclaw_core.permissions.approval import ApprovalQuestion, approval_question, question_text, user_question_text
from oneclaw_core.permissions.requests import PermissionAnswer, PermissionRequest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from oneclaw_core.types.user_question import UserAsker, UserQuestion

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


# What lasts needs its whole word, and Enter alone grants nothing: it may be meant for a message that is being typed.
_ANSWERS = {
    "": PermissionAnswer.NO,
    "y": PermissionAnswer.ONCE,
    "yes": PermissionAnswer.ONCE,
    "o": PermissionAnswer.ONCE,
    "n": PermissionAnswer.NO,
} | {str(answer): answer for answer in PermissionAnswer}
_LASTING = (PermissionAnswer.SCRIPT, PermissionAnswer.SESSION, PermissionAnswer.ALWAYS, PermissionAnswer.NEVER)


def terminal_asker(
    giving_way: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
) -> Callable[[PermissionRequest], Awaitable[PermissionAnswer]] | None:
    """Find out how the user can be asked.

    Args:
        giving_way: entered while a question is open, so that nothing else is shown in the middle of it.

    Returns:
        What asks, or ``None`` where no one sits at a terminal.
    """
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        return None

    async def ask(request: PermissionRequest) -> PermissionAnswer:
        async with giving_way():
            return await _ask(approval_question(request))

    return ask


def terminal_confirmer(
    giving_way: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
) -> Callable[[str], Awaitable[bool]]:
    """Return what asks the user at the terminal a question of yes or no; Enter means no.

    Args:
        giving_way: entered while a question is open.
    """

    async def confirm(question: str) -> bool:
        async with giving_way():
            _discard_typed_ahead()
            write_stderr(f"{coloured_changes(printable(question).rstrip(), sys.stderr)} [y/N] ")
            line = await LineReader(sys.stdin.fileno()).read_line()
            return line is not None and line.strip().lower() in ("y", "yes")

    return confirm


async def _ask(question: ApprovalQuestion) -> PermissionAnswer:
    _discard_typed_ahead()
    lines = LineReader(sys.stdin.fileno())
    lasting = ", ".join(str(each) for each in _LASTING if each in question.answers)
    _write_question(question)
    while True:
        prompt = f"Allow once? [y/N], or a word: {lasting}, details:"
        write_stderr("\n".join(textwrap.wrap(prompt, max(terminal_size()[0] - len(" never"), 20))) + " ")
        line = await lines.read_line()
        if line is None:
            write_stderr("\n")
            return PermissionAnswer.NO
        typed = line.strip().lower()
        if typed in ("d", "details"):
            await _show_in_parts(question_text(question, terminal_size()[0]), lines)
            _write_question(question)
            continue
        answer = _ANSWERS.get(typed)
        if answer in question.answers:
            return answer
        hint = f"Please type y for this once, n for no, or a whole word: {lasting}, details. Enter means no."
        write_stderr("\n".join(textwrap.wrap(hint, max(terminal_size()[0] - 1, 20))) + "\n")


def _write_question(question: ApprovalQuestion) -> None:
    columns, rows = terminal_size()
    write_stderr(coloured_changes(question_text(question, columns, rows), sys.stderr, bold=True) + "\n")


def terminal_questioner(giving_way: Callable[[], AbstractAsyncContextManager[None]] = nullcontext) -> UserAsker | None:
    """Return a function that asks a question; ``None`` where no one sits at a terminal."""
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        return None

    async def ask(question: UserQuestion) -> str | None:
        async with giving_way():
            try:
                return await _ask_of_tool(question)
            except asyncio.CancelledError:
                write_stderr("\n(the question is withdrawn)\n")
                raise

    return ask


async def _ask_of_tool(question: UserQuestion) -> str | None:
    _discard_typed_ahead()
    lines = LineReader(sys.stdin.fileno())
    is_whole = _write_tool_question(question)
    while True:
        write_stderr(_tool_prompt(question, is_whole=is_whole))
        line = await lines.read_line()
        if line is None or not line.strip():
            write_stderr("\n" if line is None else "")
            return None
        if not is_whole and line.strip().lower() in ("d", "details"):
            await _show_in_parts(user_question_text(question, terminal_size()[0]), lines)
            is_whole = _write_tool_question(question)
            continue
        answer = question.answer_to(line)
        if answer is not None:
            return answer
        write_stderr(f"Please type a number from 1 to {len(question.choices)}.\n")


def _tool_prompt(question: UserQuestion, *, is_whole: bool) -> str:
    ways = []
    if question.choices:
        ways.append("1" if len(question.choices) == 1 else f"1-{len(question.choices)}")
    if question.allows_text or not question.choices:
        ways.append("your own words")
    details = "" if is_whole else ", d for details"
    return f"Answer [{' or '.join(ways)}; Enter for none{details}]: "


def _write_tool_question(question: UserQuestion) -> bool:
    """Show a question; return True if all of it fits on the screen."""
    columns, rows = terminal_size()
    text = user_question_text(question, columns, rows)
    write_stderr(text, "\n", bold=True)
    return text == user_question_text(question, columns)


async def _show_in_parts(text: str, lines: LineReader) -> None:
    """Show a text, as much as fits on the screen at a time."""
    _, rows = terminal_size()
    shown = text.split("\n")
    step = max(rows - 2, 5)
    for start in range(0, len(shown), step):
        write_stderr("\n".join(shown[start : start + step]) + "\n")
        left = len(shown) - start - step
        if left > 0:
            write_stderr(f"-- {left:,} more rows: Enter shows them, q goes back -- ")
            line = await lines.read_line()
            if line is None or line.strip().lower() == "q":
                return


def _discard_typed_ahead() -> None:
    """Discard text typed before the question was shown; it is no answer."""
    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
