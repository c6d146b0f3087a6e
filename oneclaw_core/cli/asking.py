"""Asking the user for a permission, in the terminal."""

from __future__ import annotations

import os
import sys
import textwrap
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING

from oneclaw_core.cli.input_lines import LineReader
from oneclaw_core.cli.output import coloured_changes, is_terminal, printable
from oneclaw_core.permissions.approval import approval_question, question_text
from oneclaw_core.permissions.requests import PermissionAnswer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from oneclaw_core.permissions.approval import ApprovalQuestion
    from oneclaw_core.permissions.requests import PermissionRequest

# Where the terminal does not tell its size.
COLUMNS, ROWS = 80, 24
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
            discard_typed_ahead()
            write(f"{coloured_changes(printable(question).rstrip(), sys.stderr)} [y/N] ")
            line = await LineReader(sys.stdin.fileno()).read_line()
            return line is not None and line.strip().lower() in ("y", "yes")

    return confirm


async def _ask(question: ApprovalQuestion) -> PermissionAnswer:
    discard_typed_ahead()
    lines = LineReader(sys.stdin.fileno())
    lasting = ", ".join(str(each) for each in _LASTING if each in question.answers)
    _write_question(question)
    while True:
        prompt = f"Allow once? [y/N], or a word: {lasting}, details:"
        write("\n".join(textwrap.wrap(prompt, max(terminal_size()[0] - len(" never"), 20))) + " ")
        line = await lines.read_line()
        if line is None:
            write("\n")
            return PermissionAnswer.NO
        typed = line.strip().lower()
        if typed in ("d", "details"):
            await show_in_parts(question_text(question, terminal_size()[0]), lines)
            _write_question(question)
            continue
        answer = _ANSWERS.get(typed)
        if answer in question.answers:
            return answer
        hint = f"Please type y for this once, n for no, or a whole word: {lasting}, details. Enter means no."
        write("\n".join(textwrap.wrap(hint, max(terminal_size()[0] - 1, 20))) + "\n")


def _write_question(question: ApprovalQuestion) -> None:
    columns, rows = terminal_size()
    write(coloured_changes(question_text(question, columns, rows), sys.stderr, bold=True) + "\n")


async def show_in_parts(text: str, lines: LineReader) -> None:
    """Show a text, as much as fits on the screen at a time."""
    _, rows = terminal_size()
    shown = text.split("\n")
    step = max(rows - 2, 5)
    for start in range(0, len(shown), step):
        write("\n".join(shown[start : start + step]) + "\n")
        left = len(shown) - start - step
        if left > 0:
            write(f"-- {left:,} more rows: Enter shows them, q goes back -- ")
            line = await lines.read_line()
            if line is None or line.strip().lower() == "q":
                return


def terminal_size() -> tuple[int, int]:
    """Return columns and rows of the terminal."""
    try:
        columns, rows = os.get_terminal_size(sys.stderr.fileno())
    except (OSError, ValueError):  # it is not a terminal any more
        return COLUMNS, ROWS
    return columns or COLUMNS, rows or ROWS


def write(text: str) -> None:
    """Write to standard error at once."""
    sys.stderr.write(text)
    sys.stderr.flush()


def discard_typed_ahead() -> None:
    """Discard text typed before the question was shown; it is no answer."""
    import termios

    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
