"""Asking the user for a permission, in the terminal."""

from __future__ import annotations

import json
import os
import re
import sys
import textwrap
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from oneclaw_core.cli.chat_input import LineReader
from oneclaw_core.cli.output import is_terminal, printable_line, styled
from oneclaw_core.tools.permission_meanings import KNOWN_PERMISSIONS, MAX_MEANING_CHARACTERS
from oneclaw_core.tools.permission_rules import subject_kind
from oneclaw_core.tools.permissions import PermissionAnswer, grant_in_words

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from oneclaw_core.tools.permissions import PermissionRequest

# Where the terminal does not tell its size.
COLUMNS, ROWS = 80, 24
_BAR = "    │ "
_COMMAND = "command"
# Letters and symbols to Unicode, and nothing to see; and the sign that a space is shown as.
_SPACE = "\u2423"
_UNSEEN = frozenset(f"\u115f\u1160\u2800\u3164\uffa0{_SPACE}")
# The indentation of a line is seen well enough.
_SPACES = re.compile(r"(?<=\S) {2,}| +$| {9,}")
_MOST_SPACES = 8
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


def question(request: PermissionRequest, columns: int, rows: int) -> str:
    """Put a question into words, over several lines.

    What others wrote stands behind a bar on every row, so that none of it can be taken for the question, and the whole
    fits on the screen with the prompt below it: what has no room is left out, counted, and shown by the answer
    ``details``.

    Args:
        request: what is asked.
        columns: of the terminal.
        rows: of the terminal; 0 for as many as it takes.
    """
    head = _sentence_rows(_heading(request), columns)
    foot = [row for line in _grants(request, columns) for row in _sentence_rows(f"  {line}", columns)]
    parts = [_part_rows(label, text, columns) for label, text in _parts(request)]
    if rows:
        # The prompt takes a row, and so does what was typed before it.
        _cut_to([text for _, text in parts], rows - 2 - len(head) - len(foot) - len(parts))
    return "\n".join([*head, *(row for label, text in parts for row in (label, *text)), *foot])


def _heading(request: PermissionRequest) -> str:
    tool, permission = _one_line(request.tool_name, 100), _one_line(request.permission, 100)
    return f"Tool {tool} wants permission {permission}{_meaning(request)}"


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


def _parts(request: PermissionRequest) -> list[tuple[str, str]]:
    """Return what it is about: labels of ours, and texts of others."""
    arguments, parts = dict(request.arguments), []
    if request.subject is not None:
        kind = subject_kind(request.permission)
        parts.append((kind.noun, request.subject))
        if kind.argument is not None and arguments.get(kind.argument) == request.subject:
            del arguments[kind.argument]
    arguments = {name: value for name, value in arguments.items() if not _is_in(value, request.detail)}
    if arguments or request.subject is None:
        parts.append(("arguments", json.dumps(arguments, ensure_ascii=False)))
    if request.detail:
        parts.append(("it will", request.detail))
    if request.holds:
        parts.append(("this conversation holds", request.holds))
    if request.task is not None:
        parts.append(("in the task", request.task))
    return parts


def _is_in(value: object, detail: str) -> bool:
    """Return True if an argument of several lines need not be shown, since the detail has it, and with its lines."""
    return isinstance(value, str) and "\n" in value and value in detail


def _grants(request: PermissionRequest, columns: int) -> Iterator[str]:
    yield f"session grants: {_one_line(grant_in_words(request.grant_for_session), 2 * columns)}"
    if request.grant_for_good is not None:
        yield f"always grants: {_one_line(grant_in_words(request.grant_for_good), 2 * columns)}"


def _pieces(text: str, columns: int) -> list[str]:
    """Break a text into pieces that fit into a row, with everything in it visible."""
    from rich.cells import chop_cells

    return [piece for line in text.split("\n") for piece in chop_cells(_visible(line), max(columns, 10)) or [""]]


def _sentence_rows(text: str, columns: int) -> list[str]:
    """Break a sentence of ours between its words; what follows on the first row stands behind a bar."""
    width = max(columns - len(_BAR) - 1, 10)
    first, *others = (piece for line in textwrap.wrap(text, width) for piece in _pieces(line, width))
    return [first, *(f"{_BAR}{piece}" for piece in others)]


def _part_rows(label: str, text: str, columns: int) -> tuple[str, list[str]]:
    """Put a label and its text into rows: a short text behind its label, another one below it."""
    pieces = _pieces(text, columns - len(_BAR) - 1)
    line = f"  {label}: {pieces[0]}"
    if label != _COMMAND and len(pieces) == 1 and len(_pieces(line, columns - 1)) == 1:
        return line, []
    return f"  {label}:", [f"{_BAR}{piece}" for piece in pieces]


def _cut_to(texts: list[list[str]], room: int) -> None:
    """Leave out the middle of texts that have no room; the shorter ones stay whole."""
    for left, text in zip(range(len(texts), 0, -1), sorted(texts, key=len), strict=True):
        text[:] = _without_middle(text, max(room // left, 3))
        room -= len(text)


def _without_middle(rows: list[str], limit: int) -> list[str]:
    if len(rows) <= limit:
        return rows
    begin, end = limit // 2, limit - limit // 2 - 1
    note = f"  [… {len(rows) - begin - end:,} rows: d shows all …]"
    return [*rows[:begin], note, *rows[len(rows) - end :]]


def _one_line(text: str, limit: int) -> str:
    line = _visible(printable_line(text))
    return line if len(line) <= limit else f"{line[:limit]} [… {len(line) - limit:,} more characters are not shown]"


def _visible(line: str) -> str:
    """Make invisible characters and repeated spaces visible."""
    shown = "".join(each if each.isprintable() and each not in _UNSEEN else ascii(each)[1:-1] for each in line)
    return _SPACES.sub(_counted_spaces, shown)


def _counted_spaces(match: re.Match[str]) -> str:
    count = len(match[0])
    return _SPACE * count if count <= _MOST_SPACES else f"{_SPACE}[{count:,} spaces]{_SPACE}"


async def _ask(request: PermissionRequest) -> PermissionAnswer:
    _discard_typed_ahead()
    lines = LineReader(sys.stdin.fileno())
    has_always = request.grant_for_good is not None
    _write_question(request)
    while True:
        _write(f"Allow? [o]nce, this [s]ession, {'[a]lways, ' if has_always else ''}[n]o, ne[v]er, [d]etails: ")
        line = await lines.read_line()
        if line is None:
            _write("\n")
            return PermissionAnswer.NO
        typed = line.strip().lower()
        if typed in ("d", "details"):
            await _show_details(request, lines)
            _write_question(request)
            continue
        answer = _ANSWERS.get(typed)
        if answer is not None and (has_always or answer is not PermissionAnswer.ALWAYS):
            return answer
        _write(f"Please type one of o, s, {'a, ' if has_always else ''}n, v, d.\n")


def _write_question(request: PermissionRequest) -> None:
    columns, rows = _terminal_size()
    _write(styled(question(request, columns, rows), sys.stderr, bold=True) + "\n")


async def _show_details(request: PermissionRequest, lines: LineReader) -> None:
    """Show all of a question, as much as fits on the screen at a time."""
    columns, rows = _terminal_size()
    shown = question(request, columns, 0).split("\n")
    step = max(rows - 2, 5)
    for start in range(0, len(shown), step):
        _write("\n".join(shown[start : start + step]) + "\n")
        left = len(shown) - start - step
        if left > 0:
            _write(f"-- {left:,} more rows: Enter shows them, q goes back -- ")
            line = await lines.read_line()
            if line is None or line.strip().lower() == "q":
                return


def _terminal_size() -> tuple[int, int]:
    try:
        columns, rows = os.get_terminal_size(sys.stderr.fileno())
    except (OSError, ValueError):  # it is no terminal any more
        return COLUMNS, ROWS
    return columns or COLUMNS, rows or ROWS


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def _discard_typed_ahead() -> None:
    """Discard text typed before the question was shown; it is no answer."""
    import termios

    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
