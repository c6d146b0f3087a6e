"""Asking the user for a permission, in the terminal."""

from __future__ import annotations

import json
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from oneclaw_core.cli.chat_input import LineReader
from oneclaw_core.cli.output import is_terminal, printable_line, styled
from oneclaw_core.tools.permission_meanings import KNOWN_PERMISSIONS, MAX_MEANING_CHARACTERS
from oneclaw_core.tools.permission_rules import subject_kind
from oneclaw_core.tools.permissions import PermissionAnswer, grant_in_words

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from oneclaw_core.tools.permissions import PermissionRequest
    from oneclaw_core.types.permissions import Grant

_SHOWN_CHARACTERS = 600
# It names those who get a mail, and what is deleted.
_SHOWN_DETAIL_CHARACTERS = 2_000
_SHOWN_SUBJECT_CHARACTERS = 4_000
_SHOWN_SUBJECT_LINES = 40
# Letters and symbols to Unicode, and nothing to see.
_BLANK_LETTERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
_ANSWERS = {
    "o": PermissionAnswer.ONCE,
    "s": PermissionAnswer.SESSION,
    "a": PermissionAnswer.ALWAYS,
    "n": PermissionAnswer.NO,
    "v": PermissionAnswer.NEVER,
} | {str(answer): answer for answer in PermissionAnswer}


def terminal_asker(
    giving_way: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Callable[[PermissionRequest], Awaitable[PermissionAnswer]] | None:
    """Find out how the user can be asked.

    Args:
        giving_way: entered while a question is open, so that nothing else is shown in the middle of it.

    Returns:
        What asks, or ``None`` where nobody sits at a terminal.
    """
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        return None

    async def ask(request: PermissionRequest) -> PermissionAnswer:
        with giving_way():
            return await _ask(request)

    return ask


def question(request: PermissionRequest) -> str:
    """Put a question into words, over several lines; every part of it is printable."""
    tool, permission = _one_line(request.tool_name, 100), _one_line(request.permission, 100)
    lines = [f"Tool {tool} wants permission {permission}{_meaning(request)}"]
    arguments = dict(request.arguments)
    if request.subject is not None:
        kind = subject_kind(request.permission)
        lines += [f"  {kind.noun}:", *_subject_lines(request.subject)]
        if kind.argument is not None and arguments.get(kind.argument) == request.subject:
            del arguments[kind.argument]
    if arguments or request.subject is None:
        shown = _one_line(json.dumps(arguments, ensure_ascii=False), _SHOWN_CHARACTERS)
        lines.append(f"  arguments: {shown}")
    if request.detail:
        lines.append(f"  it will: {_one_line(request.detail, _SHOWN_DETAIL_CHARACTERS)}")
    if request.agent is not None and request.task is not None:
        lines.append(f"  in the task: {_one_line(request.task, 100)}")
    lines.append(f"  session grants: {_in_words(request.grant_for_session)}")
    if request.grant_for_good is not None:
        lines.append(f"  always grants: {_in_words(request.grant_for_good)}")
    return "\n".join(lines)


def _meaning(request: PermissionRequest) -> str:
    """Explain the permission; the words of a plugin follow its name, which they cannot change."""
    own = KNOWN_PERMISSIONS.get(request.permission)
    if own is not None:
        return f": {own}"
    if not request.meaning:
        return ""
    meaning = _one_line(request.meaning, MAX_MEANING_CHARACTERS)
    if request.meaning_by is None:
        return f": {meaning}"
    return f", which means, says plugin {_one_line(request.meaning_by, 100)}: {meaning}"


def _in_words(grant: Grant) -> str:
    return _one_line(grant_in_words(grant), _SHOWN_CHARACTERS)


def _subject_lines(subject: str) -> list[str]:
    """Show what may be done, whole: behind a bar, so that none of it can be taken for the question."""
    lines = ["".join(map(_visible, line)) for line in subject.split("\n")]
    lines = _without_middle(lines, _SHOWN_SUBJECT_LINES, "lines")
    shown: list[str] = []
    for line in lines:
        half = _SHOWN_SUBJECT_CHARACTERS // len(lines) // 2
        missing = len(line) - 2 * half
        shown.append(
            line if missing <= 0 else f"{line[:half]} [… {missing:,} characters are not shown …] {line[-half:]}"
        )
    return [f"    │ {line}" for line in shown]


def _without_middle(lines: list[str], limit: int, noun: str) -> list[str]:
    if len(lines) <= limit:
        return lines
    half = limit // 2
    return [*lines[:half], f"[… {len(lines) - 2 * half:,} {noun} are not shown …]", *lines[-half:]]


def _one_line(text: str, limit: int) -> str:
    line = "".join(map(_visible, printable_line(text)))
    return line if len(line) <= limit else f"{line[:limit]} [… {len(line) - limit:,} more characters are not shown]"


def _visible(character: str) -> str:
    is_seen = character.isprintable() and character not in _BLANK_LETTERS
    return character if is_seen else ascii(character)[1:-1]


async def _ask(request: PermissionRequest) -> PermissionAnswer:
    _write(styled(question(request), sys.stderr, bold=True) + "\n")
    _discard_typed_ahead()
    lines = LineReader(sys.stdin.fileno())
    has_always = request.grant_for_good is not None
    while True:
        _write(f"Allow? [o]nce, this [s]ession, {'[a]lways, ' if has_always else ''}[n]o, ne[v]er: ")
        line = await lines.read_line()
        if line is None:
            _write("\n")
            return PermissionAnswer.NO
        answer = _ANSWERS.get(line.strip().lower())
        if answer is not None and (has_always or answer is not PermissionAnswer.ALWAYS):
            return answer
        _write(f"Please type one of o, s, {'a, ' if has_always else ''}n, v.\n")


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def _discard_typed_ahead() -> None:
    """Discard text typed before the question was shown; it is no answer."""
    import termios

    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
