"""Asking the user a question of a tool, in the terminal."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING

from oneclaw_core.cli.asking import discard_typed_ahead, show_in_parts, terminal_size, write
from oneclaw_core.cli.input_lines import LineReader
from oneclaw_core.cli.output import is_terminal, styled
from oneclaw_core.permissions.approval import user_question_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from oneclaw_core.types.user_question import UserAsker, UserQuestion


def terminal_questioner(
    giving_way: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
) -> UserAsker | None:
    """Return a function that asks a question; ``None`` where no one sits at a terminal."""
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        return None

    async def ask(question: UserQuestion) -> str | None:
        async with giving_way():
            try:
                return await _ask(question)
            except asyncio.CancelledError:
                write("\n(the question is withdrawn)\n")
                raise

    return ask


async def _ask(question: UserQuestion) -> str | None:
    discard_typed_ahead()
    lines = LineReader(sys.stdin.fileno())
    is_whole = _write_question(question)
    while True:
        write(_prompt(question, is_whole=is_whole))
        line = await lines.read_line()
        if line is None or not line.strip():
            write("\n" if line is None else "")
            return None
        if not is_whole and line.strip().lower() in ("d", "details"):
            await show_in_parts(user_question_text(question, terminal_size()[0]), lines)
            is_whole = _write_question(question)
            continue
        answer = question.answer_to(line)
        if answer is not None:
            return answer
        write(f"Please type a number from 1 to {len(question.choices)}.\n")


def _prompt(question: UserQuestion, *, is_whole: bool) -> str:
    ways = []
    if question.choices:
        ways.append("1" if len(question.choices) == 1 else f"1-{len(question.choices)}")
    if question.allows_text or not question.choices:
        ways.append("your own words")
    details = "" if is_whole else ", d for details"
    return f"Answer [{' or '.join(ways)}; Enter for none{details}]: "


def _write_question(question: UserQuestion) -> bool:
    """Show a question; return True if all of it fits on the screen."""
    columns, rows = terminal_size()
    text = user_question_text(question, columns, rows)
    write(styled(text, sys.stderr, bold=True) + "\n")
    return text == user_question_text(question, columns)
