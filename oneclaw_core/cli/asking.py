"""Asking the user for a permission, in the terminal."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from oneclaw_core.cli.line_reader import LineReader
from oneclaw_core.cli.output import is_terminal, printable_line, styled
from oneclaw_core.tools.permissions import KNOWN_PERMISSIONS, PermissionAnswer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from oneclaw_core.tools.permissions import PermissionRequest

_SHOWN_CHARACTERS = 600
_CHOICES = "[o]nce, this [s]ession, [a]lways, [n]o, ne[v]er"
_ANSWERS = {
    "o": PermissionAnswer.ONCE,
    "s": PermissionAnswer.SESSION,
    "a": PermissionAnswer.ALWAYS,
    "n": PermissionAnswer.NO,
    "v": PermissionAnswer.NEVER,
} | {str(answer): answer for answer in PermissionAnswer}


def terminal_asker(
    before: Callable[[], None] = lambda: None,
) -> Callable[[PermissionRequest], Awaitable[PermissionAnswer]] | None:
    """Find out how the user can be asked.

    Args:
        before: called before a question is shown, to finish a line that is being shown.

    Returns:
        What asks, or ``None`` where nobody sits at a terminal.
    """
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        return None

    async def ask(request: PermissionRequest) -> PermissionAnswer:
        before()
        return await _ask(request)

    return ask


def question(request: PermissionRequest) -> str:
    """Put a question into words, over several lines; every part of it is printable."""
    tool, permission = printable_line(request.tool_name, 100), printable_line(request.permission, 100)
    meaning = KNOWN_PERMISSIONS.get(request.permission)
    lines = [
        f"Tool {tool} wants permission {permission}" + (f": {meaning}" if meaning else ""),
        f"  arguments: {printable_line(json.dumps(dict(request.arguments), ensure_ascii=False), _SHOWN_CHARACTERS)}",
    ]
    if request.detail:
        lines.append(f"  it will: {printable_line(request.detail, _SHOWN_CHARACTERS)}")
    return "\n".join(lines)


async def _ask(request: PermissionRequest) -> PermissionAnswer:
    _write(styled(question(request), sys.stderr, bold=True) + "\n")
    _discard_typed_ahead()
    lines = LineReader(sys.stdin.fileno())
    while True:
        _write(f"Allow? {_CHOICES}: ")
        line = await lines.read_line()
        if line is None:
            _write("\n")
            return PermissionAnswer.NO
        answer = _ANSWERS.get(line.strip().lower())
        if answer is not None:
            return answer
        _write("Please type one of o, s, a, n, v.\n")


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def _discard_typed_ahead() -> None:
    """What was typed before the question was seen is no answer to it."""
    import termios

    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
